import Domain
import Ledger
import Postgres

/// A table of a projection, in which each row belongs to a generation.
public struct ProjectionTable: Sendable, Equatable {
    /// The type of a column, as COPY takes it.
    public enum ColumnType: Sendable, Equatable {
        case int2, int8, bool, text, json
        /// Arrays; in those of numbers nothing is NULL.
        case int8s, texts
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
    /// Whether a fold makes all rows of its stream each time, so that rows may vanish.
    public let isWhole: Bool

    /// A table with these columns; the key's come first.
    ///
    /// - Parameter isWhole: a fold makes all rows of its stream each time, and those that it does not
    ///   make any more are removed. The key then begins with `bucket` and `stream`.
    public init(
        _ name: String, key: KeyValuePairs<String, ColumnType>,
        _ others: KeyValuePairs<String, ColumnType>..., isWhole: Bool = false
    ) {
        precondition(
            !isWhole || key.prefix(2).map(\.key) == ["bucket", "stream"],
            "whole streams are found by bucket and stream")
        self.name = name
        self.isWhole = isWhole
        columns =
            key.map { Column(name: $0.key, type: $0.value, isKey: true) }
            + others.joined().map { Column(name: $0.key, type: $0.value, isKey: false) }
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
        let values = columns.map { $0.name + $0.type.cast }
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

    /// Removes the rows of these keys.
    func removal(_ keys: [ArraySlice<Parameter>], generation: Int64) -> Statement {
        let key = columns.filter(\.isKey)
        let arrays = key.enumerated().map { "$\($0.offset + 2)::\($0.element.type.array)" }
        let conditions = key.map { column in
            "old.\(column.name) = gone.\(column.name)\(column.type.cast)"
        }
        return Statement(
            """
            delete from projection.\(name) as old \
            using unnest(\(arrays.joined(separator: ", "))) \
            as gone (\(key.map(\.name).joined(separator: ", "))) \
            where old.generation = $1 and \(conditions.joined(separator: " and "))
            """,
            [.int8(generation)]
                + key.indices.map { place in
                    key[place].type.array(keys.map { $0[$0.startIndex + place] })
                })
    }

    /// Removes all rows of some streams.
    func clearing(_ streams: [StreamID], generation: Int64) -> Statement {
        Statement(
            """
            delete from projection.\(name) as old \
            using unnest($2::int4[], $3::text[]) as gone (bucket, stream) where old.generation = $1 \
            and old.bucket = gone.bucket::smallint and old.stream = gone.stream
            """,
            [
                .int8(generation), .int4s(streams.map(Bucket.of)), .texts(streams.map(\.name)),
            ])
    }

    /// Rows of values one after another.
    func rows(_ values: [Parameter]) -> [ArraySlice<Parameter>] {
        stride(from: 0, to: values.count, by: columns.count).map { values[$0..<$0 + columns.count] }
    }

    /// The key of a row; its columns come first.
    func key(of row: ArraySlice<Parameter>) -> ArraySlice<Parameter> {
        row.prefix(columns.count { $0.isKey })
    }
}

extension ProjectionTable.ColumnType {
    /// What becomes of a value that was sent with many at once.
    fileprivate var cast: String {
        switch self {
        case .int2: "::smallint"
        case .int8s: "::bigint[]"
        case .texts: "::text[]"
        case .int8, .bool, .text, .json: ""
        }
    }

    /// The array in which many values are sent at once: of arrays their words, since it is no array
    /// of arrays of different lengths.
    fileprivate var array: String {
        switch self {
        case .int2: "int4[]"
        case .int8: "bigint[]"
        case .bool: "boolean[]"
        case .text, .int8s, .texts: "text[]"
        case .json: "json[]"
        }
    }

    fileprivate func array(_ values: [Parameter]) -> Parameter {
        switch self {
        case .int2:
            .int4s(values.map { if case .int2(let number) = $0 { Int32(number) } else { 0 } })
        case .int8:
            .int8sIfAny(values.map { if case .int8(let number) = $0 { number } else { nil } })
        case .bool:
            .bools(values.map { if case .bool(let truth) = $0 { truth } else { false } })
        case .text: .texts(values.map { if case .text(let text) = $0 { text } else { nil } })
        case .int8s, .texts: .texts(values.map(\.arrayLiteral))
        case .json: .jsons(values.map { if case .json(let text) = $0 { text } else { nil } })
        }
    }
}

extension Parameter {
    /// An array as PostgreSQL writes it; `nil` when it is none.
    fileprivate var arrayLiteral: String? {
        switch self {
        case .int8s(let numbers): "{\(numbers.map(String.init).joined(separator: ","))}"
        case .texts(let texts):
            "{\(texts.map { $0.map(Parameter.quoted) ?? "NULL" }.joined(separator: ","))}"
        default: nil
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}
