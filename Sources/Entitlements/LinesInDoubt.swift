public import Domain
public import Ledger
public import Postgres

/// Finds the projected lines that are in doubt, the latest first.
public struct LinesInDoubt: Sendable {
    private let pool: ConnectionPool

    /// How long after the end of the paid time a renewal may take to be heard of.
    /// Units: milliseconds.
    public static let leeway: Int64 = 10 * 60_000

    /// A reader of a pool's database.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// A line in doubt.
    public struct Found: Sendable, Hashable {
        /// The line.
        public var stream: StreamID
        /// What is not known of it.
        public var kind: Doubt.Kind
        /// How often Apple was asked about it before.
        public var times: Int64
    }

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

    /// A place among the lines in doubt.
    public struct Place: Sendable, Hashable {
        fileprivate var from: Int64
        fileprivate var bucket: Int32
        fileprivate var stream: String
        /// Before all of them.
        public static let start = Place(from: .max, bucket: 0, stream: "")
    }

    /// Lines in doubt among the next few after a place, and the place to go on from; `nil` when
    /// there are no more.
    ///
    /// - Shape: at most `count` lines are looked at.
    public func page(_ scope: Scope, after place: Place, atMost count: Int)
        async throws(LedgerError) -> (lines: [Found], next: Place?)
    {
        let rows = try await pool.read(
            """
            select line.bucket::int4, line.stream, doubt_from, doubt, \
            coalesce(inquiry.times, 0), coalesce(inquiry.next_at, 0) <= $7 \
            from projection.line left join lateral (select times, next_at \
            from operation.inquiry where inquiry.bucket = line.bucket \
            and inquiry.stream = line.stream limit 1) as inquiry on true \
            where generation = (select generation from projection.generation \
            where projection = 'subscriptions' and is_live) \
            and bundle = $1 and environment = $2 and doubt is not null and doubt_from <= $3 \
            and (doubt_from, line.bucket, line.stream) < ($4, $5::int4::smallint, $6) \
            order by doubt_from desc, line.bucket desc, line.stream desc limit \(count)
            """,
            [
                .text(scope.bundle), .text(scope.environment.name),
                .int8(scope.now.adding(milliseconds: -LinesInDoubt.leeway).milliseconds),
                .int8(place.from), .int4(place.bucket), .text(place.stream),
                .int8(scope.respectsPauses ? scope.now.milliseconds : .max),
            ])
        do throws(PostgresError) {
            var lines: [Found] = []
            var next: Place?
            for row in rows {
                let stream = try row.text(1)
                next = Place(
                    from: try row.int8(2), bucket: try row.int4(0), stream: stream)
                guard try row.bool(5), let kind = Doubt.Kind(rawValue: try row.text(3)) else {
                    continue
                }
                lines.append(
                    Found(stream: StreamID(name: stream), kind: kind, times: try row.int8(4)))
            }
            return (lines, next)
        } catch {
            throw .database(error)
        }
    }
}
