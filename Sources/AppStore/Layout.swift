import Crypto

/// How the base64 of a compact JWS was written.
struct Layout: Equatable {
    /// With `+` and `/`.
    var isStandard = false
    /// With `+` turned into a space.
    var hasSpaces = false
    /// Each segment padded with `=`.
    var isPadded = false
    /// Characters a line, counted over the whole text; 0 without lines.
    var width = 0
    /// What ends a line.
    var lineEnd: [UInt8] = []
    /// White space before the text.
    var prefix: [UInt8] = []
    /// White space after the text.
    var suffix: [UInt8] = []

    /// What a text seems to have been written with; restoring shows whether that is all.
    init(of text: [UInt8]) {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        prefix = Array(text.prefix(while: isBlank))
        suffix = Array(text.dropFirst(prefix.count).reversed().prefix(while: isBlank).reversed())
        let inner = text[prefix.count..<(text.count - suffix.count)]
        if let first = inner.firstIndex(where: { (0x09...0x0D).contains($0) }) {
            width = first - inner.startIndex
            lineEnd = Array(inner[first...].prefix { (0x09...0x0D).contains($0) })
        }
        isPadded = inner.contains(UInt8(ascii: "="))
        hasSpaces = inner.contains(UInt8(ascii: " "))
        isStandard =
            hasSpaces || inner.contains(UInt8(ascii: "+")) || inner.contains(UInt8(ascii: "/"))
    }

    /// As RFC 7515 has it.
    init() {}

    /// The flags of the compact form; 0 is the canonical way, and nothing follows it.
    var flags: UInt8 {
        let isBroken = width > 0 || !prefix.isEmpty || !suffix.isEmpty
        return (isStandard ? 1 : 0) | (hasSpaces ? 2 : 0) | (isPadded ? 4 : 0) | (isBroken ? 8 : 0)
    }

    init(flags: UInt8) {
        isStandard = flags & 1 != 0
        hasSpaces = flags & 2 != 0
        isPadded = flags & 4 != 0
    }

    /// Three canonical segments, joined and written this way.
    func write(_ segments: [[UInt8]]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(segments.reduce(16) { $0 + $1.count })
        for segment in segments {
            if !text.isEmpty { text.append(UInt8(ascii: ".")) }
            text += isStandard ? segment.map(standard) : segment
            if isPadded {
                let count = (4 - segment.count % 4) % 4
                text += repeatElement(UInt8(ascii: "="), count: count)
            }
        }
        guard flags & 8 != 0 else { return text }
        guard width > 0 else { return prefix + text + suffix }
        var lines = prefix
        for start in stride(from: 0, to: text.count, by: width) {
            if start > 0 { lines += lineEnd }
            lines += text[start..<min(start + width, text.count)]
        }
        return lines + suffix
    }

    private func standard(_ character: UInt8) -> UInt8 {
        switch character {
        case UInt8(ascii: "-"): hasSpaces ? UInt8(ascii: " ") : UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: character
        }
    }
}
