/// The first line of a request, as ranges that count from a place in the bytes it is read from.
struct RequestLine {
    /// No method that anyone uses is longer.
    static let maximumMethodBytes = 32

    let method: Range<Int>
    let target: Range<Int>
    let path: Range<Int>
    let query: Range<Int>?
    let isOneOne: Bool

    /// Reads a line without its end.
    init(
        _ bytes: [UInt8], _ line: Range<Int>, from base: Int, targetLimit: Int
    ) throws(Refusal) {
        var index = line.lowerBound
        while index < line.upperBound, ByteSet.token.contains(bytes[index]) { index += 1 }
        guard index < line.upperBound, bytes[index] == ASCII.space, index > line.lowerBound,
            index - line.lowerBound <= Self.maximumMethodBytes
        else { throw .badMethod }
        let method = line.lowerBound..<index
        let start = index + 1
        index = start
        while index < line.upperBound, bytes[index] > ASCII.space { index += 1 }
        guard index - start <= targetLimit else { throw .targetTooLong }
        guard index < line.upperBound, bytes[index] == ASCII.space, index > start else {
            throw index < line.upperBound && index > start ? .badTarget : .badRequestLine
        }
        let target = start..<index
        isOneOne = try Self.version(bytes, index + 1..<line.upperBound)
        // The target of CONNECT has a form of its own, so the method is looked at first.
        guard !bytes.equals("CONNECT", in: method) else { throw .methodNotSupported }
        let parts = try Target(bytes, target, isOptions: bytes.equals("OPTIONS", in: method))
        self.method = method.from(base)
        self.target = target.from(base)
        path = parts.path.from(base)
        query = parts.query?.from(base)
    }

    /// Whether the version is 1.1, not 1.0.
    private static func version(_ bytes: [UInt8], _ range: Range<Int>) throws(Refusal) -> Bool {
        let start = range.lowerBound
        guard range.count == 8, bytes.equals("HTTP/", in: start..<start + 5),
            isDigit(bytes[start + 5]), bytes[start + 6] == UInt8(ascii: "."),
            isDigit(bytes[start + 7])
        else { throw .badRequestLine }
        guard bytes[start + 5] == UInt8(ascii: "1"), bytes[start + 7] <= UInt8(ascii: "1") else {
            throw .versionNotSupported
        }
        return bytes[start + 7] == UInt8(ascii: "1")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39
    }
}
