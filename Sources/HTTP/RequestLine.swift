/// The first line of a request, as ranges of the bytes it was read from.
struct RequestLine {
    /// No method that anyone uses is longer.
    static let maximumMethodBytes = 32

    let method: Range<Int>
    let target: Range<Int>
    let parts: Target
    let isOneOne: Bool

    /// Reads a line without its end.
    init(_ bytes: [UInt8], _ line: Range<Int>, targetLimit: Int) throws(Refusal) {
        var index = line.lowerBound
        while index < line.upperBound, ByteSet.token.contains(bytes[index]) { index += 1 }
        guard index < line.upperBound, bytes[index] == ASCII.space, index > line.lowerBound,
            index - line.lowerBound <= Self.maximumMethodBytes
        else { throw .badMethod }
        method = line.lowerBound..<index
        let start = index + 1
        index = start
        while index < line.upperBound, bytes[index] > ASCII.space { index += 1 }
        guard index - start <= targetLimit else { throw .targetTooLong }
        guard index < line.upperBound, bytes[index] == ASCII.space, index > start else {
            throw index < line.upperBound && index > start ? .badTarget : .badRequestLine
        }
        target = start..<index
        isOneOne = try Self.version(bytes, index + 1..<line.upperBound)
        // The target of CONNECT has a form of its own, so the method is looked at first.
        guard !bytes[method].elementsEqual("CONNECT".utf8) else { throw .methodNotImplemented }
        let isOptions = bytes[method].elementsEqual("OPTIONS".utf8)
        parts = try Target(bytes, target, isOptions: isOptions)
    }

    /// Whether the version is 1.1, not 1.0.
    private static func version(_ bytes: [UInt8], _ range: Range<Int>) throws(Refusal) -> Bool {
        let start = range.lowerBound
        guard range.count == 8, bytes[start..<start + 5].elementsEqual("HTTP/".utf8),
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
