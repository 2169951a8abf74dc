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
    /// The values of each table's rows, one row after another.
    private var values: [[Parameter]]
    private(set) var halts: [Halt] = []
    /// About how much memory they take.
    private(set) var byteCount = 0
    /// The part of each table that the stream being added has made.
    private var marks: [Int] = []
    private var hasUnwritable = false

    init(_ tables: [ProjectionTable]) {
        self.tables = tables
        values = Array(repeating: [], count: tables.count)
    }

    /// Whether nothing is to be written.
    var isEmpty: Bool { halts.isEmpty && values.allSatisfy(\.isEmpty) }

    /// Adds a row; its values are in the order of the table's columns.
    public mutating func add(to table: ProjectionTable, _ row: [Parameter]) {
        guard let place = tables.firstIndex(where: { $0.name == table.name }) else {
            preconditionFailure("the projection has no table \(table.name)")
        }
        precondition(row.count == table.columns.count, "a value for each column")
        for value in row {
            switch value {
            case .text(let text), .json(let text):
                byteCount += text.utf8.count + 64
                // The database holds no NUL; what says one must not halt its neighbours.
                if text.containsNUL { hasUnwritable = true }
            case .texts(let texts):
                byteCount += texts.reduce(64) { $0 + ($1?.utf8.count ?? 0) + 24 }
                if texts.contains(where: { $0?.containsNUL == true }) { hasUnwritable = true }
            case .int8s(let numbers): byteCount += 64 + 8 * numbers.count
            default: byteCount += 32
            }
        }
        values[place] += row
    }

    /// Adds what a fold made; a row that no table can hold halts the stream instead.
    mutating func add(_ fold: any StreamFold, of stream: StreamID, since position: Position) {
        marks = values.map(\.count)
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
        for (place, mark) in marks.enumerated() { values[place].removeSubrange(mark...) }
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
            var values = values[place]
            if table.isWhole, let old {
                var gone: [ArraySlice<Parameter>: ArraySlice<Parameter>] = [:]
                for row in table.rows(old.values[place]) { gone[table.key(of: row)] = row }
                values = table.rows(values).filter { row in
                    gone.removeValue(forKey: table.key(of: row)) != row
                }.flatMap(Array.init)
                if !gone.isEmpty {
                    statements.append(table.removal(Array(gone.keys), generation: generation))
                }
            } else if table.isWhole, !streams.isEmpty {
                statements.append(table.clearing(streams, generation: generation))
            }
            if !values.isEmpty { statements.append(table.upsert(values, generation: generation)) }
        }
        return statements
    }

    /// Each table's rows as a copy takes them, piece by piece.
    func copies(generation: Int64) -> [RowCopy] {
        zip(tables, values).compactMap { table, values in
            values.isEmpty ? nil : RowCopy(table, values, generation: generation)
        }
    }
}

/// A table's rows as a copy takes them.
struct RowCopy: Sendable {
    /// Begins the copy.
    let sql: String
    private let values: [Parameter]
    private let width: Int
    private let generation: Int64
    private var place = 0
    private var rows = CopyRows()

    private static let pieceSize = 1 << 17

    init(_ table: ProjectionTable, _ values: [Parameter], generation: Int64) {
        sql = table.copy
        self.values = values
        width = table.columns.count
        self.generation = generation
    }

    /// The next bytes; `nil` after the last.
    mutating func next() throws(PostgresError) -> [UInt8]? {
        guard place <= values.count else { return nil }
        while place < values.count, rows.byteCount < RowCopy.pieceSize {
            rows.begin(columns: width + 1)
            try rows.add(.int8(generation))
            for index in place..<place + width { try rows.add(values[index]) }
            place += width
        }
        guard place == values.count else { return rows.take() }
        place += 1
        return rows.finish()
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
