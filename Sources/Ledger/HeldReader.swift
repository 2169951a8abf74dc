import Crypto
public import Domain
public import Postgres

/// Reads what is held and not yet believed, and notes what was believed later.
public struct HeldReader: Sendable {
    private let pool: ConnectionPool

    /// A reader in a pool's database; noting needs sessions that may write.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// A held piece of evidence.
    public struct Piece: Sendable {
        /// The evidence as it is kept.
        public var evidence: EvidenceReader.Piece
        /// Where it came from.
        public var source: Source
        /// Why it is not believed.
        public var reason: String
        /// What exactly was found.
        public var detail: String
        /// Who presented it, by the backend's ids, the first one first.
        ///
        /// - Shape: without those who were erased since.
        public var presenters: [Presenter]
        /// Its place among the held, by time and digest.
        public var cursor: String
    }

    /// A customer who presented a piece.
    public struct Presenter: Sendable, Hashable {
        /// The backend's id.
        public var customer: String
        /// When this customer presented it first.
        public var at: Instant
    }

    /// Pieces that are still held, the oldest first.
    ///
    /// - Parameters:
    ///   - cursor: the `cursor` of the last piece of the page before.
    ///   - prefix: how the digest begins, in hex.
    public func pieces(
        reasons: [String] = [], prefix: String = "", after cursor: String? = nil,
        atMost count: Int
    ) async throws(LedgerError) -> [Piece] {
        let parts = (cursor ?? "0-").split(separator: "-", omittingEmptySubsequences: false)
        let since = parts.first.flatMap { Int64($0) } ?? 0
        let digest = parts.count == 2 ? Hex.decode(String(parts[1])) ?? [] : []
        let rows = try await pool.read(
            """
            select digest, received_at, template, \
            array(select token.token from unnest(tokens) with ordinality as wanted (number, place) \
            left join operation.token using (number) order by place), source, reason, detail, \
            \(HeldReader.presenters) from ledger.held where (received_at, digest) > ($1, $2) \
            and (cardinality($3::text[]) = 0 or reason = any($3)) \
            and encode(digest, 'hex') like $4 || '%' \
            and not exists (select from operation.release where release.digest = held.digest) \
            order by received_at, digest limit \(count)
            """,
            [.int8(since), .bytes(digest), .texts(reasons), .text(prefix)])
        var pieces: [Piece] = []
        for row in rows { pieces.append(try piece(row)) }
        return pieces
    }

    /// The presenters of a row of `ledger.held`, each as an instant, a space and an id.
    private static let presenters = """
        array(select presented.at || ' ' || customer.id from (\
        select held.presented_by as number, held.received_at as at, 1 as place union all \
        select substr(event_key, \(HeldStore.presented.count + 1))::bigint, last_at, 2 \
        from operation.redelivery where redelivery.bucket = held.bucket and \
        stream = '\(HeldStore.stream)' || encode(held.digest, 'hex')) as presented \
        join operation.customer using (number) order by presented.at, place, number)
        """

    /// Notes that a piece was believed, and at which position it is on the record.
    public func release(_ digest: Fingerprint, at position: Position, now: Instant)
        async throws(LedgerError)
    {
        _ = try await pool.read(
            """
            insert into operation.release (digest, released_at, position) values ($1, $2, $3) \
            on conflict do nothing
            """,
            [
                .bytes(Hex.decode(digest.hex) ?? []), .int8(now.milliseconds),
                .int8(position.number),
            ])
    }

    /// Notes that a piece was refused for good, so that it is not held any more.
    public func refuse(_ digest: Fingerprint, now: Instant) async throws(LedgerError) {
        // No entry has this position.
        try await release(digest, at: .start, now: now)
    }

    private func piece(_ row: Row) throws(LedgerError) -> Piece {
        try wrapped { () throws(PostgresError) in
            let digest = try row.bytes(0)
            let receivedAt = try row.int8(1)
            return Piece(
                evidence: EvidenceReader.Piece(
                    digest: Fingerprint(bytes: digest),
                    receivedAt: Instant(milliseconds: receivedAt), template: try row.bytes(2),
                    tokens: try row.texts(3)),
                source: Source(rawValue: try row.text(4)) ?? .app, reason: try row.text(5),
                detail: try row.text(6),
                presenters: try row.texts(7).compactMap(HeldReader.presenter),
                cursor: "\(receivedAt)-\(Hex.encode(digest))")
        }
    }

    private static func presenter(_ text: String?) -> Presenter? {
        guard let parts = text?.split(separator: " ", maxSplits: 1), parts.count == 2,
            let at = Int64(parts[0])
        else { return nil }
        return Presenter(customer: String(parts[1]), at: Instant(milliseconds: at))
    }
}
