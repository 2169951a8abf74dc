import Crypto
import Postgres

/// What two generations are compared by: for each table how many rows there are, and the sums of
/// their hashes, in whatever order and in however many pieces they were added up.
struct GenerationDigest: Sendable, Equatable {
    /// Of rows of one table.
    struct Sums: Sendable, Equatable {
        var count: Int64 = 0
        var high: Int128 = 0
        var low: Int128 = 0

        static func += (left: inout Sums, right: Sums) {
            left.count += right.count
            left.high += right.high
            left.low += right.low
        }

        static func - (left: Sums, right: Sums) -> Sums {
            Sums(
                count: left.count - right.count, high: left.high - right.high,
                low: left.low - right.low)
        }
    }

    private var tables: [(name: String, sums: Sums)]

    /// Of no rows.
    init(_ projection: any Projection) { tables = projection.tables.map { ($0.name, Sums()) } }

    /// Adds rows of a table.
    mutating func add(_ sums: Sums, to table: ProjectionTable) {
        for index in tables.indices where tables[index].name == table.name {
            tables[index].sums += sums
        }
    }

    /// The digest of the rows of both.
    func adding(_ other: GenerationDigest) -> GenerationDigest {
        var sum = self
        for index in tables.indices { sum.tables[index].sums += other.tables[index].sums }
        return sum
    }

    /// SHA-256 in hex.
    var text: String {
        SHA256.digest(
            of: tables.map { "\($0.name) \($0.sums.count) \($0.sums.high) \($0.sums.low)\n" }
                .joined()
        ).description
    }

    static func == (left: GenerationDigest, right: GenerationDigest) -> Bool {
        left.tables.elementsEqual(right.tables) { $0 == $1 }
    }
}

/// Rows of a table whose keys lie beyond one and up to another.
struct RowPiece: Sendable {
    let table: ProjectionTable
    /// `nil`: from the first row on.
    let after: [Parameter]?
    /// `nil`: to the last row.
    let last: [Parameter]?

    /// The first piece of a table, or the one after another; `nil` after the last one.
    ///
    /// - Parameter size: how many rows it has in the generation that it is cut from.
    static func next(
        _ table: ProjectionTable, after piece: RowPiece?, of generation: Int64, size: Int,
        _ session: BlockingConnection
    ) async throws(PostgresError) -> RowPiece? {
        if let piece, piece.last == nil { return nil }
        var place = Place(generation)
        let keys = table.columns.filter(\.isKey)
        let names = keys.map(\.name).joined(separator: ", ")
        place.add(keys, ">", piece?.last)
        let rows = try await session.query(
            """
            select \(names) from projection.\(table.name) where \(place.condition) \
            order by \(names) offset \(size - 1) limit 1
            """, place.parameters)
        let last = try rows.first.map { row throws(PostgresError) in
            var values: [Parameter] = []
            for (index, key) in keys.enumerated() {
                values.append(try key.type.value(row, index))
            }
            return values
        }
        return RowPiece(table: table, after: piece?.last, last: last)
    }

    /// A statement that reads its sums in a generation, and something else of the same snapshot.
    func sums(in generation: Int64, beside expression: String = "null::int8") -> Statement {
        var place = Place(generation)
        let keys = table.columns.filter(\.isKey)
        place.add(keys, ">", after)
        place.add(keys, "<=", last)
        let names = table.columns.map(\.name).joined(separator: ", ")
        let half = "coalesce(sum(('x' || substr(hash, %, 16))::bit(64)::bigint::numeric), 0)::text"
        return Statement(
            """
            select (\(expression)), count(*), \(half.replacing("%", with: "1")), \
            \(half.replacing("%", with: "17")) from (select md5(row(\(names))::text) as hash \
            from projection.\(table.name) where \(place.condition)) as hashed
            """, place.parameters)
    }

    /// What `sums` answers.
    static func sums(_ row: Row) throws(PostgresError) -> GenerationDigest.Sums {
        guard let high = Int128(try row.text(2)), let low = Int128(try row.text(3)) else {
            throw .unexpectedAnswer("a sum of hashes is no whole number")
        }
        return GenerationDigest.Sums(count: try row.int8(1), high: high, low: low)
    }
}

/// Where rows of a generation are, as a condition.
private struct Place {
    private(set) var condition = "generation = $1"
    private(set) var parameters: [Parameter]

    init(_ generation: Int64) { parameters = [.int8(generation)] }

    mutating func add(
        _ keys: [ProjectionTable.Column], _ relation: String, _ values: [Parameter]?
    ) {
        guard let values else { return }
        let names = keys.map(\.name).joined(separator: ", ")
        let places = values.indices.map { "$\(parameters.count + 1 + $0)" }
        condition += " and (\(names)) \(relation) (\(places.joined(separator: ", ")))"
        parameters += values
    }
}

extension ProjectionTable.ColumnType {
    /// A value of a key.
    fileprivate func value(_ row: Row, _ column: Int) throws(PostgresError) -> Parameter {
        switch self {
        case .int2: .int2(Int16(truncatingIfNeeded: try row.int8(column)))
        case .int8: .int8(try row.int8(column))
        case .text: .text(try row.text(column))
        case .bool, .json, .int8s, .texts: throw .unexpectedAnswer("a key of type \(self)")
        }
    }
}
