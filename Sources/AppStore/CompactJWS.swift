import Crypto

/// A compact JWS, taken apart: what was signed, and by which signature.
///
/// Base64 may be written in either alphabet, padded, broken by white space, or with `+` turned into
/// a space (R18); what was signed is always the canonical text.
/// - Source: RFC 7515, section 7.1.
struct CompactJWS {
    /// The three segments as they arrived.
    let segments: [ArraySlice<UInt8>]

    /// Takes text apart at its two dots.
    init(_ text: [UInt8]) throws(Refusal) {
        let parts = CompactJWS.trimmed(text[...])
            .split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw .malformed("a compact JWS has three segments")
        }
        guard !parts[0].isEmpty, !parts[1].isEmpty else {
            throw .malformed("a segment is empty")
        }
        segments = parts
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        guard let first = text.firstIndex(where: { !isBlank($0) }),
            let last = text.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return text[first...last]
    }
}

/// One segment of a JWS: its canonical text and the bytes it writes.
struct Segment {
    /// URL-safe base64 without padding.
    let text: ArraySlice<UInt8>
    /// The decoded bytes.
    let bytes: [UInt8]
    /// Whether it arrived written otherwise.
    let isRewritten: Bool

    /// Reads a segment whose right bytes can be recognised.
    ///
    /// A space is white space or a lost `+`: the reading that gives recognisable bytes is taken.
    init(
        _ arrived: ArraySlice<UInt8>, named name: String, isRight: ([UInt8]) -> Bool
    ) throws(Refusal) {
        if let bytes = Base64.decode(arrived), !arrived.contains(where: Segment.isForeign) {
            self.init(text: arrived, bytes: bytes, isRewritten: false)
            return
        }
        let first = Segment(rewriting: arrived, spaces: .ignored)
        if let first, isRight(first.bytes) {
            self = first
            return
        }
        if arrived.contains(UInt8(ascii: " ")),
            let second = Segment(rewriting: arrived, spaces: .plus), isRight(second.bytes)
        {
            self = second
            return
        }
        guard let first else { throw .malformed("the \(name) is not base64") }
        self = first
    }

    private init(text: ArraySlice<UInt8>, bytes: [UInt8], isRewritten: Bool) {
        self.text = text
        self.bytes = bytes
        self.isRewritten = isRewritten
    }

    private init?(rewriting arrived: ArraySlice<UInt8>, spaces: Base64.Space) {
        guard let text = Base64.normalized(arrived, spaces: spaces),
            let bytes = Base64.decode(text)
        else { return nil }
        self.init(text: text[...], bytes: bytes, isRewritten: true)
    }

    /// Whether a character is base64 and yet not of the canonical text.
    private static func isForeign(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="), ...UInt8(ascii: " "): true
        default: false
        }
    }
}
