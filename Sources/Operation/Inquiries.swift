public import Postgres

/// Which lines in doubt were asked about, and when each may be asked about next.
public struct Inquiries: Sendable {
    private let pool: ConnectionPool

    /// The inquiries that a pool's database notes.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// Notes that a line is asked about now, unless somebody else has begun to.
    ///
    /// - Parameters:
    ///   - next: when it may be asked about again. Units: milliseconds since 1970, as everywhere
    ///     here.
    ///   - pauses: up to when the pause of an earlier one may last.
    /// - Returns: whether to ask.
    public func begin(bucket: Int32, stream: String, now: Int64, next: Int64, pauses: Int64)
        async throws(PostgresError) -> Bool
    {
        let rows = try await pool.query(
            """
            insert into operation.inquiry as known (bucket, stream, times, asked_at, next_at) \
            values ($1::int4::smallint, $2, 1, $3, $4) on conflict (bucket, stream) do update set \
            times = known.times + 1, asked_at = excluded.asked_at, next_at = excluded.next_at \
            where known.next_at <= $5 returning 1
            """, [.int4(bucket), .text(stream), .int8(now), .int8(next), .int8(pauses)])
        return !rows.isEmpty
    }

    /// Asks about a line no earlier than then.
    public func postpone(bucket: Int32, stream: String, until next: Int64)
        async throws(PostgresError)
    {
        try await pool.query(
            """
            update operation.inquiry set next_at = $3 \
            where bucket = $1::int4::smallint and stream = $2
            """, [.int4(bucket), .text(stream), .int8(next)])
    }
}
