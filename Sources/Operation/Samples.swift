import Crypto
public import Postgres

/// Forgeries that were offered, the newest few, for people to look at.
public struct Samples: Sendable {
    private let pool: ConnectionPool

    /// How many are kept.
    public static let limit = 1_000
    /// The longest text that is kept whole. Units: bytes.
    public static let longest = 64 * 1_024

    /// The samples that a pool's database stores.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// Keeps a forgery, and drops the oldest beyond the limit.
    public func keep(_ original: [UInt8], reason: String, detail: String, now: Int64)
        async throws(PostgresError)
    {
        try await pool.atomically([
            Statement(
                """
                insert into operation.sample (digest, received_at, reason, detail, original) \
                values ($1, $2, $3, $4, $5) on conflict do nothing
                """,
                [
                    .bytes(SHA256.digest(of: original).bytes), .int8(now), .text(reason),
                    .text(detail), .bytes(Array(original.prefix(Samples.longest))),
                ]),
            Statement(
                """
                delete from operation.sample where digest in (select digest from operation.sample \
                order by received_at desc, digest offset \(Samples.limit))
                """),
        ])
    }
}
