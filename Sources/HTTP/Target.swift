/// Where the path and the query are in a request target.
struct Target {
    /// Empty stands for `/`.
    var path: Range<Int>
    var query: Range<Int>?

    /// Reads an origin-form, an absolute-form of http or https, or the asterisk of `OPTIONS`.
    init(_ bytes: [UInt8], _ range: Range<Int>, isOptions: Bool) throws(Refusal) {
        guard let first = bytes[range].first else { throw .badRequestLine }
        var start = range.lowerBound
        if first != ASCII.slash {
            if first == UInt8(ascii: "*"), range.count == 1, isOptions {
                self.path = range
                return
            }
            start = try Self.afterAuthority(bytes, range)
        }
        var question = start
        while question < range.upperBound, bytes[question] != ASCII.question {
            guard ByteSet.path.contains(bytes[question]) else { throw .badTarget }
            question += 1
        }
        path = start..<question
        try Self.checkEscapes(bytes, path)
        guard question < range.upperBound else { return }
        let query = question + 1..<range.upperBound
        for index in query where !ByteSet.query.contains(bytes[index]) { throw .badTarget }
        try Self.checkEscapes(bytes, query)
        self.query = query
    }

    /// Where the path of an absolute-form begins.
    private static func afterAuthority(
        _ bytes: [UInt8], _ range: Range<Int>
    ) throws(Refusal) -> Int {
        var start = range.lowerBound
        if range.count > 7, bytes.matches("http://", in: start..<start + 7) {
            start += 7
        } else if range.count > 8, bytes.matches("https://", in: start..<start + 8) {
            start += 8
        } else {
            throw .badTarget
        }
        var end = start
        while end < range.upperBound, bytes[end] != ASCII.slash, bytes[end] != ASCII.question {
            guard ByteSet.host.contains(bytes[end]) else { throw .badTarget }
            end += 1
        }
        guard end > start else { throw .badTarget }
        return end
    }

    /// Every percent sign begins an escape; together they decode to UTF-8 without NUL.
    private static func checkEscapes(_ bytes: [UInt8], _ range: Range<Int>) throws(Refusal) {
        guard bytes[range].contains(ASCII.percent) else { return }
        guard let decoded = decode(bytes[range], plusIsSpace: false), !decoded.contains(0),
            String(validating: decoded, as: UTF8.self) != nil
        else { throw .badTarget }
    }

    /// The bytes with escapes replaced, unless one is broken.
    static func decode(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            guard byte == ASCII.percent else {
                decoded.append(plusIsSpace && byte == ASCII.plus ? ASCII.space : byte)
                continue
            }
            guard index + 2 <= bytes.endIndex, let high = ASCII.hexadecimal(bytes[index]),
                let low = ASCII.hexadecimal(bytes[index + 1])
            else { return nil }
            decoded.append(UInt8(high * 16 + low))
            index += 2
        }
        return decoded
    }

    /// Decoded text of what the parser has accepted.
    static func text(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> String {
        guard let decoded = decode(bytes, plusIsSpace: plusIsSpace) else {
            preconditionFailure("a target with broken escapes was accepted")
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
