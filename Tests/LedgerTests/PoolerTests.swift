import Domain
import Foundation
import Glibc
import Ledger
import Postgres
import Testing

/// PgBouncer before the tests' server, in its mode that changes sessions between transactions.
private struct Pooler {
    static let program = "/usr/sbin/pgbouncer"

    let folder: String
    let process = Process()

    init(server: String, database: String, user: String) throws {
        folder = "/tmp/pooler-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o777])
        chmod(folder, 0o777)
        let settings = """
            [databases]
            \(database) = host=\(server) port=5432 dbname=\(database) user=\(user)
            [pgbouncer]
            listen_addr =
            unix_socket_dir = \(folder)
            listen_port = 5432
            auth_type = any
            pool_mode = transaction
            default_pool_size = 4
            ignore_startup_parameters = extra_float_digits
            """
        try settings.write(toFile: folder + "/settings", atomically: true, encoding: .utf8)
        // It refuses to run as root, and the server asks who is at the socket.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        let isRoot = geteuid() == 0
        process.arguments =
            (isRoot ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : []) + [
                Pooler.program, "-q", folder + "/settings",
            ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    func end() {
        // It keeps nothing, and may have inherited a mask that keeps gentler signals away.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }
}

@Suite("A pooler that changes sessions between transactions")
struct PoolerTests {
    private static let isThere = FileManager.default.isExecutableFile(atPath: Pooler.program)

    @Test("is there to be tried: install the package pgbouncer", .enabled(if: !isThere))
    func absent() {
        print("!! pgbouncer is absent: A TRANSACTION POOLER IN BETWEEN WAS NOT TRIED")
    }

    @Test("loses, doubles and changes nothing that was answered", .enabled(if: isThere))
    func keepsFaith() async throws {
        try await withLedger { ledger in
            let parts = ledger.address.split(separator: "'")
            let row = try await ledger.superuser.query(
                "select current_database(), session_user"
            ).only()
            let (name, user) = (try row.text(0), try row.text(1))
            let pooler = try Pooler(server: String(parts[1]), database: name, user: user)
            defer { pooler.end() }
            let address = "host='\(pooler.folder)' port=5432 dbname=\(name) user=\(user)"
            try await expectSoon(ledger.loop) {
                (try? await BlockingConnection.open(address)) != nil
            }
            // Statements that one session prepared are not there on another: appends may fail.
            var limits = Writer.Limits()
            limits.patience = .seconds(2)
            let writers = [
                ledger.writer(limits: limits, address: address),
                ledger.writer(limits: limits, address: address),
            ]
            let answered = await withTaskGroup(of: Int64?.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let offered = Purchase(line: "\(number % 5)", number: number).proposal
                        return try? await writers[number % 2].append(offered).position.number
                    }
                }
                var answered: Set<Int64> = []
                for await position in group { answered.formUnion(position.map { [$0] } ?? []) }
                return answered
            }
            for writer in writers { await writer.close() }
            let entries = try await ledger.entries()
            #expect(!answered.isEmpty, "nothing was answered, so nothing was tried")
            #expect(entries.map(\.position.number) == Array(1...Int64(entries.count)))
            #expect(answered.isSubset(of: Set(entries.map(\.position.number))))
            #expect(Set(entries.map(\.event.key)).count == entries.count)
            #expect(try await ChainVerifier(ledger.pool).verify().faults.isEmpty)
        }
    }
}
