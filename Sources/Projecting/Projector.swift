public import Diagnostics
public import Domain
public import EventLoop
public import Ledger
public import Postgres

/// Keeps one projection level with the ledger; at most one moves it at a time.
///
/// Rows and checkpoint change in one transaction that begins by moving the checkpoint from where
/// this projector left it. Another that was faster has moved it, and this one steps back.
public actor Projector {
    private var projection: any Projection
    private let reader: LedgerReader
    private let pool: ConnectionPool
    private let loop: EventLoop
    private let clock: @Sendable () -> Instant
    private let gauges: Gauges
    private let checkpoints: Checkpoints
    private let onFlip: @Sendable () -> Void
    /// Its name among those that could keep the projection level.
    private let name: String
    private var folds: StreamFolds
    /// The last entry of the context that the folds know; `nil` before any was read.
    private var context: Position?
    /// Whether entries of the context may have been met that were not yet judged.
    private var isContextNew = true
    /// The generation that was live when it last looked, halted streams tried again.
    private var generation: Int64?
    /// Rung when there may be something to do.
    private let bell = Bell()
    private var hasSteppedBack = false
    /// Where the keeper's checkpoint stands although there are entries, and since when.
    private var stalled: (checkpoint: Position, since: ContinuousClock.Instant)?

    /// How many entries one step folds.
    private static let stepSize = 2_000
    /// How long it sleeps when nobody wakes it. Other daemons append, too.
    private static let poll = Duration.milliseconds(250)
    /// How long another's checkpoint may stand still before this one takes over.
    private static let patience = Duration.seconds(1)

    /// What is told of a projection's progress.
    public struct Gauges: Sendable {
        let lag: Gauge
        let halted: Gauge

        /// Gauges of one projection.
        public init(_ registry: MetricRegistry, projection: String) {
            let labels = ["projection": projection]
            lag = registry.gauge(
                "subledger_projection_lag_entries", help: "Entries not yet folded.",
                labels: labels)
            halted = registry.gauge(
                "subledger_projection_halted_streams", help: "Streams that do not follow.",
                labels: labels)
        }
    }

    /// The loop on which the projector lives.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// A projector that reads with `reader` and writes through `pool`.
    ///
    /// - Parameters:
    ///   - name: differs from that of every other projector that may follow for this projection.
    ///   - onFlip: told when another generation has become live that may have other rows.
    public init(
        _ projection: any Projection, reader: LedgerReader, pool: ConnectionPool,
        on loop: EventLoop, name: String, gauges: Gauges,
        checkpoints: Checkpoints = Checkpoints(),
        onFlip: @escaping @Sendable () -> Void = {},
        clock: @escaping @Sendable () -> Instant
    ) {
        self.projection = projection
        self.reader = reader
        self.pool = pool
        self.loop = loop
        self.name = name
        self.gauges = gauges
        self.onFlip = onFlip
        folds = StreamFolds(projection)
        self.checkpoints = checkpoints
        self.clock = clock
    }

    /// Says that there may be entries to fold.
    public nonisolated func wake() { bell.ring() }

    /// Folds new entries until cancelled.
    public func run() async {
        var delay = Duration.milliseconds(50)
        while !Task.isCancelled {
            let heard = bell.count
            do throws(LedgerError) {
                let moved = try await step()
                delay = .milliseconds(50)
                if moved < Projector.stepSize {
                    await bell.wait(since: heard, on: loop, atMost: Projector.poll)
                }
            } catch {
                Log.warning(
                    "projection does not follow",
                    ["projection": projection.name, "error": "\(error)"])
                await bell.wait(since: heard, on: loop, atMost: delay)
                delay = min(delay * 2, .seconds(5))
            }
        }
        await letGo()
    }

    /// Says that somebody else may keep the projection level at once.
    private func letGo() async {
        let (pool, name, projection) = (pool, name, projection.name)
        // In a task that is not cancelled as this one is.
        await Task {
            _ = try? await pool.query(
                "delete from projection.keeper where projection = $1 and keeper = $2",
                [.text(projection), .text(name)])
        }.value
    }

    /// Folds the next entries of the live generation.
    ///
    /// - Returns: how many entries it folded at most.
    private func step() async throws(LedgerError) -> Int {
        guard let live = try await live() else { return 0 }
        var entries = Projector.contiguous(
            try await reader.entries(after: live.checkpoint, atMost: Projector.stepSize),
            after: live.checkpoint)
        // What follows new settings is folded with them, if they can be had without a rebuild.
        let settings = entries.firstIndex { $0.event.stream == projection.context }
        if let settings { entries.removeSubrange((settings + 1)...) }
        gauges.lag.set(Double(entries.count))
        gauges.halted.set(Double(live.haltedStreams))
        checkpoints.note(projection.name, at: live.checkpoint)
        let hasHalts = generation != live.number && live.haltedStreams > 0
        guard mayKeep(live, hasNews: !entries.isEmpty || hasHalts) else { return 0 }
        try await know(live.context)
        if generation != live.number { try await enter(live) }
        if isContextNew, projection.context != nil, try await judge(live) { return 1 }
        guard let last = entries.last else { return 0 }
        // Taken out while they change, so that they are not copied; lost when that fails.
        var folds = self.folds
        self.folds = StreamFolds(projection)
        let changes = try await folds.changes(
            by: entries, after: live.checkpoint, generation: live.number, reader: reader,
            isForeign: live.edition != projection.edition)
        self.folds = folds
        try await move(live, to: last.position, changes)
        if settings != nil { isContextNew = true }
        return entries.count
    }

    /// Sees to it that the folds know the context that a generation's rows are made with.
    private func know(_ position: Position) async throws(LedgerError) {
        guard context != position else { return }
        if let stream = projection.context {
            projection = projection.knowing(
                try await reader.entries(of: [stream], upTo: position))
        }
        folds = StreamFolds(projection)
        context = position
    }

    /// Judges whether the live rows are what the newest entries of the context would make: if so
    /// they belong to that context from now on; if not, they go on with the old one and a rebuild
    /// is asked for.
    ///
    /// - Returns: whether the generation has changed, and is to be read again.
    private func judge(_ live: Generation) async throws(LedgerError) -> Bool {
        guard let stream = projection.context else { return false }
        let all = try await reader.entries(of: [stream], upTo: live.checkpoint)
        guard let newest = all.last?.position, newest > live.context else {
            isContextNew = false
            return false
        }
        let old = all.filter { $0.position <= live.context }
        if let question = projection.sameness(from: old, to: all, generation: live.number) {
            let isSame: Bool
            do throws(PostgresError) {
                isSame = try await pool.query(question.sql, question.parameters).only().bool(0)
            } catch {
                throw .database(error)
            }
            if isSame {
                let change = Statement(
                    """
                    update projection.generation set context = $3 \
                    where projection = $1 and generation = $2
                    """, [.text(projection.name), .int8(live.number), .int8(newest.number)])
                try await move(live, to: live.checkpoint, [change])
                return true
            }
        }
        do throws(ProjectingError) {
            _ = try await Builds(pool: pool, clock: clock).request(
                projection, .replace, head: live.checkpoint)
        } catch {
            guard case .ledger(let error) = error else { return false }
            throw error
        }
        Log.info(
            "projection will be rebuilt with new settings", ["projection": projection.name])
        isContextNew = false
        return false
    }

    /// The entries up to the first hole: where a hole can be seen, what fills it comes later.
    private static func contiguous(_ entries: [Entry], after checkpoint: Position) -> [Entry] {
        var next = checkpoint.number
        return Array(
            entries.prefix { entry in
                next += 1
                return entry.position.number == next
            })
    }

    private struct Generation {
        let number: Int64
        let edition: Int64
        let checkpoint: Position
        let haltedStreams: Int64
        let keeper: String?
        let context: Position
    }

    /// The live generation, begun when there is none; `nil` when a newer program has made it,
    /// which this program cannot fold. One of an older edition is followed until it is rebuilt.
    private func live() async throws(LedgerError) -> Generation? {
        var found = try await read()
        if found == nil {
            try await begin()
            found = try await read()
        }
        guard let found, found.edition <= projection.edition else {
            if !hasSteppedBack {
                Log.warning(
                    "projection is left to a newer program", ["projection": projection.name])
            }
            hasSteppedBack = true
            return nil
        }
        return found
    }

    /// Whether this projector is the one: nobody else is, or whoever is stands still.
    private func mayKeep(_ live: Generation, hasNews: Bool) -> Bool {
        if live.keeper == nil || live.keeper == name { return true }
        guard hasNews else {
            stalled = nil
            return false
        }
        if let stalled, stalled.checkpoint == live.checkpoint {
            return stalled.since.duration(to: .now) > Projector.patience
        }
        stalled = (live.checkpoint, .now)
        return false
    }

    /// Meets a generation for the first time: what is halted there may be readable by now.
    private func enter(_ live: Generation) async throws(LedgerError) {
        folds = StreamFolds(projection)
        var streams: [StreamID] = []
        do throws(PostgresError) {
            let rows = try await pool.query(
                "select stream from projection.halted where projection = $1 and generation = $2",
                [.text(projection.name), .int8(live.number)])
            for row in rows { streams.append(StreamID(name: try row.text(0))) }
        } catch {
            throw .database(error)
        }
        if !streams.isEmpty {
            var folds = StreamFolds(projection)
            let changes = try await folds.releases(
                streams, upTo: live.checkpoint, generation: live.number, reader: reader)
            self.folds = folds
            try await move(live, to: live.checkpoint, changes)
        }
        if let generation {
            let isSame = try await isSame(as: generation, live)
            if !isSame || !streams.isEmpty { onFlip() }
        }
        generation = live.number
        isContextNew = true
    }

    /// Whether a generation was found to have the rows of the one that it came after, which is this.
    private func isSame(as known: Int64, _ live: Generation) async throws(LedgerError) -> Bool {
        do throws(PostgresError) {
            return try await pool.query(
                """
                select exists (select from projection.build as built \
                join projection.build as before using (projection) \
                where projection = $1 and built.generation = $2 \
                and built.digest = built.live_digest \
                and before.generation = $3 and before.state = 'previous')
                """, [.text(projection.name), .int8(live.number), .int8(known)]
            ).only().bool(0)
        } catch {
            throw .database(error)
        }
    }

    /// Begins the first generation of all, which is live at once.
    private func begin() async throws(LedgerError) {
        try await write([Builds.first(of: projection, at: clock())])
    }

    private func read() async throws(LedgerError) -> Generation? {
        do throws(PostgresError) {
            let rows = try await pool.query(
                """
                select generation, edition, checkpoint, (select count(*) from projection.halted \
                where halted.projection = $1 and halted.generation = generation.generation), \
                (select keeper from projection.keeper where keeper.projection = $1), context \
                from projection.generation where projection = $1 and is_live
                """, [.text(projection.name)])
            guard let row = rows.first else { return nil }
            return Generation(
                number: try row.int8(0), edition: try row.int8(1),
                checkpoint: Position(try row.int8(2)), haltedStreams: try row.int8(3),
                keeper: try row.textIfAny(4), context: Position(try row.int8(5)))
        } catch {
            throw .database(error)
        }
    }

    /// Moves the checkpoint together with the rows; when another projector has moved it the
    /// division fails the whole transaction.
    private func move(_ live: Generation, to position: Position, _ changes: [Statement])
        async throws(LedgerError)
    {
        let pen = Statement(
            """
            with moved as (update projection.generation set checkpoint = $4, updated_at = $5 \
            where projection = $1 and generation = $2 and checkpoint = $3 returning 1) \
            select 1 / count(*) from moved
            """,
            [
                .text(projection.name), .int8(live.number), .int8(live.checkpoint.number),
                .int8(position.number), .int8(clock().milliseconds),
            ])
        var statements = [pen] + changes
        if live.keeper != name {
            statements.append(
                Statement(
                    """
                    insert into projection.keeper (projection, keeper) values ($1, $2) \
                    on conflict (projection) do update set keeper = excluded.keeper
                    """, [.text(projection.name), .text(name)]))
        }
        try await write(statements)
    }

    private func write(_ statements: [Statement]) async throws(LedgerError) {
        do throws(PostgresError) {
            try await pool.atomically(statements)
        } catch let error where error.sqlstate == "22012" {
            return  // another projector was faster; the next step reads where it is
        } catch {
            throw .database(error)
        }
    }
}
