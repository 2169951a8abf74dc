import Domain
import Foundation
import Testing

@testable import Analytics

@Suite("A Parquet file")
struct ParquetTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    private func page(_ cells: [ExportTable.Cell]) -> String {
        var chunk = ColumnChunk()
        for cell in cells { chunk.append(cell) }
        return hex(chunk.data)
    }

    @Test("has pages of runs that say which cells are there, and of the plain values of those")
    func pages() {
        // Two runs of one cell; a length and the text.
        #expect(page([.text("a"), .empty]) == "04000000" + "0201" + "0200" + "0100000061")
        // One run of nine; truth is a bit, the lowest first.
        let truths = (0..<9).map { ExportTable.Cell.truth($0 % 2 == 0) }
        #expect(page(truths) == "02000000" + "1201" + "5501")
        #expect(page([.integer(-2)]) == "02000000" + "0201" + "feffffffffffffff")
        #expect(
            page([.instant(Instant(milliseconds: 258))])
                == "02000000" + "0201" + "0201000000000000")
        #expect(page([.empty, .empty]) == "02000000" + "0400")
        #expect(page(Array(repeating: .empty, count: 100)) == "03000000" + "c801" + "00")
    }

    @Test("has headers in Thrift's compact form")
    func headers() {
        var header = CompactProtocol()
        header.i32(1, -1)
        header.text(4, "ab")
        header.i32s(5, [0, 3])
        header.structure(6) { $0.truth(2, true) }
        header.structures(7, Array(repeating: 1, count: 15)) { $0.i64(1, Int64($1) * 100) }
        header.end()
        let elements = String(repeating: "16c80100", count: 15)
        #expect(
            hex(header.bytes) == "1501" + "38026162" + "192500" + "06" + "1c2100" + "19fc0f"
                + elements + "00")
    }

    @Test("is framed by its name, and its footer by its length")
    func frame() {
        let columns = [ExportTable.Column("count", .integer)]
        func file(_ count: Int) -> [UInt8] {
            var writer = ParquetWriter(columns)
            var out = writer.begin()
            for number in 0..<count { out += writer.write([[.integer(Int64(number))]]) }
            return out + writer.end()
        }
        for count in [0, 1, ParquetWriter.rowsPerGroup + 1] {
            let bytes = file(count)
            #expect(bytes.prefix(4) == ArraySlice("PAR1".utf8))
            #expect(Array(bytes.suffix(4)) == Array("PAR1".utf8))
            let length = bytes.suffix(8).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            let footer = bytes.dropLast(8).suffix(length)
            // Version 1, and a schema of two elements: a list of structures.
            #expect(footer.starts(with: [0x15, 0x02, 0x19, 0x2C]), "\(count)")
            let values = bytes.count - 12 - length
            #expect(values >= 8 * count && values < 8 * count + 100, "\(count)")
        }
    }
}
