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

    /// A forgery, without its text.
    public struct Sample: Sendable {
        /// SHA-256 of the text. Shape: 64 hex digits.
        public var digest: String
        /// When it arrived. Units: milliseconds since 1970.
        public var receivedAt: Int64
        /// Which check failed first.
        public var reason: String
        /// What exactly was found.
        public var detail: String
    }

    /// The newest samples, the newest first.
    public func list(reasons: [String] = [], atMost count: Int) async throws(PostgresError)
        -> [Sample]
    {
        let rows = try await pool.query(
            """
            select encode(digest, 'hex'), received_at, reason, detail from operation.sample \
            where cardinality($1::text[]) = 0 or reason = any($1) \
            order by received_at desc, digest limit \(count)
            """, [.texts(reasons)])
        var samples: [Sample] = []
        for row in rows {
            samples.append(
                Sample(
                    digest: try row.text(0), receivedAt: try row.int8(1), reason: try row.text(2),
                    detail: try row.text(3)))
        }
        return samples
    }

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
