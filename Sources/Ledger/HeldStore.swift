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
    ///
    /// - Parameter presenter: the backend's id of the customer who presented it, who is kept as a
    ///   number. Everybody who presents a piece that is held already is noted once.
    public func keep(
        _ evidence: Evidence, reason: String, detail: String, presenter: String? = nil,
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
        var number: CustomerNumber?
        if let presenter { number = try await self.number(of: presenter, draw: draw) }
        let answers = try await pool.atomically(stored.heldStatements(reason, detail, number))
        guard answers.last?.isEmpty == true else { return .stored }
        if let number { try await note(number, presents: stored) }
        return .known
    }

    /// Notes that a customer presented what is held already.
    private func note(_ customer: CustomerNumber, presents stored: StoredEvidence)
        async throws(PostgresError)
    {
        try await pool.query(
            """
            insert into operation.redelivery (bucket, stream, event_key, copies, last_at) \
            select $1::int4::smallint, $2, $3, 1, $4 where not exists (select from ledger.held \
            where bucket = $1::int4::smallint and digest = $5 and presented_by = $6) \
            on conflict do nothing
            """,
            [
                .int4(stored.bucket), .text(HeldStore.stream + stored.evidence.digest.hex),
                .text(HeldStore.presented + String(customer.number)),
                .int8(stored.evidence.receivedAt.milliseconds),
                .bytes(Hex.decode(stored.evidence.digest.hex) ?? []), .int8(customer.number),
            ])
    }

    /// Under what name, before its digest, copies of a held piece are counted.
    static let stream = "held/"
    /// Under what key, before a customer's number, a presenter of a held piece is noted.
    static let presented = "presented/"

    /// The number of a customer, drawn unless there is one for any spelling of the id.
    private func number(of id: String, draw: @Sendable () -> CustomerNumber)
        async throws(PostgresError) -> CustomerNumber
    {
        let spellings = Spellings.of(id)
        try await pool.query(
            """
            insert into operation.customer (number, id) \
            select coalesce((select number from operation.token where token = $3), $1), $2 \
            where not exists (select from operation.customer where id = any($4::text[])) \
            on conflict do nothing
            """,
            [.int8(draw().number), .text(id), .text(Spellings.token(id)), .texts(spellings)])
        let rows = try await pool.query(
            """
            select number from operation.customer where id = any($1::text[]) \
            order by array_position($1::text[], id) limit 1
            """, [.texts(spellings)])
        return CustomerNumber(try rows.only().int8(0))
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
    fileprivate func heldStatements(
        _ reason: String, _ detail: String, _ presenter: CustomerNumber?
    ) -> [Statement] {
        var statements = StoredEvidence.statements([self]).dropLast()
        statements.append(
            Statement(
                """
                insert into ledger.held (bucket, digest, received_at, source, reason, detail, \
                template, certificates, tokens, presented_by) \
                values ($1::int4::smallint, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
                on conflict do nothing returning 1
                """,
                [
                    .int4(bucket), .bytes(Hex.decode(evidence.digest.hex) ?? []),
                    .int8(evidence.receivedAt.milliseconds), .text(evidence.source.rawValue),
                    .text(reason), .text(detail), .bytes(evidence.template),
                    .byteas(evidence.certificates.keys.sorted().map { Hex.decode($0.hex) }),
                    .int8s(tokens.map(\.number)), presenter.map { .int8($0.number) } ?? .null,
                ]))
        return Array(statements)
    }
}
