import Domain
import TestLives
import Testing

@Suite("JSON text")
struct JSONTests {
    @Test(
        "that is malformed is refused",
        arguments: [
            "", " ", "nul", "truex", "nullnull", "TRUE", "+1", "01", "-", "-01", "1.", ".5", "1.e3",
            "1e", "1e+", "0x10", "NaN", "Infinity", "1 2", "[1,]", "[,1]", "[1", "]", "[1 2]", "{",
            "}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1 "b":2}"#, "{a:1}",
            #"{'a':1}"#, #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{1:2}"#, "\"", #""\"#,
            #""\x""#, #""\u12""#, #""\u12G4""#, #""\ud800""#, #""\ud800A""#, #""\udc00""#,
            #""\ud800\n""#, #""\ud800\ud800""#, "\"\n\"", "\"\u{1}\"", "\u{FEFF}1", "1 // a",
            "/* a */ 1", "[1]]", "'a'", "\u{A0}1", "1\u{0}",
        ])
    func malformed(_ text: String) {
        #expect(throws: JSONError.self) { try JSON.parse(text) }
    }

    @Test("whose bytes are not UTF-8 is refused")
    func notUTF8() {
        let wrong: [[UInt8]] = [
            [0xFF], [0xC0, 0x80], [0xC3], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80],
            [0xE0, 0x80, 0xAF],
        ]
        for bytes in wrong {
            #expect(throws: JSONError.self) { try JSON.parse([0x22] + bytes + [0x22]) }
            #expect(throws: JSONError.self) { try JSON.parse([0x22, 0x5C, 0x6E] + bytes + [0x22]) }
        }
    }

    @Test("nests to the limit and no deeper, without a crash at any depth")
    func depth() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try JSON.parse(nested(JSON.depthLimit))
        for depth in [JSON.depthLimit + 2, 100_000] {
            #expect(throws: JSONError.tooDeep(limit: JSON.depthLimit)) {
                try JSON.parse(nested(depth))
            }
            #expect(throws: JSONError.tooDeep(limit: JSON.depthLimit)) {
                try JSON.parse(String(repeating: #"{"a":"#, count: depth))
            }
        }
    }

    @Test("keeps every number exactly")
    func numbers() throws {
        #expect(try JSON.parse("9223372036854775807") == .integer(.max))
        #expect(try JSON.parse("-9223372036854775808") == .integer(.min))
        #expect(try JSON.parse("9223372036854775808") == .number("9223372036854775808"))
        #expect(try JSON.parse("123456789012345678") == .integer(123_456_789_012_345_678))
        #expect(try JSON.parse("-0") == .integer(0))
        #expect(try JSON.parse("1.50") == .number("1.50"))
        #expect(try JSON.parse("1E400") == .number("1E400"))
    }

    @Test("says a text whichever way it is escaped")
    func escapes() throws {
        #expect(try JSON.parse(#""\ud83c\udf88""#) == .string("🎈"))
        #expect(try JSON.parse(#""\"\\\/\b\f\n\r\t\u0000""#) == .string("\"\\/\u{8}\u{c}\n\r\t\0"))
        #expect(try JSON.parse(#" { "a" : [ ] } "#) == .object([JSON.Member("a", .array([]))]))
    }

    @Test("refuses a name said twice among many")
    func manyMembers() throws {
        let names = (0..<100).map { "\"n\($0)\":0" }
        #expect(try JSON.parse("{" + names.joined(separator: ",") + "}").members?.count == 100)
        for repeated in [names[0], names[40], names[99]] {
            #expect(throws: JSONError.self) {
                try JSON.parse("{" + (names + [repeated]).joined(separator: ",") + "}")
            }
        }
    }

    @Test("has one canonical form, which is a fixed point")
    func canonical() throws {
        let json = try JSON.parse(#" {"b": [1.0, -0], "a": {"é": "\u00e9\u0007", "z": null} } "#)
        let bytes = json.canonicalBytes()
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"a":{"z":null,"é":"é\u0007"},"b":[1.0,0]}"#)
        var random = SplitMix64(seed: 5)
        for _ in 0..<cases(2000, long: 100_000) {
            let value = randomValue(&random, depth: 4)
            let bytes = value.canonicalBytes()
            #expect(try JSON.parse(bytes).canonicalBytes() == bytes)
            #expect(
                try JSON.parse(shuffled(value, &random).canonicalBytes()).canonicalBytes() == bytes)
        }
    }

    @Test("of random bytes is read or refused, never a crash")
    func fuzz() {
        var random = SplitMix64(seed: 7)
        let alphabet = Array(#"{}[]",:\ue0159.-+tfn/ "#.utf8) + [0xC3, 0xA9, 0xFF, 0x00, 0x0A]
        let whole = Array(
            #"{"a":[1,-2.5e3,"\u00e9\ud83c\udf88"],"b":{"c":null,"d":true}}"#.utf8)
        for _ in 0..<cases(20_000, long: 2_000_000) {
            var bytes: [UInt8]
            if random.once(in: 2) {
                bytes = (0..<random.below(24)).map { _ in alphabet[random.below(alphabet.count)] }
            } else {
                bytes = whole
                for _ in 0...random.below(3) {
                    bytes[random.below(bytes.count)] = UInt8(random.below(256))
                }
                bytes = Array(bytes[0..<random.below(bytes.count + 1)])
            }
            guard let value = try? JSON.parse(bytes) else { continue }
            let canonical = value.canonicalBytes()
            #expect((try? JSON.parse(canonical))?.canonicalBytes() == canonical)
        }
    }

    private func randomValue(_ random: inout SplitMix64, depth: Int) -> JSON {
        switch random.below(depth == 0 ? 5 : 7) {
        case 0: return .null
        case 1: return .bool(random.once(in: 2))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &random))
        case 3: return .number("\(random.below(1000)).\(random.below(1000))")
        case 4: return .string(String((0..<random.below(6)).map { _ in letter(&random) }))
        case 5:
            return .array((0..<random.below(4)).map { _ in randomValue(&random, depth: depth - 1) })
        default:
            let names = Set((0..<random.below(5)).map { _ in String(letter(&random)) }).sorted()
            return .object(
                names.map { JSON.Member($0, randomValue(&random, depth: depth - 1)) })
        }
    }

    private func letter(_ random: inout SplitMix64) -> Character {
        let letters = Array("abZ é漢🎈\"\\\u{0}\u{1f}\u{7f}\u{2028}\n")
        return letters[random.below(letters.count)]
    }

    /// The same value with the members of its objects in another order.
    private func shuffled(_ value: JSON, _ random: inout SplitMix64) -> JSON {
        switch value {
        case .array(let elements): return .array(elements.map { shuffled($0, &random) })
        case .object(let members):
            let inner = members.map { JSON.Member($0.name, shuffled($0.value, &random)) }
            return .object(inner.shuffled(using: &random))
        default: return value
        }
    }
}
