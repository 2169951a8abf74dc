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
    private let projection: any Projection
    private let reader: LedgerReader
    private let pool: ConnectionPool
    private let loop: EventLoop
    private let clock: @Sendable () -> Instant
    private let lag: Gauge
    private let checkpoints: Checkpoints
    private var isAwake = false
    private var hasSteppedBack = false
    private var sleeper: CheckedContinuation<Void, Never>?

    /// How many entries one step folds.
    private static let stepSize = 2_000
    /// How long it sleeps when nobody wakes it. Other daemons append, too.
    private static let poll = Duration.milliseconds(250)

    /// The loop on which the projector lives.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// A projector that reads with `reader` and writes through `pool`.
    public init(
        _ projection: any Projection, reader: LedgerReader, pool: ConnectionPool,
        on loop: EventLoop, lag: Gauge, checkpoints: Checkpoints = Checkpoints(),
        clock: @escaping @Sendable () -> Instant
    ) {
        self.projection = projection
        self.reader = reader
        self.pool = pool
        self.loop = loop
        self.lag = lag
        self.checkpoints = checkpoints
        self.clock = clock
    }

    /// Says that there may be entries to fold.
    public func wake() {
        isAwake = true
        sleeper?.resume()
        sleeper = nil
    }

    /// Folds new entries until cancelled.
    public func run() async {
        var delay = Duration.milliseconds(50)
        while !Task.isCancelled {
            isAwake = false
            do throws(LedgerError) {
                let moved = try await step()
                delay = .milliseconds(50)
                if moved < Projector.stepSize { await rest(Projector.poll) }
            } catch {
                Log.warning(
                    "projection does not follow",
                    ["projection": projection.name, "error": "\(error)"])
                await rest(delay)
                delay = min(delay * 2, .seconds(5))
            }
        }
    }

    private func rest(_ time: Duration) async {
        guard !isAwake, !Task.isCancelled else { return }
        let alarm = Task(executorPreference: loop) { [loop] in
            guard (try? await loop.sleep(for: time)) != nil else { return }
            await self.wake()
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // It may have been woken since the first look.
                if isAwake { continuation.resume() } else { sleeper = continuation }
            }
        } onCancel: {
            Task(executorPreference: loop) { await self.wake() }
        }
        alarm.cancel()
    }

    /// Folds the next entries of the live generation, and of one that is being built.
    ///
    /// - Returns: how many entries it folded at most.
    private func step() async throws(LedgerError) -> Int {
        var most = 0
        for generation in try await generations() {
            let entries = Projector.contiguous(
                try await reader.entries(
                    after: generation.checkpoint, atMost: Projector.stepSize),
                after: generation.checkpoint)
            if generation.isLive {
                lag.set(Double(entries.count))
                checkpoints.note(projection.name, at: generation.checkpoint)
            } else if entries.count < Projector.stepSize {
                try await flip(to: generation, after: entries)
                return Projector.stepSize
            }
            guard let last = entries.last else { continue }
            let changes = try await projection.changes(
                by: entries, generation: generation.number, reader: reader)
            try await move(generation, to: last.position, changes)
            most = max(most, entries.count)
        }
        return most
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
        let isLive: Bool
        let checkpoint: Position
    }

    /// The generations to keep level: the live one, and a newer one when its edition is old;
    /// none when a newer program has begun one that this program cannot fold.
    private func generations() async throws(LedgerError) -> [Generation] {
        var found = try await read()
        if found.allSatisfy({ $0.edition < projection.edition }) {
            try await begin(after: found)
            // Another program may have begun the same number with its own edition.
            found = try await read()
        }
        let newest = found.map(\.edition).max() ?? projection.edition
        guard newest <= projection.edition else {
            if !hasSteppedBack {
                Log.warning(
                    "projection is left to a newer program",
                    ["projection": projection.name, "edition": "\(newest)"])
            }
            hasSteppedBack = true
            return []
        }
        return found.filter { $0.isLive || $0.edition == projection.edition }
    }

    /// Begins a generation of this edition; the first of all is live at once.
    private func begin(after found: [Generation]) async throws(LedgerError) {
        let next = (found.map(\.number).max() ?? 0) + 1
        try await write([
            Statement(
                """
                insert into projection.generation \
                (projection, generation, edition, is_live, checkpoint, updated_at) \
                values ($1, $2, $3, $4, 0, $5) on conflict do nothing
                """,
                [
                    .text(projection.name), .int8(next), .int8(projection.edition),
                    .bool(found.isEmpty), .int8(clock().milliseconds),
                ])
        ])
    }

    private func read() async throws(LedgerError) -> [Generation] {
        do throws(PostgresError) {
            var found: [Generation] = []
            let rows = try await pool.query(
                """
                select generation, edition, is_live, checkpoint from projection.generation \
                where projection = $1 order by generation
                """, [.text(projection.name)])
            for row in rows {
                found.append(
                    Generation(
                        number: try row.int8(0), edition: try row.int8(1),
                        isLive: try row.bool(2), checkpoint: Position(try row.int8(3))))
            }
            return found
        } catch {
            throw .database(error)
        }
    }

    /// Moves the checkpoint together with the rows; when another projector has moved it the
    /// division fails the whole transaction.
    private func move(_ generation: Generation, to position: Position, _ changes: [Statement])
        async throws(LedgerError)
    {
        let pen = Statement(
            """
            with moved as (update projection.generation set checkpoint = $4, updated_at = $5 \
            where projection = $1 and generation = $2 and checkpoint = $3 returning 1) \
            select 1 / count(*) from moved
            """,
            [
                .text(projection.name), .int8(generation.number),
                .int8(generation.checkpoint.number), .int8(position.number),
                .int8(clock().milliseconds),
            ])
        try await write([pen] + changes)
    }

    /// Folds the last entries of a new generation and makes it live, in one commit.
    private func flip(to generation: Generation, after entries: [Entry])
        async throws(LedgerError)
    {
        let changes = try await projection.changes(
            by: entries, generation: generation.number, reader: reader)
        let old = try await read().filter { $0.number < generation.number }
        let live = Statement(
            """
            update projection.generation set is_live = (generation = $2) where projection = $1
            """, [.text(projection.name), .int8(generation.number)])
        let forget = Statement(
            "delete from projection.generation where projection = $1 and generation < $2",
            [.text(projection.name), .int8(generation.number)])
        try await move(
            generation, to: entries.last?.position ?? generation.checkpoint,
            changes + old.flatMap { projection.removal(ofGeneration: $0.number) } + [live, forget])
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
