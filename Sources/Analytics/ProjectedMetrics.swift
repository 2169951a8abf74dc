import Domain
import Ledger
import Postgres

/// Measures from the projection `metrics`, at any position.
struct ProjectedMetrics: Sendable {
    let pool: ConnectionPool
    let reader: LedgerReader

    /// More lines than this to be measured from the record, and all are.
    static let lineLimit = 20_000
    /// More entries than this are not looked through for lines.
    private static let entryLimit: Int64 = 1_000_000
    /// How often the projection may move on between looking and reading.
    private static let attempts = 4
    private static let patience = Duration.seconds(25)

    /// What a transaction of sums needs that others must not have.
    private static let preparation = [
        "set transaction isolation level repeatable read, read only",
        "set local enable_seqscan = on", "set local enable_hashjoin = on",
        "set local enable_sort = off", "set local work_mem = '64MB'",
        "set local plan_cache_mode = force_custom_plan",
    ].map { Statement($0) }

    /// What joins of persons with their lines need beside it: right after a rebuild nothing is known of
    /// how many rows there are, and nested loops, which would look best, never end.
    ///
    /// Rows of what lines did are more than is expected, and dear to send: workers are to sum them.
    private static let joining = [
        Statement("set local enable_nestloop = off"),
        Statement("set local parallel_tuple_cost = 2"),
        Statement("set local statement_timeout = '\(joiningPatience.components.seconds)s'"),
    ]
    private static let joiningPatience = Duration.seconds(300)

    /// The live generation, and how far the record goes.
    private struct Live: Equatable {
        let generation: Int64
        let checkpoint: Position
        let contexts: ClosedRange<Int64>
        let head: Position

        static let statement = Statement(
            """
            select generation, checkpoint, context_since, context, \
            coalesce((select last_position from ledger.batch order by number desc limit 1), 0) \
            from projection.generation where projection = 'metrics' and is_live and edition = $1
            """, [.int8(MetricsProjection().edition)])

        init?(_ rows: Rows) throws(PostgresError) {
            guard let row = rows.first else { return nil }
            generation = try row.int8(0)
            checkpoint = Position(try row.int8(1))
            contexts = try row.int8(2)...max(try row.int8(2), try row.int8(3))
            head = Position(try row.int8(4))
        }
    }

    /// The finished measurement; `nil` when the projection cannot answer, or not exactly.
    func measure(_ question: MetricQuestion, settings: Settings, people: People)
        async throws(LedgerError) -> Measurement?
    {
        for _ in 0..<ProjectedMetrics.attempts {
            guard let live = try await live(), live.contexts.contains(settings.position.number),
                var moved = try await moved(question, live)
            else { return nil }
            var measurement = Measurement(question, settings: settings, people: people)
            let readers = question.readers(people)
            if let readers {
                let relatives = Relatives(
                    readers: readers, settings: settings, generation: live.generation,
                    question: question, pool: pool, reader: reader)
                guard let all = try await relatives.joined(to: moved) else { return nil }
                moved = all
            }
            var sql = MetricSQL(
                question: question, generation: live.generation, excluded: moved.map(\.name))
            if let readers { sql.readers = readers }
            if question.metric == .subscriptionRetention {
                sql.plans = try await plans(live)
            }
            guard let projected = ProjectedMeasurement(question, sql) else { return nil }
            guard try await sum(projected, live, into: &measurement) else { continue }
            try await reader.eachLine(of: moved, upTo: question.position) { measurement.take($0) }
            measurement.settle()
            return measurement
        }
        return nil
    }

    private func plans(_ live: Live) async throws(LedgerError) -> [String] {
        let statement = MetricSQL.plans(live.generation)
        let rows = try await pool.read(statement.sql, statement.parameters)
        return try asLedger { () throws(PostgresError) in
            var plans: [String] = []
            for row in rows { plans.append(try row.text(0)) }
            return plans
        }
    }

    private func live() async throws(LedgerError) -> Live? {
        let rows = try await pool.read(Live.statement.sql, Live.statement.parameters)
        return try asLedger { () throws(PostgresError) in try Live(rows) }
    }

    /// The lines that the projection knows otherwise than the question's position does; `nil` when
    /// there are too many.
    private func moved(_ question: MetricQuestion, _ live: Live)
        async throws(LedgerError) -> [StreamID]?
    {
        let low = min(question.position, live.checkpoint)
        guard live.head.number - low.number <= ProjectedMetrics.entryLimit else { return nil }
        let rows = try await pool.read(
            """
            select stream from ledger.entry where position > $1 and starts_with(stream, $3) \
            union select stream from projection.halted \
            where projection = 'metrics' and generation = $2 limit \(ProjectedMetrics.lineLimit + 1)
            """,
            [
                .int8(low.number), .int8(live.generation),
                .text("apple/\(question.environment.name)/"),
            ])
        guard rows.count <= ProjectedMetrics.lineLimit else { return nil }
        return try asLedger { () throws(PostgresError) in
            var streams: [StreamID] = []
            for row in rows { streams.append(StreamID(name: try row.text(0))) }
            return streams.filter { $0.line != nil }
        }
    }

    /// Takes in what the projection says, all of one snapshot.
    ///
    /// - Returns: false when it had moved beyond what was looked at by then.
    private func sum(
        _ projected: ProjectedMeasurement, _ live: Live, into measurement: inout Measurement
    ) async throws(LedgerError) -> Bool {
        let isJoining = measurement.question.metric.countsPersons
        let preparation =
            ProjectedMetrics.preparation + (isJoining ? ProjectedMetrics.joining : [])
        let statements = preparation + [Live.statement] + projected.parts.map(\.statement)
        let pool = pool
        let answers = try await asLedger { () async throws(PostgresError) in
            try await pool.atomically(
                statements,
                within: isJoining ? ProjectedMetrics.joiningPatience : ProjectedMetrics.patience)
        }
        let first = preparation.count
        return try asLedger { () throws(PostgresError) in
            guard let now = try Live(answers[first]), now.generation == live.generation,
                now.contexts == live.contexts, now.checkpoint <= live.head
            else { return false }
            for (part, rows) in zip(projected.parts, answers[(first + 1)...]) {
                try part.take(&measurement, rows)
            }
            return true
        }
    }
}

/// What a body answers; a failure of the database is the ledger's.
func asLedger<T>(_ body: () throws(PostgresError) -> T) throws(LedgerError) -> T {
    do throws(PostgresError) {
        return try body()
    } catch {
        throw .database(error)
    }
}

/// What a body answers; a failure of the database is the ledger's.
func asLedger<T: Sendable>(_ body: () async throws(PostgresError) -> T)
    async throws(LedgerError) -> T
{
    do throws(PostgresError) {
        return try await body()
    } catch {
        throw .database(error)
    }
}
