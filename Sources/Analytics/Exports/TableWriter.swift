import Domain

/// Writes the rows of a table in a format, a part at a time.
public struct TableWriter: Sendable {
    /// How a table is written.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// RFC 4180, with a first line of names.
        case csv
        /// One JSON object a line.
        case ndjson
        /// Apache Parquet, not compressed.
        case parquet
    }

    private let columns: [ExportTable.Column]
    private let format: Format
    private var parquet: ParquetWriter

    /// A writer that has written nothing.
    public init(_ format: Format, _ table: ExportTable) {
        self.format = format
        columns = table.columns
        parquet = ParquetWriter(table.columns)
    }

    /// What the text or file begins with.
    public mutating func begin() -> [UInt8] {
        switch format {
        case .csv: Array((columns.map(\.name).joined(separator: ",") + "\r\n").utf8)
        case .ndjson: []
        case .parquet: parquet.begin()
        }
    }

    /// What follows from some more rows.
    public mutating func write(_ rows: [[ExportTable.Cell]]) -> [UInt8] {
        var out: [UInt8] = []
        switch format {
        case .csv: for row in rows { TableWriter.writeLine(row, into: &out) }
        case .ndjson:
            for row in rows {
                JSON.object(zip(columns, row).map { JSON.Member($0.name, $1.json) })
                    .write(into: &out, sorted: false)
                out.append(UInt8(ascii: "\n"))
            }
        case .parquet: out = parquet.write(rows)
        }
        return out
    }

    /// What the text or file ends with.
    public mutating func end() -> [UInt8] { format == .parquet ? parquet.end() : [] }

    private static func writeLine(_ row: [ExportTable.Cell], into out: inout [UInt8]) {
        for (place, cell) in row.enumerated() {
            if place > 0 { out.append(UInt8(ascii: ",")) }
            switch cell {
            case .text(let text): write(text, into: &out)
            case .integer(let number): out.append(contentsOf: String(number).utf8)
            case .truth(let truth): out.append(contentsOf: (truth ? "true" : "false").utf8)
            case .instant(let instant): out.append(contentsOf: instant.description.utf8)
            case .empty: break
            }
        }
        out.append(contentsOf: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
    }

    /// A text; quoted where it must be, and where it is empty, so that it differs from nothing.
    private static func write(_ text: String, into out: inout [UInt8]) {
        let special: [UInt8] = [0x2C, 0x22, 0x0D, 0x0A]
        guard text.isEmpty || text.utf8.contains(where: special.contains) else {
            out.append(contentsOf: text.utf8)
            return
        }
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") { out.append(byte) }
            out.append(byte)
        }
        out.append(UInt8(ascii: "\""))
    }
}

extension ExportTable.Cell {
    fileprivate var json: JSON {
        switch self {
        case .text(let text): .string(text)
        case .integer(let number): .integer(number)
        case .truth(let truth): .bool(truth)
        case .instant(let instant): .string(instant.description)
        case .empty: .null
        }
    }
}
