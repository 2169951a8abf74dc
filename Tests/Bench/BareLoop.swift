import Domain
import Foundation
import Postgres

/// What a program without a ledger's duties would do with the same rows: 1,000 at a time, into
/// the same tables, one commit each, over one blocking connection.
struct BareLoop {
    private let source: BlockingConnection
    private let target: BlockingConnection
    private var position: Int64 = 0
    private var batch: Int64 = 0
    private var tokens: Set<Int64> = []
    private var lastEvidence: Set<[UInt8]> = []

    static let size = 1_000

    /// A loop that repeats in one database what was appended to another.
    init(from source: String, to target: String) async throws {
        self.source = try await BlockingConnection.open(source)
        self.target = try await BlockingConnection.open(target)
    }

    /// Closes both sessions.
    func close() async {
        await source.close()
        await target.close()
    }

    /// Inserts what was appended since the last time.
    ///
    /// - Returns: how many entries, and how long the inserts took; reading is not counted.
    mutating func repeatNews() async throws -> (entries: Int, seconds: Double) {
        var transactions: [[Statement]] = []
        var entries = 0
        while let (statements, count) = try await nextTransaction() {
            transactions.append(statements)
            entries += count
        }
        let start = ContinuousClock.now
        for statements in transactions {
            try await target.query("begin")
            for statement in statements {
                try await target.query(statement.sql, statement.parameters)
            }
            try await target.commit()
        }
        return (entries, start.secondsSince)
    }

    /// How many entries a batch of the writer has on average.
    func entriesPerBatch() async throws -> Double {
        try await source.query(
            "select coalesce(avg(last_position - first_position + 1), 0)::float8 from ledger.batch"
        ).only().double(0)
    }

    private mutating func nextTransaction() async throws -> ([Statement], Int)? {
        let rows = try await source.query(
            """
            select bucket::int, position, stream, revision, kind, event_key, environment, subject, \
            occurred_at, signed_at, observed_at, recorded_at, source, evidence, body::text, digest \
            from ledger.entry where position > $1 order by position limit \(BareLoop.size)
            """, [.int8(position)])
        guard !rows.isEmpty else { return nil }
        let first = position + 1
        position += Int64(rows.count)
        batch += 1
        var statements = [pen(first)]
        let named = Set(try rows.compactMap { try $0.bytesIfAny(13) })
        // The entries of one notification may be in two transactions.
        let digests = named.subtracting(lastEvidence)
        lastEvidence = named
        if !digests.isEmpty {
            statements += try await evidence(digests.sorted { $0.lexicographicallyPrecedes($1) })
        }
        statements.append(try entries(rows))
        return (statements, rows.count)
    }

    private func pen(_ first: Int64) -> Statement {
        Statement(
            """
            insert into ledger.batch (number, previous, previous_last, first_position, \
            last_position, recorded_at, digest, root, frontier) \
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """,
            [
                .int8(batch), batch == 1 ? .null : .int8(batch - 1),
                batch == 1 ? .null : .int8(first - 1), .int8(first), .int8(position),
                .int8(Instant.now.milliseconds), .bytes([UInt8](repeating: 1, count: 32)),
                .bytes([UInt8](repeating: 2, count: 32)),
                .bytes([UInt8](repeating: 3, count: 256)),
            ])
    }

    private func entries(_ rows: Rows) throws -> Statement {
        let columns = """
            position, stream, revision, kind, event_key, environment, subject, occurred_at, \
            signed_at, observed_at, recorded_at, source, evidence, body, digest
            """
        return Statement(
            """
            insert into ledger.entry (bucket, \(columns)) \
            select bucket::smallint, \(columns) from unnest($1::int4[], $2::bigint[], \
            $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[], \
            $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], \
            $14::bytea[], $15::json[], $16::bytea[]) as entry (bucket, \(columns))
            """,
            [
                .int4s(try rows.map { try $0.int4(0) }), .int8s(try rows.map { try $0.int8(1) }),
                .texts(try rows.map { try $0.text(2) }), .int8s(try rows.map { try $0.int8(3) }),
                .texts(try rows.map { try $0.text(4) }), .texts(try rows.map { try $0.text(5) }),
                .texts(try rows.map { try $0.textIfAny(6) }),
                .int8sIfAny(try rows.map { try $0.int8IfAny(7) }),
                .int8s(try rows.map { try $0.int8(8) }),
                .int8sIfAny(try rows.map { try $0.int8IfAny(9) }),
                .int8s(try rows.map { try $0.int8(10) }),
                .int8s(try rows.map { try $0.int8(11) }),
                .texts(try rows.map { try $0.text(12) }),
                .byteas(try rows.map { try $0.bytesIfAny(13) }),
                .jsons(try rows.map { try $0.text(14) }),
                .byteas(try rows.map { try $0.bytes(15) }),
            ])
    }

    /// Evidence with the certificates and tokens that it needs; each has one token.
    private mutating func evidence(_ digests: [[UInt8]]) async throws -> [Statement] {
        let pieces = try await source.query(
            """
            select bucket::int, digest, received_at, source, template, certificates, tokens[1] \
            from ledger.evidence where digest = any($1)
            """, [.byteas(digests)])
        guard let one = pieces.first else { return [] }
        let certificates = try one.byteas(5)
        let headers = try await source.query(
            "select digest, header from ledger.certificates where digest = any($1)",
            [.byteas(certificates)])
        var statements = [
            Statement(
                """
                insert into ledger.certificates (digest, header) \
                select * from unnest($1::bytea[], $2::bytea[]) on conflict do nothing
                """,
                [
                    .byteas(try headers.map { try $0.bytes(0) }),
                    .byteas(try headers.map { try $0.bytes(1) }),
                ])
        ]
        let numbers = try pieces.map { try $0.int8(6) }
        let new = numbers.filter { tokens.insert($0).inserted }
        if !new.isEmpty {
            let rows = try await source.query(
                "select number, token from operation.token where number = any($1)", [.int8s(new)])
            statements.append(
                Statement(
                    """
                    insert into operation.token (number, token) \
                    select * from unnest($1::bigint[], $2::text[])
                    """,
                    [
                        .int8s(try rows.map { try $0.int8(0) }),
                        .texts(try rows.map { try $0.text(1) }),
                    ]))
        }
        statements.append(
            Statement(
                """
                insert into ledger.evidence \
                (bucket, digest, received_at, source, template, certificates, tokens) \
                select bucket::smallint, digest, received_at, source, template, $6::bytea[], \
                array[token] from unnest($1::int4[], $2::bytea[], $3::bigint[], $4::text[], \
                $5::bytea[], $7::bigint[]) as piece \
                (bucket, digest, received_at, source, template, token)
                """,
                [
                    .int4s(try pieces.map { try $0.int4(0) }),
                    .byteas(try pieces.map { try $0.bytes(1) }),
                    .int8s(try pieces.map { try $0.int8(2) }),
                    .texts(try pieces.map { try $0.text(3) }),
                    .byteas(try pieces.map { try $0.bytes(4) }), .byteas(certificates),
                    .int8s(numbers),
                ]))
        return statements
    }
}
