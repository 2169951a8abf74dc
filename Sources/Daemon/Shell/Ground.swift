import Crypto
import Diagnostics
import Domain
import Entitlements
import EventLoop
import Foundation
import Ledger
import Operation
import Postgres

/// What every command stands on: the database, sessions with it, and who reads and writes there.
struct Ground: Sendable {
    let configuration: Configuration
    let cluster: Cluster?
    let connectionString: String
    /// The loop of the outside: HTTP and reading.
    let outer: EventLoop
    /// The loop of the record: the writer and the projectors.
    let inner: EventLoop
    /// The loop of numbers: their projectors and sums, which take their time.
    let measuring: EventLoop
    let readPool: ConnectionPool
    let writePool: ConnectionPool
    let measuringPool: ConnectionPool
    let reader: LedgerReader
    let answers: AnswerReader
    let keys: APIKeys

    /// Opens the database, embedded or not, and brings or checks its schema.
    static func open(_ configuration: Configuration, migrate: Bool) async throws(DaemonError)
        -> Ground
    {
        let (cluster, address) = try database(configuration)
        do throws(DaemonError) {
            try await prepare(
                address, migrating: configuration.migrationDatabase?.revealed ?? address, migrate)
            return try await Ground(configuration, cluster, address)
        } catch {
            cluster?.release()
            throw error
        }
    }

    private static func database(_ configuration: Configuration) throws(DaemonError)
        -> (Cluster?, String)
    {
        try makeDataDirectory(configuration.dataDirectory)
        if let database = configuration.database { return (nil, database.revealed) }
        do throws(ClusterError) {
            let cluster = try Interruption.opening { () throws(ClusterError) in
                try Cluster.open(
                    directory: configuration.dataDirectory + "/cluster",
                    log: { Log.info("embedded database", ["says": $0]) })
            }
            return (cluster, cluster.connectionString)
        } catch {
            throw .cluster(error)
        }
    }

    /// Others may pass through it, since a cluster started by root runs as another user; what is
    /// secret in it has narrower permissions of its own.
    private static func makeDataDirectory(_ path: String) throws(DaemonError) {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o711])
        } catch {
            throw .fileUnusable(path, why: "it cannot be created")
        }
    }

    private static func prepare(
        _ address: String, migrating: String, _ migrate: Bool
    ) async throws(DaemonError) {
        do throws(LedgerError) {
            let session = try await connect(migrating)
            let migrator = Migrator(session)
            if migrate {
                let applied = try await migrator.migrate()
                for name in applied { Log.info("migration applied", ["name": name]) }
            }
            try await migrator.check()
            await session.close()
            let daemon = try await connect(address)
            try await Safeguards.check(daemon)
            await daemon.close()
        } catch {
            throw .ledger(error)
        }
    }

    private static func connect(_ address: String) async throws(LedgerError) -> BlockingConnection {
        do throws(PostgresError) {
            return try await BlockingConnection.open(address, name: "subledger-schema")
        } catch {
            throw .database(error)
        }
    }

    private init(_ configuration: Configuration, _ cluster: Cluster?, _ address: String)
        async throws(DaemonError)
    {
        self.configuration = configuration
        self.cluster = cluster
        connectionString = address
        outer = EventLoop(name: "outer")
        inner = EventLoop(name: "inner")
        readPool = ConnectionPool(
            ConnectionPool.Settings(
                connectionString: address, access: .readOnly, options: Migrator.sessionOptions,
                size: 2, capacity: 4_096), on: outer)
        writePool = ConnectionPool(
            ConnectionPool.Settings(
                connectionString: address, options: Migrator.sessionOptions, size: 2,
                limit: .seconds(30)), on: inner)
        measuring = EventLoop(name: "measuring")
        measuringPool = ConnectionPool(
            ConnectionPool.Settings(
                connectionString: address, options: Migrator.sessionOptions, size: 2,
                limit: .seconds(30)), on: measuring)
        reader = LedgerReader(readPool)
        answers = AnswerReader(readPool)
        keys = APIKeys(writePool)
        await readPool.start()
        await writePool.start()
        await measuringPool.start()
        do throws(PostgresError) {
            try await readPool.waitUntilAvailable(within: .seconds(30))
            try await writePool.waitUntilAvailable(within: .seconds(30))
            try await measuringPool.waitUntilAvailable(within: .seconds(30))
        } catch {
            throw .database(error)
        }
    }

    /// A writer with a session of its own.
    func writer(
        projected: @escaping @Sendable () -> Position? = { nil },
        onAppend: @escaping @Sendable (Position, [Entry]) -> Void = { _, _ in }
    ) -> Writer {
        let address = connectionString
        let loop = inner
        return Writer(
            on: inner,
            connect: { () async throws(PostgresError) -> Connection in
                try await Connection.open(
                    address, on: loop, options: Migrator.sessionOptions, within: .seconds(30))
            }, clock: { SystemClock.now }, draw: Ground.draw, projected: projected,
            onAppend: onAppend)
    }

    /// A new random number for a customer or a token.
    @Sendable static func draw() -> CustomerNumber {
        CustomerNumber(max(1, randomInt64() & .max))
    }

    /// Lets go of everything; the last process to do so stops an embedded database.
    func close() async {
        await readPool.close()
        await writePool.close()
        await measuringPool.close()
        cluster?.release()
    }
}
