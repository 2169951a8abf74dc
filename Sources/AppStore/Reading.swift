import Domain

/// Reads the members of a payload as generously as R18 asks.
///
/// Numbers may be written as text and text as numbers; null and empty text are absent; any other
/// type holds the payload back, naming the member.
struct Reading {
    private let whole: JSON
    private let path: String

    /// Reads a payload.
    init(_ payload: JSON?) throws(Hold) {
        guard let payload, payload.members != nil else {
            throw Hold(.unparsable, "the payload is no JSON object")
        }
        whole = payload
        path = ""
    }

    private init(_ whole: JSON, path: String) {
        self.whole = whole
        self.path = path
    }

    /// The member, unless absent.
    private func member(_ name: String) -> JSON? {
        guard let value = whole[name], value != .string("") else { return nil }
        return value
    }

    private func unparsable(_ name: String, _ found: JSON, wanted: String) -> Hold {
        Hold(.unparsable, "\(path)\(name) is \(found.kindName), not \(wanted)")
    }

    /// An object.
    func object(_ name: String) throws(Hold) -> Reading? {
        guard let value = member(name) else { return nil }
        guard value.members != nil else { throw unparsable(name, value, wanted: "an object") }
        return Reading(value, path: "\(path)\(name).")
    }

    /// A list of objects; empty when absent.
    func objects(_ name: String) throws(Hold) -> [Reading] {
        guard let value = member(name) else { return [] }
        guard let elements = value.elements else { throw unparsable(name, value, wanted: "a list") }
        var found: [Reading] = []
        for (index, element) in elements.enumerated() {
            guard element.members != nil else {
                throw unparsable("\(name)[\(index)]", element, wanted: "an object")
            }
            found.append(Reading(element, path: "\(path)\(name)[\(index)]."))
        }
        return found
    }

    /// A text or identifier.
    func text(_ name: String) throws(Hold) -> String? {
        guard let value = member(name) else { return nil }
        switch value {
        case .string(let text):
            // No database keeps one as text, and nothing that Apple writes has one.
            guard !Reading.hasNUL(text) else {
                throw Hold(.unparsable, "\(path)\(name) has a NUL character")
            }
            return text
        case .integer(let number): return String(number)
        case .number(let digits) where digits.utf8.allSatisfy { $0 &- 0x30 < 10 }: return digits
        default: throw unparsable(name, value, wanted: "a text")
        }
    }

    /// Looks through the bytes as they lie, since texts signed inside are long.
    private static func hasNUL(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { $0.contains(0) } ?? text.utf8.contains(0)
    }

    /// An identifier: what the record is keyed by, so it has a length.
    func identifier(_ name: String) throws(Hold) -> String? {
        guard let text = try text(name) else { return nil }
        guard text.utf8.count <= Reading.longestIdentifier else {
            throw Hold(
                .unparsable, "\(path)\(name) is longer than \(Reading.longestIdentifier) bytes")
        }
        // Streams and paths are made of identifiers with slashes between.
        guard !text.utf8.contains(UInt8(ascii: "/")) else {
            throw Hold(.unparsable, "\(path)\(name) has a slash")
        }
        return text
    }

    /// An identifier that must be there.
    func required(_ name: String) throws(Hold) -> String {
        guard let text = try identifier(name) else {
            throw Hold(.unparsable, "\(path)\(name) is missing")
        }
        return text
    }

    /// Several times as long as any that Apple writes. Units: bytes.
    private static let longestIdentifier = 255

    /// A whole number.
    func integer(_ name: String) throws(Hold) -> Int64? {
        guard let value = member(name) else { return nil }
        switch value {
        case .integer(let number): return number
        case .bool(let truth): return truth ? 1 : 0
        case .number(let digits), .string(let digits):
            guard let number = Decimal(digits), number.isWhole else { break }
            return number.floor
        default: break
        }
        throw unparsable(name, value, wanted: "a whole number")
    }

    /// A truth value.
    func truth(_ name: String) throws(Hold) -> Bool? {
        guard let value = member(name) else { return nil }
        switch value {
        case .bool(let truth): return truth
        case .integer(0), .string("0"), .string("false"): return false
        case .integer(1), .string("1"), .string("true"): return true
        default: throw unparsable(name, value, wanted: "a truth value")
        }
    }

    /// An instant, not yet known to be in range.
    func instant(_ name: String) throws(Hold) -> Instant? {
        guard let value = member(name) else { return nil }
        guard let milliseconds = Reading.milliseconds(value) else {
            throw unparsable(name, value, wanted: "a number of milliseconds")
        }
        return Instant(milliseconds: milliseconds)
    }

    /// An object of the members with these names, for the ones that are there.
    func excerpt(_ names: [String]) -> JSON? {
        let found = names.compactMap { name in member(name).map { JSON.Member(name, $0) } }
        return found.isEmpty ? nil : .object(found)
    }

    /// An object as it is, for what we keep and do not read, in the form of the record: members in
    /// order, and numbers that are not whole as text.
    func kept(_ name: String) throws(Hold) -> JSON? {
        guard let object = try object(name) else { return nil }
        return try object.recordable(object.whole, depth: 0)
    }

    private func recordable(_ value: JSON, depth: Int) throws(Hold) -> JSON {
        guard depth < Reading.deepestKept else {
            throw Hold(.unparsable, "\(path.dropLast()) is nested too deep")
        }
        switch value {
        case .null, .bool, .integer: return value
        case .number(let digits): return .string(digits)
        case .string(let text):
            guard !Reading.hasNUL(text) else {
                throw Hold(.unparsable, "\(path.dropLast()) has a NUL character")
            }
            return value
        case .array(let elements):
            var kept: [JSON] = []
            for element in elements { kept.append(try recordable(element, depth: depth + 1)) }
            return .array(kept)
        case .object(let members):
            var kept: [JSON.Member] = []
            for member in members {
                guard !Reading.hasNUL(member.name) else {
                    throw Hold(.unparsable, "\(path.dropLast()) has a NUL character")
                }
                kept.append(
                    JSON.Member(member.name, try recordable(member.value, depth: depth + 1)))
            }
            return .object(
                kept.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
        }
    }

    /// Deeper than anything Apple writes, and well within what the record's reader follows.
    private static let deepestKept = 16

    /// Milliseconds, fractions rounded down.
    static func milliseconds(_ value: JSON) -> Int64? {
        switch value {
        case .integer(let number): number
        case .number(let digits), .string(let digits): Decimal(digits)?.floor
        default: nil
        }
    }
}

/// A decimal number as JSON writes it, read without rounding.
private struct Decimal {
    /// The greatest whole number that is not above it; the nearest 64-bit one when beyond those.
    let floor: Int64
    /// Whether it has no fraction and fits 64 bits.
    let isWhole: Bool

    init?(_ text: String) {
        let digits = text.utf8
        guard let first = digits.first, first == UInt8(ascii: "-") || first &- 0x30 < 10,
            let double = Double(text), double.isFinite
        else { return nil }
        if let number = Int64(text) {
            self.init(floor: number, isWhole: true)
        } else if digits.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }) {
            // An exponent is nothing that Apple writes: a double is exact enough.
            self.init(double)
        } else {
            self.init(plain: text, negative: first == UInt8(ascii: "-"), double)
        }
    }

    private init(floor: Int64, isWhole: Bool) {
        self.floor = floor
        self.isWhole = isWhole
    }

    private init(_ double: Double) {
        guard let exact = Int64(exactly: double.rounded(.down)) else {
            self.init(floor: double < 0 ? .min : .max, isWhole: false)
            return
        }
        self.init(floor: exact, isWhole: double == double.rounded(.down))
    }

    private init(plain text: String, negative: Bool, _ double: Double) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let whole = Int64(parts[0]) else {
            self.init(floor: negative ? .min : .max, isWhole: false)
            return
        }
        let hasFraction = parts[1].contains { $0 != "0" }
        self.init(floor: negative && hasFraction ? whole - 1 : whole, isWhole: !hasFraction)
    }
}
