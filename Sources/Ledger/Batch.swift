import Crypto
import Domain
import Postgres

/// One append in the making: what a transaction writes.
struct Batch: Sendable {
    let previous: Head
    let head: Head
    let entries: [Entry]
    let statements: [Statement]

    /// The batch of these events after a head.
    init(
        after previous: Head, entries: [Entry], recordedAt: Instant, evidence: [StoredEvidence],
        newTokens: [(String, CustomerNumber)], newCustomers: [(String, CustomerNumber)]
    ) {
        let rows = entries.map(EntryRow.init)
        self.previous = previous
        self.entries = entries
        head = previous.followed(by: rows, recordedAt: recordedAt)
        var statements = [Batch.pen(previous, head)]
        statements += Batch.numbers("operation.token (number, token)", newTokens)
        // A customer whose id is a token is stored under its first spelling.
        statements += Batch.numbers(
            "operation.customer (number, id)", newCustomers, "on conflict (number) do nothing")
        statements += StoredEvidence.statements(evidence)
        statements.append(Batch.insert(rows))
        self.statements = statements
    }

    /// Takes the pen: fails when another writer has taken this number.
    private static func pen(_ previous: Head, _ head: Head) -> Statement {
        let isFirst = previous.number == 0
        return Statement(
            """
            insert into ledger.batch (number, previous, previous_last, first_position, \
            last_position, recorded_at, digest, root, frontier) \
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """,
            [
                .int8(head.number), isFirst ? .null : .int8(previous.number),
                isFirst ? .null : .int8(previous.position.number),
                .int8(previous.position.number + 1), .int8(head.position.number),
                .int8(head.recordedAt.milliseconds), .bytes(Hex.decode(head.digest.hex) ?? []),
                .bytes(head.tree.root.bytes), .bytes(head.tree.frontierBytes),
            ])
    }

    private static func numbers(
        _ table: String, _ new: [(String, CustomerNumber)], _ otherwise: String = ""
    ) -> [Statement] {
        guard !new.isEmpty else { return [] }
        return [
            Statement(
                "insert into \(table) select * from unnest($1::bigint[], $2::text[]) \(otherwise)",
                [.int8s(new.map(\.1.number)), .texts(new.map(\.0))])
        ]
    }

    private static func insert(_ rows: [EntryRow]) -> Statement {
        let events = rows.map(\.entry.event)
        return Statement(
            """
            insert into ledger.entry (bucket, \(EntryRow.columns)) \
            select bucket::smallint, \(EntryRow.columns) from unnest($1::int4[], $2::bigint[], \
            $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[], \
            $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], \
            $14::bytea[], $15::json[], $16::bytea[]) as entry (bucket, \(EntryRow.columns))
            """,
            [
                .int4s(rows.map(\.bucket)), .int8s(rows.map(\.entry.position.number)),
                .texts(events.map(\.stream.name)), .int8s(rows.map(\.entry.revision)),
                .texts(events.map(\.kind.name)), .texts(events.map(\.key)),
                .texts(events.map { $0.environment?.name }),
                .int8sIfAny(events.map { $0.subject?.number }),
                .int8s(events.map(\.occurredAt.milliseconds)),
                .int8sIfAny(events.map { $0.signedAt?.milliseconds }),
                .int8s(events.map(\.observedAt.milliseconds)),
                .int8s(rows.map(\.entry.recordedAt.milliseconds)),
                .texts(events.map(\.source.rawValue)),
                .byteas(events.map { $0.evidence.flatMap { Hex.decode($0.hex) } }),
                .jsons(rows.map(\.body)), .byteas(rows.map(\.digest.bytes)),
            ])
    }
}

/// Evidence with its bucket and its tokens as numbers.
struct StoredEvidence: Sendable {
    let bucket: Int32
    let evidence: Evidence
    let tokens: [CustomerNumber]

    /// The statements that store pieces of evidence, each once.
    static func statements(_ pieces: [StoredEvidence]) -> [Statement] {
        guard !pieces.isEmpty else { return [] }
        var certificates: [Fingerprint: [UInt8]] = [:]
        for piece in pieces {
            certificates.merge(piece.evidence.certificates) { known, _ in known }
        }
        let sorted = certificates.sorted { $0.key < $1.key }
        var statements: [Statement] = []
        if !sorted.isEmpty {
            statements.append(
                Statement(
                    """
                    insert into ledger.certificates (digest, header) \
                    select * from unnest($1::bytea[], $2::bytea[]) on conflict do nothing
                    """,
                    [
                        .byteas(sorted.map { Hex.decode($0.key.hex) }),
                        .byteas(sorted.map(\.value)),
                    ]))
        }
        statements.append(
            Statement(
                """
                insert into ledger.evidence \
                (bucket, digest, received_at, source, template, certificates, tokens) \
                select bucket::smallint, digest, received_at, source, template, \
                \(list("certificates", "bytea", hex: true)), \(list("tokens", "bigint")) \
                from unnest($1::int4[], $2::bytea[], $3::bigint[], $4::text[], $5::bytea[], \
                $6::text[], $7::text[]) as piece \
                (bucket, digest, received_at, source, template, certificates, tokens) \
                on conflict do nothing
                """, parameters(pieces)))
        return statements
    }

    /// A list within a row of lists travels as text with commas.
    static func list(_ column: String, _ type: String, hex: Bool = false) -> String {
        let element = hex ? "decode(element, 'hex')" : "element::\(type)"
        return """
            (select coalesce(array_agg(\(element) order by place), '{}') \
            from unnest(string_to_array(nullif(\(column), ''), ',')) \
            with ordinality as part (element, place))
            """
    }

    private static func parameters(_ pieces: [StoredEvidence]) -> [Parameter] {
        [
            .int4s(pieces.map(\.bucket)),
            .byteas(pieces.map { Hex.decode($0.evidence.digest.hex) }),
            .int8s(pieces.map(\.evidence.receivedAt.milliseconds)),
            .texts(pieces.map(\.evidence.source.rawValue)),
            .byteas(pieces.map(\.evidence.template)),
            .texts(pieces.map(\.certificateList)), .texts(pieces.map(\.tokenList)),
        ]
    }

    /// The digests of the certificates, joined by commas.
    var certificateList: String {
        evidence.certificates.keys.sorted().map(\.hex).joined(separator: ",")
    }

    /// The numbers of the tokens in the template's order, joined by commas.
    var tokenList: String { tokens.map { String($0.number) }.joined(separator: ",") }
}
