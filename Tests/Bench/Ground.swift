import Domain
import EventLoop
import Foundation
import Ledger
import Postgres

/// A PostgreSQL server in a scratch folder, and databases in it that hold the schema.
final class Ground: Sendable {
    /// The scratch folder, removed at the end.
    let directory: String
    private let cluster: Cluster

    /// Starts the server.
    init() throws {
        let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        directory = "\(parent)/subledger-bench-\(getpid())"
        // A server started by root runs as another user, which must reach its folder.
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        cluster = try Cluster.open(directory: directory + "/cluster")
    }

    /// Stops the server and removes the folder.
    func end() {
        cluster.release()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A new database with the schema, and how libpq reaches it.
    func database(_ name: String) async throws -> String {
        let maker = try await BlockingConnection.open(cluster.connectionString)
        try await maker.execute(script: "create database \(name)")
        await maker.close()
        let address = address(name)
        let session = try await BlockingConnection.open(address)
        _ = try await Migrator(session).migrate()
        await session.close()
        return address
    }

    /// The server's first process.
    var postmaster: pid_t {
        let path = directory + "/cluster/data/postmaster.pid"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").first.flatMap { pid_t($0) } ?? 0
    }

    /// How libpq reaches a database.
    func address(_ name: String) -> String { cluster.connectionString(database: name) }

    /// The same as a URL.
    func url(_ name: String) -> String {
        let host = cluster.connectionString.split(separator: "'")[1]
        let escaped = host.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return "postgresql://\(Cluster.superuser)@/\(name)?host=\(escaped)&port=5432"
    }
}

/// A writer in this process, and the loop on which it lives.
struct InProcess: Sendable {
    let loop = EventLoop(name: "inner")
    let writer: Ledger.Writer

    /// A writer to a database.
    init(_ address: String) {
        writer = Ledger.Writer(
            on: loop,
            connect: { [loop] () async throws(PostgresError) -> Connection in
                try await Connection.open(
                    address, on: loop, options: Migrator.sessionOptions, within: .seconds(30))
            }, clock: { .now },
            draw: { CustomerNumber(Int64.random(in: 1...Int64.max)) }, onAppend: { _, _ in })
    }

    /// Appends all of them, so many at a time; returns how long it took.
    func append(_ proposals: [Proposal], callers: Int) async throws -> Double {
        let next = Counter()
        let outer = EventLoop(name: "callers")
        let start = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            for _ in 0..<callers {
                group.addTask(executorPreference: outer) {
                    while let index = next.next(below: proposals.count) {
                        _ = try await writer.append(proposals[index])
                    }
                }
            }
            try await group.waitForAll()
        }
        let seconds = start.secondsSince
        outer.stop()
        return seconds
    }
}

extension Instant {
    /// The time now.
    static var now: Instant {
        Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }
}

extension ContinuousClock.Instant {
    /// Seconds from it until now.
    var secondsSince: Double { duration(to: .now) / .seconds(1) }
}
