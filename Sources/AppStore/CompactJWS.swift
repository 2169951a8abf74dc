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
        let whole = CompactJWS.trimmed(text[...])
        let dot = UInt8(ascii: ".")
        guard let first = whole.index(of: dot), let last = whole[(first + 1)...].index(of: dot),
            whole[(last + 1)...].index(of: dot) == nil
        else {
            throw .malformed("a compact JWS has three segments")
        }
        guard first > whole.startIndex, last > first + 1 else {
            throw .malformed("a segment is empty")
        }
        segments = [whole[..<first], whole[(first + 1)..<last], whole[(last + 1)...]]
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
        if let bytes = Base64.decodeURLSafe(arrived) {
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
}
