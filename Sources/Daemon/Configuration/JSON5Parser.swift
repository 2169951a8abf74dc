/// Reads JSON5 into nodes that remember where they were written.
///
/// Foundation reads JSON5 too, but neither says where a syntax error is nor refuses a name given
/// twice, of which it keeps the first.
///
/// - Source: The JSON5 Data Interchange Format 1.0.0.
struct JSON5Parser {
    /// Where a text is no JSON5, and what was expected there.
    struct Failure: Error, Equatable {
        var line: Int
        var column: Int
        var problem: String
    }

    private static let deepest = 64
    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var depth = 0

    /// The one value of a text.
    static func parse(_ text: String) throws(Failure) -> ConfigurationNode {
        var parser = JSON5Parser(text)
        try parser.skipBlank()
        let node = try parser.value()
        try parser.skipBlank()
        guard parser.isAtEnd else { throw parser.failure("expected the end of the file") }
        return node
    }

    private init(_ text: String) {
        scalars = Array(text.unicodeScalars)
        if scalars.first == "\u{FEFF}" { index = 1 }
    }

    private var isAtEnd: Bool { index >= scalars.count }
    private var next: Unicode.Scalar? { isAtEnd ? nil : scalars[index] }

    // MARK: Places and failures

    private func failure(_ problem: String, at place: Int? = nil) -> Failure {
        let (line, column) = lineAndColumn(of: place ?? index)
        return Failure(line: line, column: column, problem: problem)
    }

    private func unexpected(_ expected: String) -> Failure {
        guard let next else { return failure("expected \(expected), found the end of the file") }
        let found = next.properties.isWhitespace ? "a blank" : "'\(next)'"
        return failure("expected \(expected), found \(found)")
    }

    private func origin(of place: Int) -> ConfigurationNode.Origin {
        let (line, column) = lineAndColumn(of: place)
        return .file(line: line, column: column)
    }

    private func lineAndColumn(of place: Int) -> (Int, Int) {
        var line = 1
        var lineStart = 0
        for position in 0..<min(place, scalars.count) where scalars[position] == "\n" {
            line += 1
            lineStart = position + 1
        }
        return (line, place - lineStart + 1)
    }

    // MARK: Values

    private mutating func value() throws(Failure) -> ConfigurationNode {
        let start = index
        guard let next else { throw unexpected("a value") }
        let value: ConfigurationNode.Value
        switch next {
        case "{": value = .object(try members())
        case "[": value = .list(try items())
        case "\"", "'": value = .text(try text())
        case "+", "-", ".", "0"..."9": value = try number()
        default: value = try word()
        }
        return ConfigurationNode(value: value, origin: origin(of: start))
    }

    private mutating func enter() throws(Failure) {
        depth += 1
        if depth > Self.deepest { throw failure("nested deeper than \(Self.deepest) levels") }
        index += 1
    }

    private mutating func members() throws(Failure) -> [ConfigurationNode.Member] {
        try enter()
        var members: [ConfigurationNode.Member] = []
        while true {
            try skipBlank()
            if take("}") { break }
            let start = index
            let name = next == "\"" || next == "'" ? try text() : try identifier("a name or '}'")
            if members.contains(where: { $0.name == name }) {
                throw failure("\(ConfigurationNode.quoted(name)) is given twice", at: start)
            }
            try skipBlank()
            guard take(":") else { throw unexpected("':'") }
            try skipBlank()
            let node = try value()
            members.append(
                ConfigurationNode.Member(name: name, origin: origin(of: start), node: node))
            try skipBlank()
            if take(",") { continue }
            guard next == "}" else { throw unexpected("',' or '}'") }
        }
        depth -= 1
        return members
    }

    private mutating func items() throws(Failure) -> [ConfigurationNode] {
        try enter()
        var items: [ConfigurationNode] = []
        while true {
            try skipBlank()
            if take("]") { break }
            items.append(try value())
            try skipBlank()
            if take(",") { continue }
            guard next == "]" else { throw unexpected("',' or ']'") }
        }
        depth -= 1
        return items
    }

    private mutating func word() throws(Failure) -> ConfigurationNode.Value {
        let start = index
        switch try identifier("a value") {
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "Infinity": return .number("Infinity")
        case "NaN": return .number("NaN")
        case let other:
            throw failure("\(other) is no value; text needs quotation marks", at: start)
        }
    }

    private mutating func number() throws(Failure) -> ConfigurationNode.Value {
        let start = index
        if next == "+" || next == "-" { index += 1 }
        while let scalar = next,
            scalar.properties.isAlphabetic || "0"..."9" ~= scalar
                || scalar == "." || isSign(scalar, afterExponentFrom: start)
        {
            index += 1
        }
        let spelling = String(String.UnicodeScalarView(scalars[start..<index]))
        guard let value = JSON5Number.value(spelling) else {
            throw failure("\(spelling) is no number", at: start)
        }
        return value
    }

    private func isSign(_ scalar: Unicode.Scalar, afterExponentFrom start: Int) -> Bool {
        guard scalar == "+" || scalar == "-", index > start else { return false }
        return scalars[index - 1] == "e" || scalars[index - 1] == "E"
    }

    private mutating func identifier(_ expected: String) throws(Failure) -> String {
        var name = String.UnicodeScalarView()
        while let scalar = next {
            let starts = scalar.properties.isAlphabetic || scalar == "_" || scalar == "$"
            guard starts || (!name.isEmpty && "0"..."9" ~= scalar) else { break }
            name.append(scalar)
            index += 1
        }
        guard !name.isEmpty else { throw unexpected(expected) }
        return String(name)
    }

    // MARK: Text

    private mutating func text() throws(Failure) -> String {
        let start = index
        let mark = scalars[index]
        index += 1
        var text = String.UnicodeScalarView()
        while let scalar = next {
            switch scalar {
            case mark:
                index += 1
                return String(text)
            case "\n", "\r":
                throw failure("the text that begins here does not end in its line", at: start)
            case "\\":
                index += 1
                try escape(into: &text)
            default:
                text.append(scalar)
                index += 1
            }
        }
        throw failure("the text that begins here does not end", at: start)
    }

    private mutating func escape(into text: inout String.UnicodeScalarView) throws(Failure) {
        guard let scalar = next else { throw unexpected("the rest of an escape") }
        index += 1
        switch scalar {
        case "n": text.append("\n")
        case "r": text.append("\r")
        case "t": text.append("\t")
        case "b": text.append("\u{8}")
        case "f": text.append("\u{C}")
        case "v": text.append("\u{B}")
        case "0": text.append("\0")
        case "\n", "\u{2028}", "\u{2029}": return
        case "\r": _ = take("\n")
        case "x": text.append(try scalarOf(try hexadecimal(digits: 2)))
        case "u": text.append(try unicodeEscape())
        case "1"..."9": throw failure("'\\\(scalar)' is no escape", at: index - 2)
        default: text.append(scalar)
        }
    }

    private mutating func unicodeEscape() throws(Failure) -> Unicode.Scalar {
        let first = try hexadecimal(digits: 4)
        guard (0xD800..<0xDC00).contains(first) else { return try scalarOf(first) }
        guard take("\\"), take("u") else { throw unexpected("the other half of a pair") }
        let second = try hexadecimal(digits: 4)
        guard (0xDC00..<0xE000).contains(second) else {
            throw failure("half of a pair stands alone", at: index - 4)
        }
        return try scalarOf(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private func scalarOf(_ number: UInt32) throws(Failure) -> Unicode.Scalar {
        guard let scalar = Unicode.Scalar(number) else {
            throw failure("half of a pair stands alone", at: index - 4)
        }
        return scalar
    }

    private mutating func hexadecimal(digits: Int) throws(Failure) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<digits {
            guard let scalar = next, let digit = Character(scalar).hexDigitValue else {
                throw unexpected("a hexadecimal digit")
            }
            number = number << 4 + UInt32(digit)
            index += 1
        }
        return number
    }

    // MARK: Blanks and comments

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        index += 1
        return true
    }

    private mutating func skipBlank() throws(Failure) {
        while let scalar = next {
            if scalar.properties.isWhitespace || scalar == "\u{FEFF}" {
                index += 1
            } else if scalar == "/" {
                try skipComment()
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(Failure) {
        let start = index
        index += 1
        if take("/") {
            while let scalar = next, scalar != "\n" && scalar != "\r" { index += 1 }
        } else if take("*") {
            while true {
                guard let scalar = next else {
                    throw failure("the comment that begins here does not end", at: start)
                }
                index += 1
                if scalar == "*", take("/") { return }
            }
        } else {
            index = start
            throw unexpected("a value, a name or a comment")
        }
    }
}
