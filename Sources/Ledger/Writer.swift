import Crypto
public import Domain
public import EventLoop
public import Postgres

/// Appends to the record, in groups, one at a time.
///
/// It drains a bounded mailbox: decides what each proposal adds, writes the whole group in one
/// transaction that takes the next batch number, and answers all. When another writer was faster
/// it reads what that one appended and decides again.
public actor Writer {
    /// Limits of a writer.
    public struct Limits: Sendable {
        /// The most proposals that may wait.
        public var waiting = 10_000
        /// The most proposals in one group.
        public var group = 1_000
        /// How long one group may try before its callers hear that PostgreSQL is unavailable.
        public var patience = Duration.seconds(8)
        /// How far this machine's clock may be ahead of PostgreSQL's. Units: milliseconds.
        public var clockLead: Int64 = 5_000
        /// The most streams kept folded in memory.
        public var cachedStreams = 20_000

        /// The limits that `serve` uses.
        public init() {}
    }

    typealias Answer = Result<Appended, AppendError>

    struct Waiting {
        let proposal: Proposal
        let answer: CheckedContinuation<Answer, Never>
    }

    let loop: EventLoop
    let limits: Limits
    let clock: @Sendable () -> Instant
    let draw: @Sendable () -> CustomerNumber
    private let connect: @Sendable () async throws(PostgresError) -> Connection
    private let onAppend: @Sendable (Position, [Entry]) -> Void

    private var waiting: [Waiting] = []
    private var isDraining = false
    private var isClosing = false
    private var connection: Connection?
    private var clockCheckedAt: ContinuousClock.Instant?
    var memory: WriterMemory
    /// Copies of what is held, to be counted.
    var redeliveries: [Redelivery: (copies: Int64, lastAt: Instant)] = [:]

    /// The loop on which the writer lives.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// A writer that opens its own session.
    ///
    /// - Parameters:
    ///   - clock: the time now.
    ///   - draw: a new random number for a customer or token.
    ///   - onAppend: told of every batch that this writer appended.
    public init(
        on loop: EventLoop, limits: Limits = Limits(),
        connect: @escaping @Sendable () async throws(PostgresError) -> Connection,
        clock: @escaping @Sendable () -> Instant, draw: @escaping @Sendable () -> CustomerNumber,
        onAppend: @escaping @Sendable (Position, [Entry]) -> Void
    ) {
        self.loop = loop
        self.limits = limits
        self.connect = connect
        self.clock = clock
        self.draw = draw
        self.onAppend = onAppend
        memory = WriterMemory(limit: limits.cachedStreams)
    }

    /// Records what a proposal adds; returns once that is durable.
    public func append(_ proposal: Proposal) async throws(AppendError) -> Appended {
        guard !isClosing else { throw .closing }
        guard waiting.count < limits.waiting else { throw .overloaded(waiting: waiting.count) }
        let answer = await withCheckedContinuation { continuation in
            waiting.append(Waiting(proposal: proposal, answer: continuation))
            if !isDraining {
                isDraining = true
                Task(executorPreference: loop) { await self.drain() }
            }
        }
        return try answer.get()
    }

    /// Whether a session for appending can be had at this moment.
    public func canStore() async -> Bool {
        guard !isClosing else { return false }
        if isDraining { return true }
        return (try? await session()) != nil
    }

    /// Number of proposals that wait.
    public var load: Int { waiting.count }

    /// Refuses new proposals, and returns once the accepted ones are answered.
    public func close() async {
        isClosing = true
        while isDraining { try? await loop.sleep(for: .milliseconds(5)) }
        await connection?.close()
        connection = nil
    }

    private func drain() async {
        while !waiting.isEmpty {
            let group = Array(waiting.prefix(limits.group))
            waiting.removeFirst(group.count)
            await write(group[...], deadline: .now + limits.patience)
            await countRedeliveries()
        }
        isDraining = false
    }

    /// Writes a group, and when one item of it cannot be stored the others without it.
    private func write(_ group: ArraySlice<Waiting>, deadline: ContinuousClock.Instant) async {
        do throws(AppendError) {
            try await attempt(group, deadline: deadline)
        } catch .unavailable(let error) where group.count > 1 && !error.isConnectionLost {
            let middle = group.startIndex + group.count / 2
            await write(group[..<middle], deadline: deadline)
            await write(group[middle...], deadline: deadline)
        } catch {
            for item in group { item.answer.resume(returning: .failure(error)) }
        }
    }

    /// Decides and commits until it is done or the time is over.
    private func attempt(_ group: ArraySlice<Waiting>, deadline: ContinuousClock.Instant)
        async throws(AppendError)
    {
        var lastError = PostgresError.unavailable("not tried yet")
        var delay = Duration.milliseconds(2)
        repeat {
            do throws(PostgresError) {
                let session = try await session()
                try await catchUp(session)
                try await checkClock(session)
                let plan = try await Plan(group.map(\.proposal), writer: self, session: session)
                guard let batch = plan.batch else { return answer(group, plan) }
                if try await commit(batch, on: session) {
                    memory.took(plan, batch)
                    onAppend(batch.head.position, batch.entries)
                    return answer(group, plan)
                }
                continue  // another writer was faster: decide again with what it appended
            } catch {
                lastError = error
                if error.isConnectionLost {
                    await connection?.close()
                    connection = nil
                    memory.forgetHead()
                } else if error.isUniqueViolation || error.isRetryable {
                    memory.forgetAll()
                } else {
                    memory.forgetAll()
                    throw .unavailable(error)
                }
            }
            try? await loop.sleep(for: delay)
            delay = min(delay * 2, .milliseconds(500))
        } while ContinuousClock.now < deadline
        throw .unavailable(lastError)
    }

    /// Commits a batch. When the answer was lost the same batch is sent again: finding its own
    /// digest under its number means that it was committed.
    ///
    /// - Returns: false when another writer took the number.
    private func commit(_ batch: Batch, on session: Connection) async throws(PostgresError) -> Bool
    {
        var session = session
        for _ in 0..<20 {
            do throws(PostgresError) {
                try await session.atomically(batch.statements)
                return true
            } catch {
                switch error {
                case .server(let problem)
                where problem.sqlstate == "23505" || problem.sqlstate == "23503":
                    let holder = try await session.query(
                        "select digest from ledger.batch where number = $1",
                        [.int8(batch.head.number)])
                    guard let row = holder.first else { throw error }
                    if Fingerprint(bytes: try row.bytes(0)) == batch.head.digest { return true }
                    memory.forgetHead()
                    return false
                case .commitUnknown, .connectionLost, .timedOut:
                    await connection?.close()
                    connection = nil
                    session = try await sessionPatiently()
                default:
                    throw error
                }
            }
        }
        throw .unavailable("the outcome of a commit could not be learned")
    }

    private func sessionPatiently() async throws(PostgresError) -> Connection {
        var last = PostgresError.unavailable("not tried yet")
        for attempt in 0..<12 {
            do throws(PostgresError) {
                return try await session()
            } catch {
                last = error
                try? await loop.sleep(for: .milliseconds(min(20 << attempt, 1000)))
            }
        }
        throw last
    }

    private func session() async throws(PostgresError) -> Connection {
        if let connection, await connection.isOpen { return connection }
        let opened = try await connect()
        connection = opened
        memory.forgetHead()
        return opened
    }

    private func catchUp(_ session: Connection) async throws(PostgresError) {
        guard memory.head == nil else { return }
        // Only a group in writing touches the memory, and there is one at a time.
        var level = memory
        try await level.catchUp(session)
        memory = level
    }

    private func checkClock(_ session: Connection) async throws(PostgresError) {
        if let clockCheckedAt, clockCheckedAt.duration(to: .now) < .seconds(10) { return }
        let rows = try await session.query(
            "select (extract(epoch from clock_timestamp()) * 1000)::bigint")
        let lead = clock().milliseconds - (try rows.only().int8(0))
        guard lead <= limits.clockLead else {
            throw .unavailable("this machine's clock is \(lead) ms ahead of PostgreSQL's")
        }
        clockCheckedAt = .now
    }

    private func answer(_ group: ArraySlice<Waiting>, _ plan: Plan) {
        for (item, outcome) in zip(group, plan.outcomes) {
            item.answer.resume(returning: outcome)
        }
        for redelivery in plan.redeliveries {
            let known = redeliveries[redelivery]?.copies ?? 0
            redeliveries[redelivery] = (known + 1, clock())
        }
    }

    /// Writes down how often copies arrived; what a crash loses here is no fact.
    private func countRedeliveries() async {
        guard !redeliveries.isEmpty, let connection else { return }
        let counted = redeliveries
        redeliveries = [:]
        let keys = counted.keys.map { $0 }
        _ = try? await connection.query(
            """
            insert into operation.redelivery as known (bucket, stream, event_key, copies, last_at) \
            select bucket::smallint, stream, event_key, copies, last_at \
            from unnest($1::int4[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) \
            as copy (bucket, stream, event_key, copies, last_at) \
            on conflict (bucket, stream, event_key) do update set \
            copies = known.copies + excluded.copies, \
            last_at = greatest(known.last_at, excluded.last_at)
            """,
            [
                .int4s(keys.map { Bucket.of($0.stream) }), .texts(keys.map(\.stream.name)),
                .texts(keys.map(\.key)), .int8s(keys.map { counted[$0]?.copies ?? 0 }),
                .int8s(keys.map { counted[$0]?.lastAt.milliseconds ?? 0 }),
            ])
    }
}

/// A copy of what the record holds.
struct Redelivery: Hashable, Sendable {
    let stream: StreamID
    let key: String
}

extension Fingerprint {
    /// The fingerprint of these bytes.
    init(bytes: [UInt8]) {
        self.init(hex: Hex.encode(bytes))
    }
}
