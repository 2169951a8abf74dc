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
    typealias Answer = Result<Appended, AppendError>

    struct Waiting {
        let proposal: Proposal
        let since: ContinuousClock.Instant
        let answer: CheckedContinuation<Answer, Never>
    }

    let loop: EventLoop
    let limits: Limits
    let clock: @Sendable () -> Instant
    let draw: @Sendable () -> CustomerNumber
    private let connect: @Sendable () async throws(PostgresError) -> Connection
    private let onAppend: @Sendable (Position, [Entry]) -> Void
    private let projected: @Sendable () -> Position?

    private var waiting: [Waiting] = []
    /// Whether the session and the memory are in use.
    private var isBusy = false
    private var isFailing = false
    private var isClosing = false
    private var closers: [CheckedContinuation<Void, Never>] = []
    private var connection: Connection?
    private var checkedClock: (now: Instant, at: ContinuousClock.Instant)?
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
    ///   - projected: how far the projections are that appends must not leave behind.
    ///   - onAppend: told of every batch that this writer appended.
    public init(
        on loop: EventLoop, limits: Limits = Limits(),
        connect: @escaping @Sendable () async throws(PostgresError) -> Connection,
        clock: @escaping @Sendable () -> Instant, draw: @escaping @Sendable () -> CustomerNumber,
        projected: @escaping @Sendable () -> Position? = { nil },
        onAppend: @escaping @Sendable (Position, [Entry]) -> Void
    ) {
        self.loop = loop
        self.limits = limits
        self.connect = connect
        self.clock = clock
        self.draw = draw
        self.onAppend = onAppend
        self.projected = projected
        memory = WriterMemory(limit: limits.cachedStreams)
    }

    /// Records what a proposal adds; returns once that is durable.
    public func append(_ proposal: Proposal) async throws(AppendError) -> Appended {
        let answer = await withCheckedContinuation { continuation in
            accept(Waiting(proposal: proposal, since: .now, answer: continuation))
        }
        return try answer.get()
    }

    /// Looks and takes at once: between a look before the continuation and its body others may
    /// have their turn.
    private func accept(_ item: Waiting) {
        if isClosing { return item.answer.resume(returning: .failure(.closing)) }
        guard waiting.count < limits.waiting else {
            return item.answer.resume(returning: .failure(.overloaded(waiting: waiting.count)))
        }
        waiting.append(item)
        startDraining()
    }

    /// Whether a session for appending can be had at this moment.
    public func canStore() async -> Bool {
        guard !isClosing else { return false }
        guard !isBusy else { return !isFailing }
        isBusy = true
        let hasSession = (try? await session()) != nil
        becomeIdle()
        return hasSession
    }

    /// Number of proposals that wait.
    public var load: Int { waiting.count }

    /// Refuses new proposals, and returns once the accepted ones are answered.
    public func close() async {
        isClosing = true
        await withCheckedContinuation { continuation in
            if isBusy { closers.append(continuation) } else { continuation.resume() }
        }
        await connection?.close()
        connection = nil
    }

    private func startDraining() {
        guard !isBusy else { return }
        isBusy = true
        Task(executorPreference: loop) { await self.drain() }
    }

    private func becomeIdle() {
        isBusy = false
        if !waiting.isEmpty { return startDraining() }
        for closer in closers { closer.resume() }
        closers = []
    }

    private func drain() async {
        while !waiting.isEmpty {
            await waitForProjections()
            let group = takeGroup()
            let deadline = max(
                group[0].since + limits.patience, .now + limits.patience / 8)
            await write(group[...], deadline: deadline)
            await countRedeliveries()
        }
        becomeIdle()
    }

    private func takeGroup() -> [Waiting] {
        var bytes = 0
        var count = 0
        for item in waiting.prefix(limits.group) {
            bytes += item.proposal.evidence?.template.count ?? 0
            if count > 0, bytes > limits.groupBytes { break }
            count += 1
        }
        let group = Array(waiting.prefix(count))
        waiting.removeFirst(count)
        return group
    }

    /// Lets the projections come nearer, for a bounded time: who waits here holds nobody's lock.
    private func waitForProjections() async {
        let deadline = ContinuousClock.now + limits.patience
        while let head = memory.head?.position.number, let reached = projected()?.number,
            head - reached > limits.projectionLag, ContinuousClock.now < deadline
        {
            try? await loop.sleep(for: .milliseconds(20))
        }
    }

    /// Writes a group, and when one item of it cannot be stored the others without it.
    private func write(_ group: ArraySlice<Waiting>, deadline: ContinuousClock.Instant) async {
        do throws(AppendError) {
            try await insist(group, deadline: deadline)
        } catch .unavailable(let error) where group.count > 1 && error.blamesWhatWasSent {
            // As deep as the group can be halved.
            let middle = group.startIndex + group.count / 2
            await write(group[..<middle], deadline: deadline)
            await write(group[middle...], deadline: deadline)
        } catch {
            for item in group { item.answer.resume(returning: .failure(error)) }
        }
    }

    private enum Attempt {
        case done
        /// Another writer was faster: decide again with what it appended.
        case overtaken
        case clockAhead(milliseconds: Int64)
        case failed(PostgresError)
    }

    /// Decides and commits until it is done or the time is over.
    private func insist(_ group: ArraySlice<Waiting>, deadline: ContinuousClock.Instant)
        async throws(AppendError)
    {
        var lastError = PostgresError.unavailable("other writers were faster each time")
        var delay = Duration.milliseconds(2)
        var hasReadAgain = false
        repeat {
            switch await attempt(group, deadline: deadline) {
            case .done:
                isFailing = false
                return
            case .overtaken:
                continue
            case .clockAhead(let milliseconds):
                throw .clockAhead(milliseconds: milliseconds)
            case .failed(let error):
                lastError = error
                if error.isConnectionLost {
                    isFailing = true
                    await dropConnection()
                } else if error.blamesMemory, !hasReadAgain {
                    hasReadAgain = true
                    memory.forgetAll()
                } else if error.blamesWhatWasSent || error.isCommitRefused {
                    throw .unavailable(error)
                } else {
                    memory.forgetHead()
                }
            }
            try? await loop.sleep(for: delay)
            delay = min(delay * 2, .milliseconds(500))
        } while ContinuousClock.now < deadline
        isFailing = true
        throw .unavailable(lastError)
    }

    private func attempt(_ group: ArraySlice<Waiting>, deadline: ContinuousClock.Instant) async
        -> Attempt
    {
        do throws(PostgresError) {
            let session = try await session()
            let hasRead = memory.head == nil
            if hasRead { memory.take(try await memory.news(session)) }
            if let lead = try await clockLead(session) { return .clockAhead(milliseconds: lead) }
            let plan = try await Plan(group.map(\.proposal), writer: self, session: session)
            guard let batch = plan.batch else {
                // Who takes the pen learns what others appended; who appends nothing has to ask,
                // or a repeat and a refusal could be answered out of an old memory.
                if !hasRead, try await !isLevel(session) { return .overtaken }
                answer(group, plan)
                return .done
            }
            guard try await commit(batch, on: session, deadline: deadline) else {
                return .overtaken
            }
            memory.took(plan, batch)
            onAppend(batch.head.position, batch.entries)
            answer(group, plan)
            return .done
        } catch {
            return .failed(error)
        }
    }

    /// Whether nobody has appended since the head was read.
    private func isLevel(_ session: Connection) async throws(PostgresError) -> Bool {
        let current = try await session.head()
        if let head = memory.head, head.number == current.number, head.digest == current.digest {
            return true
        }
        memory.forgetHead()
        return false
    }

    /// Commits a batch. When the answer was lost the same batch is sent again: finding its own
    /// digest under its number means that it was committed.
    ///
    /// - Returns: false when another writer took the number.
    private func commit(
        _ batch: Batch, on session: Connection, deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> Bool {
        var session = session
        var isOpen = false
        while true {
            do throws(PostgresError) {
                try await session.atomically(batch.statements)
                return true
            } catch let error where error.leavesCommitOpen {
                isOpen = true
                isFailing = true
                await dropConnection()
                session = try await self.session(until: deadline)
            } catch let error where error.blamesMemory {
                guard let holder = try await session.digest(ofBatch: batch.head.number) else {
                    throw error  // not the pen, but a key of what it carries
                }
                // Another writer may have appended the very same: it is ours only when an
                // answer of ours is missing.
                if isOpen, holder == batch.head.digest { return true }
                memory.forgetHead()
                return false
            } catch {
                throw error
            }
        }
    }

    private func session(until deadline: ContinuousClock.Instant)
        async throws(PostgresError) -> Connection
    {
        var delay = Duration.milliseconds(20)
        while true {
            do throws(PostgresError) {
                return try await session()
            } catch {
                guard ContinuousClock.now < deadline else { throw error }
                try? await loop.sleep(for: delay)
                delay = min(delay * 2, .milliseconds(500))
            }
        }
    }

    private func session() async throws(PostgresError) -> Connection {
        if let connection, await connection.isOpen { return connection }
        let opened = try await connect()
        connection = opened
        memory.forgetHead()
        return opened
    }

    private func dropConnection() async {
        await connection?.close()
        connection = nil
        memory.forgetHead()
    }

    /// How far this machine's clock is ahead of PostgreSQL's, when that is too far.
    ///
    /// Asked now and then, and when the clock made a leap.
    private func clockLead(_ session: Connection) async throws(PostgresError) -> Int64? {
        let now = clock()
        if let checkedClock {
            let passed = checkedClock.at.duration(to: .now)
            let expected = checkedClock.now.milliseconds + Int64(passed / .milliseconds(1))
            if passed < .seconds(10), now.milliseconds - expected < 1_000 { return nil }
        }
        let rows = try await session.query(
            "select (extract(epoch from clock_timestamp()) * 1000)::bigint")
        let lead = now.milliseconds - (try rows.only().int8(0))
        guard lead <= limits.clockLead else { return lead }
        checkedClock = (now, .now)
        return nil
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
        let isWritten = try? await connection.query(
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
        if isWritten == nil { redeliveries = counted }
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
