public import Postgres

/// How far the record was compared with what Apple sent, by app and environment.
public struct Comparisons: Sendable {
    private let pool: ConnectionPool

    /// The comparisons that a pool's database notes.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// Begins a comparison unless one began lately, here or in another daemon.
    ///
    /// - Parameter lately: the instant since which none may have begun. Units: milliseconds since
    ///   1970, as everywhere here.
    /// - Returns: up to when all was compared before; `nil` inside when nothing was, `nil` outside
    ///   when it must not begin.
    public func begin(
        bundle: String, environment: String, now: Int64, unlessSince lately: Int64
    ) async throws(PostgresError) -> Int64?? {
        let rows = try await pool.query(
            """
            insert into operation.comparison as known (bundle, environment, begun_at) \
            values ($1, $2, $3) on conflict (bundle, environment) do update \
            set begun_at = excluded.begun_at where known.begun_at < $4 returning compared_to
            """, [.text(bundle), .text(environment), .int8(now), .int8(lately)])
        guard let row = rows.first else { return .none }
        return .some(try row.int8IfAny(0))
    }

    /// Says that all before an instant is compared.
    public func reached(_ instant: Int64, bundle: String, environment: String)
        async throws(PostgresError)
    {
        try await pool.query(
            """
            update operation.comparison set compared_to = greatest(compared_to, $3) \
            where bundle = $1 and environment = $2
            """, [.text(bundle), .text(environment), .int8(instant)])
    }

    /// Lets the next comparison begin at once: this one was not finished.
    public func release(bundle: String, environment: String) async throws(PostgresError) {
        try await pool.query(
            """
            update operation.comparison set begun_at = 0 where bundle = $1 and environment = $2
            """, [.text(bundle), .text(environment)])
    }
}
