import Domain

/// Writes rows as a Parquet file: groups of rows, each column of a group one page of plain values,
/// not compressed.
///
/// - Source: Apache Parquet format 2, `parquet.thrift` and `Encodings.md`.
struct ParquetWriter: Sendable {
    private let columns: [ExportTable.Column]
    private var chunks: [ColumnChunk]
    /// How many rows are gathered.
    private var rowCount = 0
    private var groups: [Group] = []
    /// How many bytes were given out.
    private var offset: Int64 = 0

    /// The rows of a group: what is in memory at a time.
    static let rowsPerGroup = 20_000
    private static let magic = Array("PAR1".utf8)

    private struct Group {
        var rows: Int64
        var pages: [Page]
    }

    /// Where a column of a group is.
    private struct Page {
        var offset: Int64
        var byteCount: Int64
    }

    init(_ columns: [ExportTable.Column]) {
        self.columns = columns
        chunks = columns.map { _ in ColumnChunk() }
    }

    mutating func begin() -> [UInt8] {
        offset = Int64(ParquetWriter.magic.count)
        return ParquetWriter.magic
    }

    mutating func write(_ rows: [[ExportTable.Cell]]) -> [UInt8] {
        var out: [UInt8] = []
        for row in rows {
            precondition(row.count == columns.count, "a row has a cell for each column")
            for (place, cell) in row.enumerated() { chunks[place].append(cell) }
            rowCount += 1
            if rowCount == ParquetWriter.rowsPerGroup { out += group() }
        }
        return out
    }

    mutating func end() -> [UInt8] {
        var out = rowCount > 0 ? group() : []
        let footer = footer()
        out += footer
        ColumnChunk.append(UInt32(footer.count), to: &out)
        return out + ParquetWriter.magic
    }

    /// The gathered rows as a group.
    private mutating func group() -> [UInt8] {
        var out: [UInt8] = []
        var pages: [Page] = []
        for chunk in chunks {
            let start = out.count
            let data = chunk.data
            var header = CompactProtocol()
            header.i32(1, 0)  // a data page
            header.i32(2, data.count)
            header.i32(3, data.count)
            header.structure(5) { page in
                page.i32(1, chunk.count)
                page.i32(2, Encoding.plain)
                page.i32(3, Encoding.runs)
                page.i32(4, Encoding.runs)
            }
            header.end()
            out += header.bytes
            out += data
            pages.append(
                Page(offset: offset + Int64(start), byteCount: Int64(out.count - start)))
        }
        groups.append(Group(rows: Int64(rowCount), pages: pages))
        offset += Int64(out.count)
        chunks = columns.map { _ in ColumnChunk() }
        rowCount = 0
        return out
    }

    private enum Encoding {
        static let plain = 0
        static let runs = 3
    }

    private func footer() -> [UInt8] {
        var footer = CompactProtocol()
        footer.i32(1, 1)
        footer.structures(2, [nil] + columns.map(Optional.some)) { element, column in
            guard let column else {
                element.text(4, "table")
                element.i32(5, columns.count)
                return
            }
            column.describe(in: &element)
        }
        footer.i64(3, groups.reduce(0) { $0 + $1.rows })
        footer.structures(4, groups) { element, group in
            element.structures(1, Array(zip(columns, group.pages))) { chunk, part in
                let (column, page) = part
                chunk.i64(2, page.offset)
                chunk.structure(3) { data in
                    data.i32(1, column.kind.physicalType)
                    data.i32s(2, [Encoding.plain, Encoding.runs])
                    data.texts(3, [column.name])
                    data.i32(4, 0)  // not compressed
                    data.i64(5, group.rows)
                    data.i64(6, page.byteCount)
                    data.i64(7, page.byteCount)
                    data.i64(9, page.offset)
                }
            }
            element.i64(2, group.pages.reduce(0) { $0 + $1.byteCount })
            element.i64(3, group.rows)
        }
        footer.text(6, "subledger")
        footer.end()
        return footer.bytes
    }
}

extension ExportTable.Column.Kind {
    fileprivate var physicalType: Int {
        switch self {
        case .truth: 0
        case .integer, .instant: 2
        case .text: 6
        }
    }
}

extension ExportTable.Column {
    /// The column in a schema: each cell may be empty.
    fileprivate func describe(in element: inout CompactProtocol) {
        element.i32(1, kind.physicalType)
        element.i32(3, 1)
        element.text(4, name)
        switch kind {
        case .text:
            element.i32(6, 0)
            element.structure(10) { $0.structure(1) { _ in } }
        case .instant:
            // Milliseconds of UTC.
            element.i32(6, 9)
            element.structure(10) { logical in
                logical.structure(8) { timestamp in
                    timestamp.truth(1, true)
                    timestamp.structure(2) { $0.structure(1) { _ in } }
                }
            }
        case .integer, .truth: break
        }
    }
}

/// The cells of a column, gathered for one page.
struct ColumnChunk: Sendable {
    private(set) var count = 0
    /// Whether cells are there, in runs of equal ones.
    private var runs: [(isThere: Bool, length: UInt64)] = []
    private var values: [UInt8] = []
    /// How many truth values are in the last byte.
    private var bitCount = 0

    mutating func append(_ cell: ExportTable.Cell) {
        count += 1
        let isThere = cell != .empty
        if runs.last?.isThere == isThere {
            runs[runs.count - 1].length += 1
        } else {
            runs.append((isThere, 1))
        }
        switch cell {
        case .text(let text):
            ColumnChunk.append(UInt32(text.utf8.count), to: &values)
            values.append(contentsOf: text.utf8)
        case .integer(let number): append(number)
        case .instant(let instant): append(instant.milliseconds)
        case .truth(let truth):
            if bitCount % 8 == 0 { values.append(0) }
            if truth { values[values.count - 1] |= 1 << UInt8(bitCount % 8) }
            bitCount += 1
        case .empty: break
        }
    }

    /// The page: which cells are there, and the values of those.
    var data: [UInt8] {
        var levels: [UInt8] = []
        for run in runs {
            CompactProtocol.append(run.length << 1, to: &levels)
            levels.append(run.isThere ? 1 : 0)
        }
        var data: [UInt8] = []
        ColumnChunk.append(UInt32(levels.count), to: &data)
        return data + levels + values
    }

    private mutating func append(_ number: Int64) {
        withUnsafeBytes(of: number.littleEndian) { values.append(contentsOf: $0) }
    }

    static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
