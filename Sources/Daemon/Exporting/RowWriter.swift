import Analytics
import Domain

/// Writes rows of a table as text.
enum RowWriter: String, CaseIterable, Sendable {
    /// RFC 4180, with a first line of names.
    case csv
    /// One JSON object a line.
    case ndjson

    /// What a file begins with.
    func head(_ table: ExportTable) -> [UInt8] {
        switch self {
        case .csv: Array((table.columns.map(\.name).joined(separator: ",") + "\r\n").utf8)
        case .ndjson: []
        }
    }

    /// Adds rows to what is to be written.
    func write(_ rows: [[ExportTable.Cell]], of table: ExportTable, into out: inout [UInt8]) {
        let columns = table.columns
        for row in rows {
            switch self {
            case .csv: RowWriter.writeLine(row, into: &out)
            case .ndjson:
                JSON.object(zip(columns, row).map { JSON.Member($0.name, $1.json) })
                    .write(into: &out, sorted: false)
                out.append(UInt8(ascii: "\n"))
            }
        }
    }

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
