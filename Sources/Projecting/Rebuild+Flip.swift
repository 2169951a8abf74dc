import Domain
import Ledger
import Postgres

extension Rebuild {
    /// The most entries that are folded while the live generation waits.
    private static let lastStep = 1_000
    private static let stepSize = 2_000

    /// The live generation.
    struct Live {
        let number: Int64
        let edition: Int64
        let checkpoint: Position
        let context: Position
    }

    func live(_ session: BlockingConnection, _ ending: String = "")
        async throws(PostgresError) -> Live?
    {
        let rows = try await session.query(
            """
            select generation, edition, checkpoint, context from projection.generation \
            where projection = $1 and is_live \(ending)
            """, [.text(projection.name)])
        guard let row = rows.first else { return nil }
        return Live(
            number: try row.int8(0), edition: try row.int8(1),
            checkpoint: Position(try row.int8(2)), context: Position(try row.int8(3)))
    }

    private func end(_ session: BlockingConnection) async throws(ProjectingError) {
        try await penned { () throws(PostgresError) in _ = try await session.query("rollback") }
    }

    /// Folds the entries up to a position in the way of the live generation.
    func catchUp(_ build: inout Build, to position: Position) async throws(ProjectingError) {
        var folds = StreamFolds(projection)
        try await catchUp(&build, to: position, &folds)
    }

    /// Folds on with what is remembered of streams.
    func catchUp(_ build: inout Build, to position: Position, _ folds: inout StreamFolds)
        async throws(ProjectingError)
    {
        while build.checkpoint < position {
            let (last, changes) = try await news(build, upTo: position, &folds)
            guard let last else { throw .notLevel }
            try await step(&build, to: last, changes, phase: "catching up")
        }
    }

    private func news(_ build: Build, upTo position: Position, _ folds: inout StreamFolds)
        async throws(ProjectingError) -> (last: Position?, changes: [Statement])
    {
        try await recorded { () throws(LedgerError) in
            let entries = try await reader.entries(
                after: build.checkpoint, upTo: position, atMost: Rebuild.stepSize)
            guard let last = entries.last else { return (nil, []) }
            let changes = try await folds.changes(
                by: entries, after: build.checkpoint, generation: build.number, reader: reader)
            return (last.position, changes)
        }
    }

    /// Makes a build the live generation, in one commit at one position, and keeps the one that
    /// was live for the way back.
    func flip(_ build: inout Build, _ compared: Comparison?) async throws(ProjectingError) {
        let session = try await opened()
        do throws(ProjectingError) {
            while try await !flipped(&build, compared, session) {}
            await session.close()
        } catch {
            // Whatever it had begun ends with it.
            await session.close()
            throw error
        }
    }

    /// - Returns: false when the build was too far behind, and was brought nearer.
    private func flipped(
        _ build: inout Build, _ compared: Comparison?, _ session: BlockingConnection
    ) async throws(ProjectingError) -> Bool {
        let before = try await penned { () throws(PostgresError) in try await live(session) }
        if let before { try await catchUp(&build, to: before.checkpoint) }
        let old = try await penned { () throws(PostgresError) in
            try await session.query("begin")
            // Who moves the live checkpoint waits here; who reads does not.
            return try await live(session, "for update")
        }
        guard let old else { throw .notLevel }
        if old.edition > projection.edition { throw .newerLive(edition: old.edition) }
        if old.checkpoint.number - build.checkpoint.number > Int64(Rebuild.lastStep) {
            try await end(session)
            return false
        }
        var statements: [Statement] = []
        var position = build.checkpoint
        if old.checkpoint > position {
            var folds = StreamFolds(projection)
            let (last, changes) = try await news(build, upTo: old.checkpoint, &folds)
            guard last == old.checkpoint else { throw .notLevel }
            (position, statements) = (old.checkpoint, changes)
        }
        statements += turn(from: old, to: build, at: position, compared)
        try await penned { [statements] () throws(PostgresError) in
            for statement in statements {
                try await session.query(statement.sql, statement.parameters)
            }
            try await session.commit()
        }
        build.checkpoint = position
        return true
    }

    private func turn(
        from old: Live, to build: Build, at position: Position, _ compared: Comparison?
    ) -> [Statement] {
        let now = Parameter.int8(clock().milliseconds)
        let name = Parameter.text(projection.name)
        let edition = Parameter.int8(projection.edition)
        var statements = [
            Builds.pen(
                build,
                set: """
                    state = 'live', phase = 'done', checkpoint = $6, runner = null, \
                    finished_at = $5, digest = coalesce($7, digest), live_digest = $8
                    """,
                [
                    .int8(position.number), .text(ifAny: compared?.built),
                    .text(ifAny: compared?.live),
                ], at: clock()),
            Statement(
                """
                update projection.build set state = 'discarded' where projection = $1 \
                and state in ('previous', 'live') and generation <> $2
                """, [name, .int8(build.number)]),
        ]
        statements.append(
            Statement(
                """
                update projection.generation set generation = $2, edition = $3, checkpoint = $4, \
                updated_at = $5, context = $7, context_since = $7 \
                where projection = $1 and generation = $6
                """,
                [
                    name, .int8(build.number), edition, .int8(position.number), now,
                    .int8(old.number), .int8(build.context.number),
                ]))
        statements.append(
            Statement(
                """
                insert into projection.build (projection, generation, edition, state, purpose, \
                target, checkpoint, phase, entries_done, workers, started_at, updated_at, context) \
                values ($1, $2, $3, 'previous', 'replace', $4, $4, 'done', 0, 0, $5, $5, $6) \
                on conflict (projection, generation) do update set state = 'previous', \
                checkpoint = excluded.checkpoint, updated_at = excluded.updated_at, \
                context = excluded.context, runner = null
                """,
                [
                    name, .int8(old.number), .int8(old.edition), .int8(old.checkpoint.number), now,
                    .int8(old.context.number),
                ]))
        return statements
    }
}
