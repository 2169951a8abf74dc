import Postgres

/// A table of a projection, in which each row belongs to a generation.
public struct ProjectionTable: Sendable, Equatable {
    /// The type of a column, as COPY takes it.
    public enum ColumnType: Sendable, Equatable {
        case int2, int8, text, json
    }

    /// A column.
    public struct Column: Sendable, Equatable {
        /// Its name.
        public let name: String
        /// Its type.
        public let type: ColumnType
        /// Whether it is part of the key.
        public let isKey: Bool
    }

    /// Its name in the schema `projection`.
    public let name: String
    /// Its columns but `generation`, in the order of values.
    public let columns: [Column]

    /// A table with these columns; the key's come first.
    public init(
        _ name: String, key: KeyValuePairs<String, ColumnType>,
        _ others: KeyValuePairs<String, ColumnType> = [:]
    ) {
        self.name = name
        columns =
            key.map { Column(name: $0.key, type: $0.value, isKey: true) }
            + others.map { Column(name: $0.key, type: $0.value, isKey: false) }
    }

    /// Begins a copy of rows in binary, `generation` first.
    var copy: String {
        let names = (["generation"] + columns.map(\.name)).joined(separator: ", ")
        return "copy projection.\(name) (\(names)) from stdin (format binary)"
    }

    /// Inserts rows, or replaces those of the same keys.
    ///
    /// - Parameter rows: their values, one row after another.
    func upsert(_ rows: [Parameter], generation: Int64) -> Statement {
        let names = columns.map(\.name).joined(separator: ", ")
        let values = columns.map { $0.type == .int2 ? "\($0.name)::smallint" : $0.name }
        let arrays = columns.enumerated().map { "$\($0.offset + 2)::\($0.element.type.array)" }
        let key = columns.filter(\.isKey).map(\.name)
        let changes = columns.filter { !$0.isKey }.map { "\($0.name) = excluded.\($0.name)" }
        return Statement(
            """
            insert into projection.\(name) (generation, \(names)) \
            select $1, \(values.joined(separator: ", ")) \
            from unnest(\(arrays.joined(separator: ", "))) as made (\(names)) \
            on conflict (\((["generation"] + key).joined(separator: ", "))) do \
            \(changes.isEmpty ? "nothing" : "update set " + changes.joined(separator: ", "))
            """,
            [.int8(generation)]
                + columns.indices.map { place in
                    let places = stride(from: place, to: rows.count, by: columns.count)
                    return columns[place].type.array(places.map { rows[$0] })
                }
        )
    }
}

extension ProjectionTable.ColumnType {
    /// The array in which many values are sent at once.
    fileprivate var array: String {
        switch self {
        case .int2: "int4[]"
        case .int8: "bigint[]"
        case .text: "text[]"
        case .json: "json[]"
        }
    }

    fileprivate func array(_ values: [Parameter]) -> Parameter {
        switch self {
        case .int2:
            .int4s(values.map { if case .int2(let number) = $0 { Int32(number) } else { 0 } })
        case .int8:
            .int8sIfAny(values.map { if case .int8(let number) = $0 { number } else { nil } })
        case .text: .texts(values.map { if case .text(let text) = $0 { text } else { nil } })
        case .json: .jsons(values.map { if case .json(let text) = $0 { text } else { nil } })
        }
    }
}
