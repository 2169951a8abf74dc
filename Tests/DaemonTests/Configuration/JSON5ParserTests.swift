import Testing

@testable import Daemon

@Suite("JSON5")
struct JSON5ParserTests {
    /// A node without its places.
    private static func plain(_ node: ConfigurationNode) -> String {
        switch node.value {
        case .list(let items): "[" + items.map(plain).joined(separator: " ") + "]"
        case .object(let members):
            "{" + members.map { "\($0.name)=\(plain($0.node))" }.joined(separator: " ") + "}"
        case .number(let spelling): "number " + spelling
        default: node.found
        }
    }

    @Test(
        "is read as its specification says",
        arguments: [
            ("{}", "{}"), ("[1, -2, +3, 0x1F,]", "[1 -2 3 31]"),
            (
                "[1.5, .5, 5., 1e3, -Infinity]",
                "[number 1.5 number .5 number 5. number 1e3 number -Infinity]"
            ),
            ("99999999999999999999", "number 99999999999999999999"),
            (
                "/* a */ {a: 'it\"s', \"b c\": null, // d\n $e_1: true, é: false,}",
                #"{a="it"s" b c=null $e_1=true é=false}"#
            ),
            (#"'\x41\u0042\u{}'"#, "1:14: expected a hexadecimal digit, found '{'"),
            (#""\uD83D\uDE00 \'\q\"""#, "\"😀 'q\"\""),
            ("'one \\\n line'", #""one  line""#),
            ("\u{FEFF}1", "1"),
        ])
    func accepted(text: String, expected: String) {
        do {
            #expect(try Self.plain(JSON5Parser.parse(text)) == expected)
        } catch {
            #expect("\(error.line):\(error.column): \(error.problem)" == expected)
        }
    }

    @Test(
        "that is wrong is refused with its line and column",
        arguments: [
            ("", "1:1: expected a value, found the end of the file"),
            ("{a: 1,\n b 2}", "2:4: expected ':', found '2'"),
            ("{a: 1\n b: 2}", "2:2: expected ',' or '}', found 'b'"),
            ("[1 2]", "1:4: expected ',' or ']', found '2'"),
            ("{\n  a: [}\n}", "2:7: expected a value, found '}'"),
            ("{a: \"x\n\"}", "1:5: the text that begins here does not end in its line"),
            ("{a: 'x", "1:5: the text that begins here does not end"),
            ("{a: yes}", "1:5: yes is no value; text needs quotation marks"),
            ("{a: 1.2.3}", "1:5: 1.2.3 is no number"), ("{a: 012}", "1:5: 012 is no number"),
            ("{a: 1} x", "1:8: expected the end of the file"),
            ("{a: 1,\n a: 2}", "2:2: \"a\" is given twice"),
            ("/* open", "1:1: the comment that begins here does not end"),
            (#"'\uD800x'"#, "1:8: expected the other half of a pair, found 'x'"),
            (#"'\uDC00'"#, "1:4: half of a pair stands alone"),
            (String(repeating: "[", count: 100), "1:65: nested deeper than 64 levels"),
        ])
    func refused(text: String, expected: String) {
        let failure = #expect(throws: JSON5Parser.Failure.self) { try JSON5Parser.parse(text) }
        #expect(failure.map { "\($0.line):\($0.column): \($0.problem)" } == expected)
    }
}
