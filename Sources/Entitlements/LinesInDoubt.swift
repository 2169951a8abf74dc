public import Domain
public import Ledger
public import Postgres

/// A line of which Apple has not said what must have happened.
public struct LineInDoubt: Sendable, Hashable {
    /// What is missing.
    public enum Doubt: String, Sendable, Hashable {
        /// The paid time is over, and nothing was heard since.
        case overdue
        /// It was upgraded, and to what is not known.
        case successorMissing = "successor_missing"
    }

    /// The line.
    public var stream: StreamID
    /// What is missing.
    public var doubt: Doubt
    /// How often Apple was asked about it before.
    public var times: Int64
}

/// Finds lines in doubt among the projected ones.
public struct LinesInDoubt: Sendable {
    private let pool: ConnectionPool

    /// How many lines one look reads.
    private static let pageSize = 2_000
    /// How long after the end of the paid time a renewal may take to be heard of.
    /// Units: milliseconds.
    public static let leeway: Int64 = 10 * 60_000

    /// A reader over read-only sessions.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// Which lines are looked at.
    public struct Scope: Sendable {
        /// The app.
        public var bundle: String
        /// The environment.
        public var environment: Environment
        /// The time now.
        public var now: Instant
        /// Whether those are left out that were asked about lately.
        public var respectsPauses: Bool

        /// The lines of an app in an environment.
        public init(
            bundle: String, environment: Environment, now: Instant, respectsPauses: Bool
        ) {
            self.bundle = bundle
            self.environment = environment
            self.now = now
            self.respectsPauses = respectsPauses
        }
    }

    /// A place among all lines.
    public struct Place: Sendable, Hashable {
        var bucket: Int32
        var stream: String
        /// Before all of them.
        public static let start = Place(bucket: -1, stream: "")
    }

    /// Lines in doubt among the next few lines after a place, and the place to go on from; `nil`
    /// when there are no more lines.
    public func page(_ scope: Scope, after place: Place)
        async throws(LedgerError) -> (lines: [LineInDoubt], next: Place?)
    {
        let rows = try await pool.read(
            LinesInDoubt.sql,
            [
                .int4(place.bucket), .text(place.stream), .text(scope.bundle),
                .text(scope.environment.name), .int8(scope.now.milliseconds),
                .int8(LinesInDoubt.leeway),
                .int8(scope.respectsPauses ? scope.now.milliseconds : .max),
            ])
        do throws(PostgresError) {
            var lines: [LineInDoubt] = []
            var next: Place?
            for row in rows {
                let stream = try row.text(1)
                if try row.bool(4) { next = Place(bucket: try row.int4(0), stream: stream) }
                guard let doubt = try row.textIfAny(2).flatMap(LineInDoubt.Doubt.init) else {
                    continue
                }
                lines.append(
                    LineInDoubt(
                        stream: StreamID(name: stream), doubt: doubt, times: try row.int8(3)))
            }
            return (lines, next)
        } catch {
            throw .database(error)
        }
    }

    /// $1 and $2 the place, $3 the app, $4 the environment, $5 now, $6 the leeway, $7 until when
    /// a pause may last. A walk along the primary key: the rows in doubt, and the last one.
    private static let sql = """
        with page as materialized (select bucket, stream, bundle, environment, \
        state->'periods'->-1 as period, state->'intents'->-1 as intent \
        from projection.line where generation = (select generation from projection.generation \
        where projection = 'subscriptions' and is_live) \
        and (bucket, stream) > ($1::int4::smallint, $2) \
        order by bucket, stream limit \(pageSize)), \
        dated as (select bucket, stream, bundle, environment, period, \
        (period->>'until')::bigint as paid, \
        greatest((period->>'until')::bigint, (period->'grace'->>'until')::bigint) as due, \
        (intent->>'signedAt')::bigint as heard, \
        (period->'retries'->>-1)::bigint as retried, \
        row_number() over (order by bucket desc, stream desc) = 1 as is_last from page), \
        doubted as (select bucket, stream, is_last, case \
        when bundle is distinct from $3 or environment <> $4 then null \
        when period->>'flags' like '%"successor_missing"%' then 'successor_missing' \
        when period->>'shape' = 'subscription' and period->>'ending' is null \
        and due + $6 <= $5 and (heard is null or heard < due \
        or (retried + $6 <= $5 and heard < retried)) then 'overdue' end as doubt from dated) \
        select doubted.bucket::int4, doubted.stream, \
        case when coalesce(inquiry.next_at, 0) <= $7 then doubt end, \
        coalesce(inquiry.times, 0), is_last \
        from doubted left join operation.inquiry on doubt is not null \
        and inquiry.bucket = doubted.bucket and inquiry.stream = doubted.stream \
        where doubt is not null or is_last order by doubted.bucket, doubted.stream
        """
}
