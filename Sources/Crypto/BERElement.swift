/// One element of ASN.1, as its basic encoding rules write it: a tag and what it holds.
///
/// Reading is bounded by the bytes: nothing is reserved that they do not back.
///
/// - Source: ITU-T X.690. Tags above 30 and lengths above 4 GiB are not read.
public struct BERElement: Sendable {
    /// The tags of ASN.1 that are asked for by name.
    public enum Tag {
        /// A whole number.
        public static let integer: UInt8 = 0x02
        /// Bytes.
        public static let octets: UInt8 = 0x04
        /// Text in UTF-8.
        public static let utf8: UInt8 = 0x0C
        /// Elements in their order.
        public static let sequence: UInt8 = 0x10
        /// Elements in no order.
        public static let set: UInt8 = 0x11
        /// Text of letters, digits and a few marks.
        public static let printable: UInt8 = 0x13
        /// Text in ASCII.
        public static let ascii: UInt8 = 0x16
    }

    /// Deepest nesting that is followed.
    private static let depthLimit = 16

    /// Class and number, without the bit that says whether elements are inside.
    public let tag: UInt8
    /// Whether elements are inside.
    public let isConstructed: Bool
    /// What lies between the header and the end.
    public let content: ArraySlice<UInt8>

    /// The elements that these bytes are, one after another.
    ///
    /// - Shape: `nil` when the bytes are anything else.
    public static func all(in bytes: ArraySlice<UInt8>) -> [BERElement]? {
        var rest = bytes
        var elements: [BERElement] = []
        while !rest.isEmpty {
            guard let element = next(&rest, depth: 0) else { return nil }
            elements.append(element)
        }
        return elements
    }

    /// The only element that these bytes are.
    public static func only(in bytes: ArraySlice<UInt8>) -> BERElement? {
        var rest = bytes
        guard let element = next(&rest, depth: 0), rest.isEmpty else { return nil }
        return element
    }

    /// The elements inside.
    public var elements: [BERElement]? {
        isConstructed ? BERElement.all(in: content) : nil
    }

    /// The bytes of an octet string, joined when it is written in pieces.
    public var octets: [UInt8]? { octets(depth: 0) }

    /// The value of an integer.
    ///
    /// - Shape: `nil` for another tag and for one that needs more than 64 bits.
    public var integer: Int64? {
        guard tag == Tag.integer, !isConstructed, let first = content.first, content.count <= 8
        else { return nil }
        return content.reduce(first & 0x80 == 0 ? 0 : -1) { $0 << 8 | Int64($1) }
    }

    /// The characters of a text.
    ///
    /// - Shape: `nil` for another tag and for bytes that are not UTF-8.
    public var text: String? {
        guard [Tag.utf8, Tag.ascii, Tag.printable].contains(tag), !isConstructed else { return nil }
        return String(validating: content, as: UTF8.self)
    }

    private func octets(depth: Int) -> [UInt8]? {
        guard tag == Tag.octets, depth < BERElement.depthLimit else { return nil }
        guard isConstructed else { return Array(content) }
        guard let pieces = elements else { return nil }
        var joined: [UInt8] = []
        for piece in pieces {
            guard let part = piece.octets(depth: depth + 1) else { return nil }
            joined += part
        }
        return joined
    }

    /// Takes the first element off the bytes.
    private static func next(_ rest: inout ArraySlice<UInt8>, depth: Int) -> BERElement? {
        guard depth < depthLimit, let identifier = rest.popFirst(), identifier & 0x1F != 0x1F,
            let first = rest.popFirst()
        else { return nil }
        let isConstructed = identifier & 0x20 != 0
        let tag = identifier & ~0x20
        if first == 0x80 {
            guard isConstructed, let content = openContent(&rest, depth: depth) else { return nil }
            return BERElement(tag: tag, isConstructed: true, content: content)
        }
        guard let count = length(first, &rest), count <= rest.count else { return nil }
        let content = rest.prefix(count)
        rest = rest.dropFirst(count)
        return BERElement(tag: tag, isConstructed: isConstructed, content: content)
    }

    private static func length(_ first: UInt8, _ rest: inout ArraySlice<UInt8>) -> Int? {
        guard first & 0x80 != 0 else { return Int(first) }
        let digits = Int(first & 0x7F)
        guard digits <= 4, digits <= rest.count else { return nil }
        let count = rest.prefix(digits).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(digits)
        return count
    }

    /// What lies before the two zeros that end an element whose length was left open.
    private static func openContent(
        _ rest: inout ArraySlice<UInt8>, depth: Int
    ) -> ArraySlice<UInt8>? {
        let whole = rest
        while !rest.starts(with: [0, 0]) {
            guard next(&rest, depth: depth + 1) != nil else { return nil }
        }
        let content = whole[..<rest.startIndex]
        rest = rest.dropFirst(2)
        return content
    }
}
