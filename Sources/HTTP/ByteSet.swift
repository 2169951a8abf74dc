/// A set of ASCII bytes, and perhaps all others.
struct ByteSet {
    private let low: UInt64
    private let high: UInt64
    private let beyondASCII: Bool

    init(low: UInt64, high: UInt64, beyondASCII: Bool = false) {
        self.low = low
        self.high = high
        self.beyondASCII = beyondASCII
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        if byte < 64 { return low >> UInt64(byte) & 1 == 1 }
        if byte < 128 { return high >> UInt64(byte - 64) & 1 == 1 }
        return beyondASCII
    }

    /// `tchar` of RFC 9110: letters, digits and ``!#$%&'*+-.^_`|~``.
    static var token: ByteSet {
        ByteSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
    }

    /// `pchar` of RFC 3986, a slash and the percent sign.
    static var path: ByteSet {
        ByteSet(low: 0x2fff_fff2_0000_0000, high: 0x47ff_fffe_87ff_ffff)
    }

    /// What a path may have, and the question mark.
    static var query: ByteSet {
        ByteSet(low: 0xafff_fff2_0000_0000, high: 0x47ff_fffe_87ff_ffff)
    }

    /// What a host with its port may have, in brackets or not; no user before an at sign.
    static var host: ByteSet {
        ByteSet(low: 0x2fff_7ff2_0000_0000, high: 0x47ff_fffe_afff_fffe)
    }

    /// Tab, space, visible characters and everything beyond ASCII.
    static var fieldValue: ByteSet {
        ByteSet(low: 0xffff_ffff_0000_0200, high: 0x7fff_ffff_ffff_ffff, beyondASCII: true)
    }
}

/// Names for the bytes the protocol is made of.
enum ASCII {
    static var tab: UInt8 { 0x09 }
    static var lineFeed: UInt8 { 0x0a }
    static var carriageReturn: UInt8 { 0x0d }
    static var space: UInt8 { 0x20 }
    static var percent: UInt8 { 0x25 }
    static var plus: UInt8 { 0x2b }
    static var comma: UInt8 { 0x2c }
    static var slash: UInt8 { 0x2f }
    static var zero: UInt8 { 0x30 }
    static var colon: UInt8 { 0x3a }
    static var semicolon: UInt8 { 0x3b }
    static var equals: UInt8 { 0x3d }
    static var question: UInt8 { 0x3f }
    static var ampersand: UInt8 { 0x26 }

    /// The letter in lower case, anything else as it is.
    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
    }

    /// The value of a hexadecimal digit.
    @inline(__always)
    static func hexadecimal(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte) - 0x30
        case 0x41...0x46: Int(byte) - 0x41 + 10
        case 0x61...0x66: Int(byte) - 0x61 + 10
        default: nil
        }
    }
}

extension Array<UInt8> {
    /// Whether a range of these bytes is the given lower-case word, in any case.
    func matches(_ word: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == word.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count
        where ASCII.lowercased(self[range.lowerBound + offset]) != word.utf8Start[offset] {
            return false
        }
        return true
    }

    /// Whether a range of these bytes is the given word, in its own case.
    func equals(_ word: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == word.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count
        where self[range.lowerBound + offset] != word.utf8Start[offset] {
            return false
        }
        return true
    }

    /// The range without spaces and tabs at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start] == ASCII.space || self[start] == ASCII.tab { start += 1 }
        while end > start, self[end - 1] == ASCII.space || self[end - 1] == ASCII.tab { end -= 1 }
        return start..<end
    }

    /// The trimmed parts of a range between commas, without empty ones.
    func listItems(in range: Range<Int>) -> [Range<Int>] {
        self[range].split(separator: ASCII.comma)
            .map { trimmed($0.startIndex..<$0.endIndex) }
            .filter { !$0.isEmpty }
    }
}

extension Range<Int> {
    /// The range as counted from a place.
    func from(_ base: Int) -> Range<Int> {
        lowerBound - base..<upperBound - base
    }
}
