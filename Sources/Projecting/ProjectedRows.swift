import Domain
import Ledger
public import Postgres

/// Rows that folds made, not yet written.
public struct ProjectedRows: Sendable {
    /// A stream that does not follow the record.
    struct Halt: Sendable {
        let stream: StreamID
        let position: Position
        let reason: String
    }

    private let tables: [ProjectionTable]
    private(set) var rows: [[[Parameter]]]
    private(set) var halts: [Halt] = []
    /// About how much memory they take.
    private(set) var byteCount = 0
    /// The part of each table that the stream being added has made.
    private var marks: [Int] = []
    private var hasUnwritable = false

    init(_ tables: [ProjectionTable]) {
        self.tables = tables
        rows = Array(repeating: [], count: tables.count)
    }

    /// Whether nothing is to be written.
    var isEmpty: Bool { halts.isEmpty && rows.allSatisfy(\.isEmpty) }

    /// Adds a row; its values are in the order of the table's columns.
    public mutating func add(to table: ProjectionTable, _ values: [Parameter]) {
        guard let place = tables.firstIndex(where: { $0.name == table.name }) else {
            preconditionFailure("the projection has no table \(table.name)")
        }
        precondition(values.count == table.columns.count, "a value for each column")
        for value in values {
            switch value {
            case .text(let text), .json(let text):
                byteCount += text.utf8.count + 32
                // The database holds no NUL; what says one must not halt its neighbours.
                if text.utf8.contains(0) { hasUnwritable = true }
            default: byteCount += 32
            }
        }
        rows[place].append(values)
    }

    /// Adds what a fold made; a row that no table can hold halts the stream instead.
    mutating func add(_ fold: any StreamFold, of stream: StreamID, since position: Position) {
        marks = rows.map(\.count)
        hasUnwritable = false
        fold.addRows(since: position, to: &self)
        if let place = fold.haltedAt {
            halts.append(
                Halt(stream: stream, position: place, reason: "entry \(place) cannot be read"))
        } else if hasUnwritable {
            halts.append(
                Halt(stream: stream, position: position, reason: "its rows hold a NUL character"))
        }
        guard hasUnwritable else { return }
        for (place, mark) in marks.enumerated() { rows[place].removeSubrange(mark...) }
    }

    /// Statements that write the rows of a generation.
    ///
    /// - Parameter old: what the same streams have in tables of whole streams; `nil`: all that
    ///   `streams` have there goes.
    func changes(
        from old: ProjectedRows?, of streams: [StreamID], generation: Int64
    ) -> [Statement] {
        var statements: [Statement] = []
        for (place, table) in tables.enumerated() {
            var rows = rows[place]
            if table.isWhole, let old {
                let width = table.columns.count { $0.isKey }
                var gone: [[Parameter]: [Parameter]] = [:]
                for row in old.rows[place] { gone[Array(row.prefix(width))] = row }
                rows.removeAll { row in
                    gone.removeValue(forKey: Array(row.prefix(width))) == row
                }
                if !gone.isEmpty {
                    statements.append(table.removal(Array(gone.keys), generation: generation))
                }
            } else if table.isWhole, !streams.isEmpty {
                statements.append(table.clearing(streams, generation: generation))
            }
            if !rows.isEmpty { statements.append(table.upsert(rows, generation: generation)) }
        }
        return statements
    }

    /// Each table's rows as a copy takes them.
    func copies(generation: Int64) throws(PostgresError) -> [(sql: String, bytes: [UInt8])] {
        var copies: [(String, [UInt8])] = []
        for (table, rows) in zip(tables, rows) where !rows.isEmpty {
            var copy = CopyRows()
            for row in rows { try copy.append([.int8(generation)] + row) }
            copies.append((table.copy, copy.finish()))
        }
        return copies
    }
}

/// The list of streams that do not follow the record.
enum HaltList {
    /// Strikes streams off and writes down those that are halted.
    static func statements(
        _ halts: [ProjectedRows.Halt], released streams: [StreamID], _ projection: String,
        generation: Int64
    ) -> [Statement] {
        var statements: [Statement] = []
        if !streams.isEmpty {
            statements.append(
                Statement(
                    """
                    delete from projection.halted where projection = $1 and generation = $2 \
                    and stream = any($3)
                    """,
                    [.text(projection), .int8(generation), .texts(streams.map(\.name))]))
        }
        guard !halts.isEmpty else { return statements }
        statements.append(
            Statement(
                """
                insert into projection.halted (projection, generation, bucket, stream, position, \
                reason) select $1, $2, bucket::smallint, stream, position, reason from \
                unnest($3::int4[], $4::text[], $5::bigint[], $6::text[]) \
                as found (bucket, stream, position, reason) \
                on conflict (projection, generation, bucket, stream) \
                do update set position = excluded.position, reason = excluded.reason
                """,
                [
                    .text(projection), .int8(generation),
                    .int4s(halts.map { Bucket.of($0.stream) }), .texts(halts.map(\.stream.name)),
                    .int8s(halts.map(\.position.number)), .texts(halts.map(\.reason)),
                ]))
        return statements
    }
}
