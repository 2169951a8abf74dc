import Crypto
public import Domain
public import Postgres

/// Evidence that is validly signed and not (yet) believed.
public struct HeldStore: Sendable {
    private let pool: ConnectionPool

    /// The most pieces that are kept for the reason `wrong_app`.
    public static let wrongAppLimit: Int64 = 10_000
    /// The most pieces that are kept for all other reasons.
    public static let limit: Int64 = 100_000

    /// The store in a pool's database.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// What became of a piece.
    public enum Kept: Sendable {
        /// It is durable.
        case stored
        /// This very text was held already.
        case known
        /// Too many are held for its reason.
        case full
    }

    /// Keeps a piece of evidence for a reason; durable when it returns.
    public func keep(
        _ evidence: Evidence, reason: String, detail: String,
        draw: @Sendable () -> CustomerNumber
    ) async throws(PostgresError) -> Kept {
        let count = try await pool.query(
            reason == "wrong_app"
                ? "select count(*) from ledger.held where reason = 'wrong_app'"
                : "select count(*) from ledger.held where reason <> 'wrong_app'")
        let limit = reason == "wrong_app" ? HeldStore.wrongAppLimit : HeldStore.limit
        if try count.only().int8(0) >= limit { return .full }
        let tokens = try await numbers(evidence.tokens.map { $0.lowercased() }, draw: draw)
        let stored = StoredEvidence(
            bucket: Bucket.of(StreamID(name: evidence.digest.hex)), evidence: evidence,
            tokens: tokens)
        let answers = try await pool.atomically(stored.heldStatements(reason, detail))
        return answers.last?.isEmpty == true ? .known : .stored
    }

    private func numbers(_ tokens: [String], draw: @Sendable () -> CustomerNumber)
        async throws(PostgresError) -> [CustomerNumber]
    {
        guard !tokens.isEmpty else { return [] }
        try await pool.query(
            """
            insert into operation.token (number, token) \
            select coalesce((select min(customer.number) from operation.customer \
            where customer.id in (drawn.token, upper(drawn.token))), drawn.number), drawn.token \
            from unnest($1::bigint[], $2::text[]) as drawn (number, token) on conflict do nothing
            """, [.int8s(tokens.map { _ in draw().number }), .texts(tokens)])
        let rows = try await pool.query(
            """
            select number from unnest($1::text[]) with ordinality as wanted (token, place) \
            join operation.token using (token) order by place
            """, [.texts(tokens)])
        var numbers: [CustomerNumber] = []
        for row in rows { numbers.append(CustomerNumber(try row.int8(0))) }
        return numbers
    }
}

extension StoredEvidence {
    /// The statements that hold this piece; the last one answers a row when it was new.
    fileprivate func heldStatements(_ reason: String, _ detail: String) -> [Statement] {
        var statements = StoredEvidence.statements([self]).dropLast()
        statements.append(
            Statement(
                """
                insert into ledger.held (bucket, digest, received_at, source, reason, detail, \
                template, certificates, tokens) \
                values ($1::int4::smallint, $2, $3, $4, $5, $6, $7, $8, $9) \
                on conflict do nothing returning 1
                """,
                [
                    .int4(bucket), .bytes(Hex.decode(evidence.digest.hex) ?? []),
                    .int8(evidence.receivedAt.milliseconds), .text(evidence.source.rawValue),
                    .text(reason), .text(detail), .bytes(evidence.template),
                    .byteas(evidence.certificates.keys.sorted().map { Hex.decode($0.hex) }),
                    .int8s(tokens.map(\.number)),
                ]))
        return Array(statements)
    }
}
