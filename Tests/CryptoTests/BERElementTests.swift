import Crypto
import Testing

@Suite("An element of ASN.1")
struct BERElementTests {
    @Test("is read with a short, a long and an open length")
    func lengths() {
        let forms: [[UInt8]] = [
            [0x30, 0x03, 0x02, 0x01, 0x05],
            [0x30, 0x82, 0x00, 0x03, 0x02, 0x01, 0x05],
            [0x30, 0x80, 0x02, 0x01, 0x05, 0x00, 0x00],
        ]
        for form in forms {
            let element = BERElement.only(in: form[...])
            #expect(element?.tag == BERElement.Tag.sequence)
            #expect(element?.elements?.map(\.integer) == [5])
        }
    }

    @Test("joins octets that come in pieces")
    func pieces() {
        let nested: [UInt8] = [
            0x24, 0x80, 0x04, 0x01, 0x01, 0x24, 0x03, 0x04, 0x01, 0x02, 0x04, 0x00, 0x00, 0x00,
        ]
        #expect(BERElement.only(in: nested[...])?.octets == [1, 2])
        let foreign: [UInt8] = [0x24, 0x03, 0x02, 0x01, 0x01]
        #expect(BERElement.only(in: foreign[...])?.octets == nil)
    }

    @Test("is a number of up to 64 bits, with its sign")
    func numbers() {
        func number(_ content: [UInt8]) -> Int64? {
            BERElement.only(in: ([0x02, UInt8(content.count)] + content)[...])?.integer
        }
        #expect(number([0x00]) == 0)
        #expect(number([0x7F]) == 127)
        #expect(number([0x00, 0x80]) == 128)
        #expect(number([0xFF]) == -1)
        #expect(number([0x7F] + [UInt8](repeating: 0xFF, count: 7)) == .max)
        #expect(number([0x80] + [UInt8](repeating: 0, count: 7)) == .min)
        #expect(number([]) == nil)
        #expect(number([UInt8](repeating: 1, count: 9)) == nil)
    }

    @Test("is a text in UTF-8 or ASCII")
    func texts() {
        func text(_ tag: UInt8, _ content: [UInt8]) -> String? {
            BERElement.only(in: ([tag, UInt8(content.count)] + content)[...])?.text
        }
        #expect(text(BERElement.Tag.utf8, Array("é".utf8)) == "é")
        #expect(text(BERElement.Tag.ascii, []) == "")
        #expect(text(BERElement.Tag.utf8, [0xFF]) == nil)
        #expect(text(BERElement.Tag.octets, [0x41]) == nil)
    }

    @Test("is not read when it is cut, goes on, or nests without end")
    func refused() {
        let wrong: [[UInt8]] = [
            [], [0x02], [0x02, 0x01], [0x02, 0x02, 0x01], [0x02, 0x01, 0x01, 0x00],
            [0x02, 0x85, 0, 0, 0, 0, 0], [0x02, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
            [0x02, 0x80, 0x00, 0x00], [0x30, 0x80, 0x02, 0x01, 0x05], [0x1F, 0x20, 0x00],
        ]
        for bytes in wrong { #expect(BERElement.only(in: bytes[...]) == nil) }
        let deep = (0..<200_000).map { $0.isMultiple(of: 2) ? UInt8(0x24) : 0x80 }
        #expect(BERElement.only(in: deep[...]) == nil)
    }
}
