import Diagnostics
import Domain
import EventLoop
import Ledger
import Postgres
import Synchronization
import TestSupport

@testable import Delivery

/// A migrated ledger in a database of its own, with what tells it and delivers.
struct TestGround: Sendable {
    let address: String
    let loop: EventLoop
    let pool: ConnectionPool
    let clock = TestClock()

    /// Runs a test on a fresh ledger.
    static func run(_ body: (TestGround) async throws -> Void) async throws {
        let address = try await TestCluster.freshDatabase()
        let session = try await BlockingConnection.open(address)
        _ = try await Migrator(session).migrate()
        await session.close()
        let loop = EventLoop(name: "test")
        let pool = try await open(address, on: loop)
        do {
            try await body(TestGround(address: address, loop: loop, pool: pool))
        } catch {
            await pool.close()
            loop.stop()
            throw error
        }
        await pool.close()
        loop.stop()
    }

    private static func open(_ address: String, on loop: EventLoop) async throws -> ConnectionPool {
        let pool = ConnectionPool(
            ConnectionPool.Settings(
                connectionString: address, options: Migrator.sessionOptions), on: loop)
        await pool.start()
        try await pool.waitUntilAvailable(within: .seconds(300))
        return pool
    }

    /// Records events as they are.
    func append(_ events: [Event]) async throws {
        let (address, loop, clock) = (address, loop, clock)
        let writer = Writer(
            on: loop,
            connect: { () async throws(PostgresError) -> Connection in
                try await Connection.open(
                    address, on: loop, options: Migrator.sessionOptions, within: .seconds(30))
            }, clock: { clock.now }, draw: { CustomerNumber(.random(in: 1 ... .max)) },
            onAppend: { _, _ in })
        _ = try await writer.append(
            Proposal(streams: { _ in events.map(\.stream) }, decide: { _ in .append(events) }))
        await writer.close()
    }

    /// What tells the record.
    func maker() -> EventMaker {
        let clock = clock
        return EventMaker(
            Wording(
                entry: { JSON(members: ["position": .integer($0.position.number)]) },
                entitlement: { .bool($0.mayUse) }),
            pool: pool, on: loop, entries: Bell(), events: Bell(), metrics: MetricRegistry(),
            clock: { clock.now })
    }

    /// Steps until nothing is left to tell now.
    ///
    /// A step whose session the server ended, as it does when a busy machine holds a transaction
    /// still for too long, is taken again, as the daemon would; a few times at most.
    func tellAll() async throws {
        let maker = maker()
        var lost = 0
        while true {
            do {
                if try await maker.step() != nil { return }
            } catch {
                lost += 1
                guard "\(error)".contains("25P03"), lost <= 5 else { throw error }
            }
        }
    }

    /// All outgoing events.
    func events() async throws -> [OutgoingEvent] {
        try await EventReader(pool).events(after: 0, atMost: 10_000)
    }
}

/// A clock that a test sets.
final class TestClock: Sendable {
    private let instant = Mutex(Instant("2026-01-01")!)

    var now: Instant { instant.withLock { $0 } }

    func set(_ text: String) { instant.withLock { $0 = Instant(text)! } }

    func advance(minutes: Int64) {
        instant.withLock { $0 = $0.adding(milliseconds: minutes * 60_000) }
    }

    func advance(days: Int64) { instant.withLock { $0 = $0.adding(days: days) } }
}

/// A purchase of a line, said by the store.
func purchase(
    _ line: String, from: String, until: String, number: Int = 1, kind: Kind = .purchased
) -> Event {
    var statement = TransactionStatement(
        transaction: "\(line)-\(number)", original: line, bundle: "com.example.app",
        product: "pro", purchasedAt: Instant(from)!, signedAt: Instant(from)!,
        environment: .production)
    statement.expiresAt = Instant(until)!
    statement.type = "Auto-Renewable Subscription"
    return Event(
        kind: kind, stream: .line(.production, line), key: "\(line)/\(number)",
        environment: .production, occurredAt: Instant(from)!, signedAt: Instant(from)!,
        observedAt: Instant(from)!, source: .notification, content: .transaction(statement))
}
