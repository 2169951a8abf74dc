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
        statements.append(insert(pieces))
        return statements
    }

    /// Lists do not travel within lists: each row names its slice of one long list.
    private static func insert(_ pieces: [StoredEvidence]) -> Statement {
        var certificates = Slices<Fingerprint>()
        var tokens = Slices<CustomerNumber>()
        for piece in pieces {
            certificates.add(piece.evidence.certificates.keys.sorted())
            tokens.add(piece.tokens)
        }
        return Statement(
            """
            insert into ledger.evidence \
            (bucket, digest, received_at, source, template, certificates, tokens) \
            select bucket::smallint, digest, received_at, source, template, \
            ($6::bytea[])[first_certificate:last_certificate], \
            ($9::bigint[])[first_token:last_token] \
            from unnest($1::int4[], $2::bytea[], $3::bigint[], $4::text[], $5::bytea[], \
            $7::int4[], $8::int4[], $10::int4[], $11::int4[]) as piece \
            (bucket, digest, received_at, source, template, first_certificate, last_certificate, \
            first_token, last_token) on conflict do nothing
            """,
            [
                .int4s(pieces.map(\.bucket)),
                .byteas(pieces.map { Hex.decode($0.evidence.digest.hex) }),
                .int8s(pieces.map(\.evidence.receivedAt.milliseconds)),
                .texts(pieces.map(\.evidence.source.rawValue)),
                .byteas(pieces.map(\.evidence.template)),
                .byteas(certificates.all.map { Hex.decode($0.hex) }),
                .int4s(certificates.first), .int4s(certificates.last),
                .int8s(tokens.all.map(\.number)), .int4s(tokens.first), .int4s(tokens.last),
            ])
    }
}

/// Lists of some rows one behind the other, equal neighbours once; counted from 1.
struct Slices<Element: Equatable> {
    private(set) var all: [Element] = []
    private(set) var first: [Int32] = []
    private(set) var last: [Int32] = []
    private var newest: [Element] = []

    /// Adds a row's list.
    mutating func add(_ elements: [Element]) {
        if elements != newest || first.isEmpty {
            newest = elements
            all += elements
        }
        first.append(Int32(all.count - elements.count + 1))
        last.append(Int32(all.count))
    }
}
