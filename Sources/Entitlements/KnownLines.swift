public import Domain
public import Ledger
public import Postgres

/// Lists the projected lines of an app.
public struct KnownLines: Sendable {
    private let pool: ConnectionPool

    /// A reader over read-only sessions.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// A place among all lines.
    public struct Place: Sendable, Hashable {
        fileprivate var bucket: Int32
        fileprivate var stream: String
        /// Before all of them.
        public static let start = Place(bucket: -1, stream: "")
    }

    /// The lines of an app after a place, in the order of streams within buckets.
    ///
    /// - Shape: at most `count` lines are looked at; the place to go on from is `nil` when there
    ///   are no more.
    public func page(app bundle: String, after place: Place, atMost count: Int)
        async throws(LedgerError) -> (lines: [StreamID], next: Place?)
    {
        let rows = try await pool.read(
            """
            select bucket::int4, stream, bundle from projection.line \
            where generation = (select generation from projection.generation \
            where projection = 'subscriptions' and is_live) \
            and (bucket, stream) > ($1::int4::smallint, $2) order by bucket, stream limit \(count)
            """, [.int4(place.bucket), .text(place.stream)])
        do throws(PostgresError) {
            var lines: [StreamID] = []
            var next: Place?
            for row in rows {
                let stream = try row.text(1)
                next = Place(bucket: try row.int4(0), stream: stream)
                if try row.textIfAny(2) == bundle { lines.append(StreamID(name: stream)) }
            }
            return (lines, next)
        } catch {
            throw .database(error)
        }
    }
}
