import Domain
import Ledger
import Postgres
import Projecting
import Testing

/// Keeps words and numbers that arrays have trouble with.
private struct Shelf: Projection {
    static let books = ProjectionTable(
        "shelf", key: ["stream": .text], ["words": .texts, "numbers": .int8s, "none": .int8s])
    static let words: [String?] = [
        "", "NULL", nil, "a,b", "{c}", "\"said\"", "back\\slash", " blank ", "ö\n", "'",
    ]

    let name = "shelf"
    let edition: Int64 = 1
    let tables = [Shelf.books]

    func fold(of stream: StreamID) -> (any StreamFold)? { Fold(stream: stream) }

    private struct Fold: StreamFold {
        static let needsHistory = true

        let stream: StreamID
        var count: Int64 = 0
        let haltedAt: Position? = nil

        mutating func apply(_ entry: Entry) { count += 1 }

        func addRows(since position: Position, to rows: inout ProjectedRows) {
            rows.add(
                to: Shelf.books,
                [
                    .text(stream.name), .texts(Shelf.words), .int8s([count, .min, .max]), .null,
                ])
        }
    }

    static let table = """
        create table projection.shelf (generation bigint, stream text, words text[],
            numbers bigint[], none bigint[], primary key (generation, stream));
        grant all on projection.shelf to subledger_daemon
        """
}

@Suite("A column of arrays")
struct ArrayColumnTests {
    @Test("holds the same whether rows are changed one by one or copied by a rebuild")
    func sameEitherWay() async throws {
        try await withLedger { ledger in
            try await ledger.superuser.execute(script: Shelf.table)
            let writer = ledger.writer()
            try await ledger.following(Shelf()) {
                for round in 0..<3 {
                    try await appendPurchases(20, from: round * 20, lines: 7, to: writer)
                }
                try await expectSoon(ledger.loop) {
                    try await ledger.number(
                        "select coalesce(sum(numbers[1]), 0)::bigint from projection.shelf") == 60
                }
                let rows = try await ledger.pool.query(
                    "select distinct words, numbers[2:], none is null from projection.shelf")
                let row = try rows.only()
                #expect(try row.texts(0) == Shelf.words)
                #expect(try row.bool(2))
                #expect(try await ledger.rebuild(Shelf()).verify().isEqual == true)
            }
            await writer.close()
        }
    }
}
