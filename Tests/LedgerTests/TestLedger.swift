import Domain
import EventLoop
import Ledger
import Postgres
import Synchronization
import TestSupport
import Testing

/// A migrated ledger in a database of its own, and what a test does with it.
struct TestLedger: Sendable {
    /// How libpq reaches it as superuser.
    let address: String
    let loop: EventLoop
    let pool: ConnectionPool
    /// A superuser's session.
    let superuser: BlockingConnection

    var reader: LedgerReader { LedgerReader(pool) }

    /// A writer with an own session, by the machine's clock unless a test has another.
    func writer(
        limits: Writer.Limits = Writer.Limits(), address: String? = nil,
        options: [String] = [], within limit: Duration = .seconds(30),
        clock: TestClock = TestClock(),
        draw: @escaping @Sendable () -> CustomerNumber = drawAnyNumber,
        onAppend: @escaping @Sendable (Position, [Entry]) -> Void = { _, _ in }
    ) -> Writer {
        let address = (address ?? self.address) + " application_name=writer"
        return Writer(
            on: loop, limits: limits,
            connect: { () async throws(PostgresError) -> Connection in
                try await Connection.open(
                    address, on: loop, options: Migrator.sessionOptions + options,
                    within: limit)
            }, clock: { clock.now }, draw: draw, onAppend: onAppend)
    }

    /// All entries on the record.
    func entries() async throws -> [Entry] {
        try await reader.entries(after: .start, atMost: 100_000)
    }

    /// One number that the database answers.
    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64 {
        try await superuser.query(sql, parameters).only().int8(0)
    }

    /// Does as superuser what nobody may: changes the record.
    func tamper(_ sql: String) async throws {
        let tables = ["batch", "entry", "evidence", "certificates"]
        func all(_ verb: String) -> String {
            tables.map { "alter table ledger.\($0) \(verb) trigger all;" }.joined()
        }
        // Foreign keys are triggers as well, and do not stand in the way either.
        try await superuser.execute(script: "\(all("disable")) \(sql); \(all("enable"))")
    }
}

/// Runs a test on a fresh ledger.
func withLedger(_ body: (TestLedger) async throws -> Void) async throws {
    try await Turnstile.shared.pass { try await withOpenLedger(body) }
}

private func withOpenLedger(_ body: (TestLedger) async throws -> Void) async throws {
    let address = try await TestCluster.freshDatabase()
    let session = try await BlockingConnection.open(address)
    _ = try await Migrator(session).migrate()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let pool = ConnectionPool(
        ConnectionPool.Settings(
            connectionString: address, access: .readWrite, options: Migrator.sessionOptions),
        on: loop)
    await pool.start()
    try await pool.waitUntilAvailable(within: .seconds(300))
    try await body(TestLedger(address: address, loop: loop, pool: pool, superuser: session))
    await pool.close()
    await session.close()
}

/// Lets only some tests at a time have sessions, of which the server has no more than a hundred.
actor Turnstile {
    static let shared = Turnstile()

    private var free = 6
    private var waiting: [CheckedContinuation<Void, Never>] = []

    nonisolated func pass(_ body: () async throws -> Void) async throws {
        await enter()
        do {
            try await body()
            await leave()
        } catch {
            await leave()
            throw error
        }
    }

    private func enter() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func leave() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}

/// Any positive number.
@Sendable func drawAnyNumber() -> CustomerNumber { CustomerNumber(.random(in: 1 ... .max)) }

/// A clock that a test may set; until then it is well before the server's and goes on by itself.
final class TestClock: Sendable {
    private let fixed = Mutex<Instant?>(nil)
    private let start = ContinuousClock.now

    init(_ instant: Instant? = nil) { set(instant) }

    func set(_ instant: Instant?) { fixed.withLock { $0 = instant } }

    var now: Instant {
        if let fixed = fixed.withLock({ $0 }) { return fixed }
        return base.adding(milliseconds: Int64(start.duration(to: .now) / .milliseconds(1)))
    }
}

/// 2026-01-01.
let base = Instant(milliseconds: 1_767_225_600_000)

/// The error that an append ends with; `nil` when it succeeds.
func failure(of body: () async throws(AppendError) -> Appended) async -> AppendError? {
    do throws(AppendError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

/// Waits until a condition holds, and records an issue when that takes five minutes.
func expectSoon(
    _ loop: EventLoop, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < deadline {
        if try await condition() { return }
        try await loop.sleep(for: .milliseconds(2))
    }
    Issue.record("what was waited for has not come", sourceLocation: sourceLocation)
}
