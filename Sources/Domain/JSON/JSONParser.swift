/// Why a text is not JSON.
public enum JSONError: Error, Equatable, Sendable {
    /// Not JSON: what was expected or found, and at which byte from 0.
    case malformed(String, at: Int)
    /// Nested deeper than is read.
    case tooDeep(limit: Int)

    /// The error in words.
    public var message: String {
        switch self {
        case .malformed(let what, let at): "\(what) at byte \(at)"
        case .tooDeep(let limit): "nested deeper than \(limit)"
        }
    }
}

extension JSON {
    /// How deep arrays and objects may nest.
    public static let depthLimit = 64

    /// The value of a JSON text.
    ///
    /// - Shape: one value, UTF-8, no byte after it but white space; any depth up to `depthLimit`.
    /// - Throws: `JSONError` naming the byte.
    public static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSON {
        try parse(bytes[...])
    }

    /// The value of a JSON text held in a part of a buffer.
    public static func parse(_ bytes: ArraySlice<UInt8>) throws(JSONError) -> JSON {
        var result: Result<JSON, JSONError> = .success(.null)
        bytes.withUnsafeBufferPointer { buffer in
            var parser = JSONParser(buffer)
            do throws(JSONError) {
                result = .success(try parser.wholeText())
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    /// The value of a JSON text.
    public static func parse(_ text: String) throws(JSONError) -> JSON {
        try parse(Array(text.utf8))
    }
}

/// A recursive-descent reader over bytes that outlive it.
private struct JSONParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0
    /// Where the last text stands, when it is ASCII and has no escape.
    private var plain: Range<Int>?

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    mutating func wholeText() throws(JSONError) -> JSON {
        let value = try value(depth: 0)
        skipBlanks()
        guard index == bytes.count else { throw .malformed("something after the value", at: index) }
        return value
    }

    private mutating func skipBlanks() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSON {
        guard depth <= JSON.depthLimit else { throw .tooDeep(limit: JSON.depthLimit) }
        skipBlanks()
        guard index < bytes.count else { throw .malformed("the text ends early", at: index) }
        switch bytes[index] {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw .malformed("no JSON value", at: index)
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let count = word.utf8CodeUnitCount
        guard index + count <= bytes.count else { throw .malformed("no JSON value", at: index) }
        for offset in 0..<count where bytes[index + offset] != word.utf8Start[offset] {
            throw .malformed("no JSON value", at: index)
        }
        index += count
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSON {
        index += 1
        var members: [JSON.Member] = []
        var names: Set<String> = []
        // In the order of names none can be there twice; so is all that we wrote ourselves.
        var last: Range<Int>? = index..<index
        skipBlanks()
        if take(UInt8(ascii: "}")) { return .object([]) }
        members.reserveCapacity(16)
        while true {
            skipBlanks()
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else {
                throw .malformed("a member's name was expected", at: index)
            }
            let start = index
            let name = try string()
            if let before = last, let plain, precedes(before, plain) {
                last = plain
            } else {
                last = nil
                if !isNew(name, among: members, &names) {
                    throw .malformed("a member is named twice", at: start)
                }
            }
            skipBlanks()
            guard take(UInt8(ascii: ":")) else {
                throw .malformed("a colon was expected", at: index)
            }
            members.append(JSON.Member(name, try value(depth: depth + 1)))
            skipBlanks()
            if take(UInt8(ascii: ",")) { continue }
            if take(UInt8(ascii: "}")) { return .object(members) }
            throw .malformed("a comma or the object's end was expected", at: index)
        }
    }

    private func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        bytes[left].lexicographicallyPrecedes(bytes[right])
    }

    /// Few members are compared one by one; many through a set, so that cost stays linear.
    private func isNew(_ name: String, among members: [JSON.Member], _ names: inout Set<String>)
        -> Bool
    {
        if members.count < 32 { return !members.contains { $0.name == name } }
        if names.isEmpty { names = Set(members.map(\.name)) }
        return names.insert(name).inserted
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSON {
        index += 1
        var elements: [JSON] = []
        skipBlanks()
        if take(UInt8(ascii: "]")) { return .array([]) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipBlanks()
            if take(UInt8(ascii: ",")) { continue }
            if take(UInt8(ascii: "]")) { return .array(elements) }
            throw .malformed("a comma or the list's end was expected", at: index)
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func digits() -> Int {
        let start = index
        while index < bytes.count, bytes[index] &- 0x30 < 10 { index += 1 }
        return index - start
    }

    private mutating func number() throws(JSONError) -> JSON {
        let start = index
        let negative = take(UInt8(ascii: "-"))
        let first = index
        let count = digits()
        guard count > 0, count == 1 || bytes[first] != UInt8(ascii: "0") else {
            throw .malformed("no number", at: start)
        }
        var whole = true
        if take(UInt8(ascii: ".")) {
            whole = false
            guard digits() > 0 else { throw .malformed("no number", at: start) }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            whole = false
            index += 1
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() > 0 else { throw .malformed("no number", at: start) }
        }
        if whole, let value = integer(from: first, count: count, negative: negative) {
            return .integer(value)
        }
        return .number(String(decoding: bytes[start..<index], as: UTF8.self))
    }

    private func integer(from first: Int, count: Int, negative: Bool) -> Int64? {
        var value: Int64 = 0
        for offset in 0..<count {
            let digit = Int64(bytes[first + offset] &- 0x30)
            let (scaled, over) = value.multipliedReportingOverflow(by: 10)
            let (next, past) =
                negative
                ? scaled.subtractingReportingOverflow(digit)
                : scaled.addingReportingOverflow(digit)
            if over || past { return nil }
            value = next
        }
        return value
    }

    private mutating func string() throws(JSONError) -> String {
        let start = index
        index += 1
        let first = index
        var all: UInt8 = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                plain = all < 0x80 ? first..<index : nil
                let text = try utf8(first..<index, start)
                index += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try escapedString(from: first, start: start) }
            if byte < 0x20 { throw .malformed("a control character in a text", at: index) }
            all |= byte
            index += 1
        }
        throw .malformed("a text does not end", at: start)
    }

    private func utf8(_ range: Range<Int>, _ start: Int) throws(JSONError) -> String {
        if plain != nil {
            return String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
        }
        guard let text = String(validating: bytes[range], as: UTF8.self) else {
            throw .malformed("a text is not UTF-8", at: start)
        }
        return text
    }

    private mutating func escapedString(from first: Int, start: Int) throws(JSONError) -> String {
        plain = nil
        var unescaped = Array(bytes[first..<index])
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                guard let text = String(validating: unescaped, as: UTF8.self) else {
                    throw .malformed("a text is not UTF-8", at: start)
                }
                return text
            case UInt8(ascii: "\\"):
                index += 1
                try escape(into: &unescaped)
            case ..<0x20:
                throw .malformed("a control character in a text", at: index)
            default:
                unescaped.append(byte)
                index += 1
            }
        }
        throw .malformed("a text does not end", at: start)
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        guard index < bytes.count else { throw .malformed("a text does not end", at: index) }
        let byte = bytes[index]
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            let scalar = try unicodeScalar()
            text.append(contentsOf: Array(String(Character(scalar)).utf8))
        default: throw .malformed("an unknown escape", at: index - 1)
        }
    }

    private mutating func unicodeScalar() throws(JSONError) -> Unicode.Scalar {
        let at = index
        var code = try fourHexDigits()
        if 0xD800...0xDBFF ~= code, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
            let low = try fourHexDigits()
            guard 0xDC00...0xDFFF ~= low else { throw .malformed("half a surrogate pair", at: at) }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else {
            throw .malformed("half a surrogate pair", at: at)
        }
        return scalar
    }

    private mutating func fourHexDigits() throws(JSONError) -> UInt32 {
        guard index + 4 <= bytes.count else { throw .malformed("four hex digits", at: index) }
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(bytes[index])).hexDigitValue else {
                throw .malformed("four hex digits", at: index)
            }
            code = code << 4 | UInt32(digit)
            index += 1
        }
        return code
    }
}
