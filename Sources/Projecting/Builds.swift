import Domain
import Ledger
import Postgres

/// One generation that is not live, as its registry row says.
struct Build: Sendable {
    /// What it is for.
    enum Purpose: String, Sendable { case replace, verify }

    let projection: String
    let number: Int64
    let runner: String
    let target: Position
    var checkpoint: Position
    /// `building`, or `previous` on the way back.
    let state: String
    /// The last entry of the context that its rows are made with.
    let context: Position
    var entriesDone: Int64 = 0
}

/// The registry of generations.
struct Builds: Sendable {
    let pool: ConnectionPool
    let clock: @Sendable () -> Instant

    /// A runner that was not heard of for longer is gone. Units: milliseconds.
    static let silence: Int64 = 10_000

    /// Fails the transaction with a division by zero unless the build is still the runner's.
    static func pen(
        _ build: Build, set changes: String, _ more: [Parameter] = [], at now: Instant
    ) -> Statement {
        Statement(
            """
            with moved as (update projection.build set updated_at = $5, \(changes) \
            where projection = $1 and generation = $2 and runner = $3 and state = $4 returning 1) \
            select 1 / count(*) from moved
            """,
            [
                .text(build.projection), .int8(build.number), .text(build.runner),
                .text(build.state), .int8(now.milliseconds),
            ] + more)
    }

    /// Begins the first generation of all, which is live at once; does nothing when there is one.
    static func first(of projection: any Projection, at now: Instant) -> Statement {
        Statement(
            """
            insert into projection.generation \
            (projection, generation, edition, is_live, checkpoint, updated_at) \
            select $1, 1, $2, true, 0, $3 where not exists \
            (select from projection.generation where projection = $1) on conflict do nothing
            """,
            [.text(projection.name), .int8(projection.edition), .int8(now.milliseconds)])
    }

    /// Takes over the generation being built, or begins one.
    ///
    /// - Throws: `busy` when another runner is at work.
    func claim(
        _ projection: any Projection, _ purpose: Build.Purpose, runner: String, workers: Int,
        head: Position
    ) async throws(ProjectingError) -> Build {
        let wanted = try await request(projection, purpose, head: head)
        let rows = try await penned { () throws(PostgresError) in
            try await pool.query(
                """
                update projection.build set runner = $3, updated_at = $4, workers = $6 \
                where projection = $1 and purpose = $2 and state = 'building' and edition = $5 \
                and (runner is null or runner = $3 or updated_at < $4 - \(Builds.silence)) \
                returning generation, target, checkpoint, entries_done, context
                """,
                [
                    .text(projection.name), .text(purpose.rawValue), .text(runner),
                    .int8(clock().milliseconds), .int8(projection.edition), .int8(Int64(workers)),
                ])
        }
        guard let row = rows.first else { throw .busy(generation: wanted) }
        return try await penned { () throws(PostgresError) in
            Build(
                projection: projection.name, number: try row.int8(0), runner: runner,
                target: Position(try row.int8(1)), checkpoint: Position(try row.int8(2)),
                state: "building", context: Position(try row.int8(4)),
                entriesDone: try row.int8(3))
        }
    }

    /// Sees to it that a generation is being built, or will be; returns its number.
    func request(_ projection: any Projection, _ purpose: Build.Purpose, head: Position)
        async throws(ProjectingError) -> Int64
    {
        try await penned { () throws(PostgresError) in
            // Numbers after the first are given here alone.
            let first = Builds.first(of: projection, at: clock())
            try await pool.query(first.sql, first.parameters)
            // What another edition began is begun anew.
            try await pool.query(
                """
                update projection.build set state = 'failed', failure = 'of another edition', \
                finished_at = $3 where projection = $1 and state = 'building' and edition < $2
                """,
                [.text(projection.name), .int8(projection.edition), .int8(clock().milliseconds)])
            try await pool.query(
                """
                insert into projection.build (projection, generation, edition, state, purpose, \
                target, checkpoint, phase, entries_done, workers, started_at, updated_at, context) \
                select $1, 1 + greatest( \
                (select coalesce(max(generation), 0) from projection.generation where projection = $1), \
                (select coalesce(max(generation), 0) from projection.build where projection = $1)), \
                $2, 'building', $3, $4, 0, 'waiting', 0, 0, $5, $5, case $3 when 'verify' then \
                (select coalesce(max(context), 0) from projection.generation \
                where projection = $1 and is_live) else (select coalesce(max(position), 0) \
                from ledger.entry where bucket = $6::int4::smallint and stream = $7 \
                and position <= $4) end \
                where not exists (select from projection.build where projection = $1 \
                and purpose = $3 and state = 'building' and edition >= $2) on conflict do nothing
                """,
                [
                    .text(projection.name), .int8(projection.edition), .text(purpose.rawValue),
                    .int8(head.number), .int8(clock().milliseconds),
                    .int4(projection.context.map(Bucket.of) ?? -1),
                    .text(projection.context?.name ?? ""),
                ])
            return try await pool.query(
                """
                select generation from projection.build \
                where projection = $1 and purpose = $2 and state = 'building'
                """, [.text(projection.name), .text(purpose.rawValue)]
            ).first?.int8(0) ?? 0
        }
    }

    /// Ends what is being built; false when nothing is.
    func cancel(_ projection: String) async throws(ProjectingError) -> Bool {
        try await penned { () throws(PostgresError) in
            try await pool.query(
                """
                update projection.build set state = 'failed', failure = 'cancelled', \
                finished_at = $2 where projection = $1 and state = 'building' returning generation
                """, [.text(projection), .int8(clock().milliseconds)]
            ).isEmpty == false
        }
    }

    /// The generation to go back to, in the hands of a runner.
    func previous(_ projection: any Projection, runner: String)
        async throws(ProjectingError) -> Build
    {
        let row = try await penned { () throws(PostgresError) in
            try await pool.query(
                """
                select generation, edition, checkpoint, context from projection.build \
                where projection = $1 and state = 'previous' order by generation desc limit 1
                """, [.text(projection.name)]
            ).first
        }
        guard let row else { throw .noPrevious }
        let (number, edition, checkpoint, context) = try await penned {
            () throws(PostgresError) in
            (
                try row.int8(0), try row.int8(1), Position(try row.int8(2)),
                Position(try row.int8(3))
            )
        }
        guard edition == projection.edition else { throw .previousIsForeign(edition: edition) }
        _ = try await penned { () throws(PostgresError) in
            try await pool.query(
                "update projection.build set runner = $3 where projection = $1 and generation = $2",
                [.text(projection.name), .int8(number), .text(runner)])
        }
        return Build(
            projection: projection.name, number: number, runner: runner, target: checkpoint,
            checkpoint: checkpoint, state: "previous", context: context)
    }

    /// Removes the rows of generations that nobody needs any more, some at a time.
    func sweep(_ projection: any Projection) async throws(ProjectingError) {
        try await penned { () throws(PostgresError) in
            let rows = try await pool.query(
                """
                select generation from projection.build where projection = $1 and \
                (state = 'discarded' or (state = 'failed' and phase <> 'swept'))
                """, [.text(projection.name)])
            for row in rows { try await sweep(projection, try row.int8(0)) }
        }
    }

    private func sweep(_ projection: any Projection, _ generation: Int64)
        async throws(PostgresError)
    {
        for table in projection.tables {
            var removed = Builds.sweepSize
            while removed == Builds.sweepSize {
                removed = try await pool.query(
                    """
                    delete from projection.\(table.name) where ctid = any(array( \
                    select ctid from projection.\(table.name) where generation = $1 \
                    limit \(Builds.sweepSize)))
                    """, [.int8(generation)]
                ).affected
            }
        }
        let place: [Parameter] = [.text(projection.name), .int8(generation)]
        let its = "where projection = $1 and generation = $2"
        try await pool.atomically([
            Statement("delete from projection.halted \(its)", place),
            Statement("delete from projection.build_range \(its)", place),
            Statement("delete from projection.build \(its) and state = 'discarded'", place),
            Statement("update projection.build set phase = 'swept' \(its)", place),
        ])
    }

    private static let sweepSize = 5_000
}
