import Crypto
public import Domain
public import Postgres

/// Reads evidence as it is kept: compact, with what its exact text is put together from.
public struct EvidenceReader: Sendable {
    private let pool: ConnectionPool

    /// A reader over read-only sessions.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// A kept piece of evidence.
    public struct Piece: Sendable {
        /// SHA-256 of the text as it arrived.
        public var digest: Fingerprint
        /// When it arrived.
        public var receivedAt: Instant
        /// The compact form.
        public var template: [UInt8]
        /// The account tokens that it leaves out; `nil` where one was erased.
        public var tokens: [String?]
    }

    /// Pieces after a digest, in the order of digests within their buckets.
    public func pieces(after last: (bucket: Int32, digest: [UInt8])?, atMost count: Int)
        async throws(LedgerError) -> (pieces: [Piece], last: (bucket: Int32, digest: [UInt8])?)
    {
        let rows = try await pool.read(
            """
            select bucket::int, digest, received_at, template, \
            array(select token.token from unnest(tokens) with ordinality as wanted (number, place) \
            left join operation.token using (number) order by place) \
            from ledger.evidence where (bucket, digest) > ($1::smallint, $2) \
            order by bucket, digest limit \(count)
            """, [.int4(last?.bucket ?? -1), .bytes(last?.digest ?? [])])
        return try wrapped { () throws(PostgresError) in
            var pieces: [Piece] = []
            var last: (Int32, [UInt8])?
            for row in rows {
                let digest = try row.bytes(1)
                pieces.append(
                    Piece(
                        digest: Fingerprint(bytes: digest),
                        receivedAt: Instant(milliseconds: try row.int8(2)),
                        template: try row.bytes(3), tokens: try row.texts(4)))
                last = (try row.int4(0), digest)
            }
            return (pieces, last)
        }
    }

    /// All header segments, by their digest.
    public func certificates() async throws(LedgerError) -> [Fingerprint: [UInt8]] {
        let rows = try await pool.read("select digest, header from ledger.certificates", [])
        return try wrapped { () throws(PostgresError) in
            var found: [Fingerprint: [UInt8]] = [:]
            for row in rows { found[Fingerprint(bytes: try row.bytes(0))] = try row.bytes(1) }
            return found
        }
    }
}
