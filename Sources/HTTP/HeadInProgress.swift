/// What is known of a head whose fields are still being read.
struct HeadInProgress {
    enum Framing {
        case none
        case fixed(Int)
        case chunked
    }

    var line: RequestLine?
    /// Ranges count from the first byte of the head.
    var fields: [Head.Field] = []
    private var hosts = 0
    private var lengths = 0
    private var length = 0
    private var transferEncodings: [Range<Int>] = []
    private var connections: [Range<Int>] = []
    private var expectation: Range<Int>?
    private(set) var expectsContinue = false

    /// Adds a field's line, which lies in `buffer`.
    mutating func add(
        _ line: Range<Int>, in buffer: [UInt8], base: Int, atMost limit: Int
    ) throws(Refusal) {
        let start = line.lowerBound
        guard buffer[start] != ASCII.space, buffer[start] != ASCII.tab else { throw .foldedField }
        var colon = start
        while colon < line.upperBound, ByteSet.token.contains(buffer[colon]) { colon += 1 }
        guard colon < line.upperBound, buffer[colon] == ASCII.colon, colon > start else {
            throw .badFieldName
        }
        for index in colon + 1..<line.upperBound
        where !ByteSet.fieldValue.contains(buffer[index]) {
            throw .badFieldValue
        }
        guard fields.count < limit else { throw .headTooLarge }
        let value = buffer.trimmed(colon + 1..<line.upperBound)
        if fields.isEmpty { fields.reserveCapacity(8) }
        let field = Head.Field(name: (start..<colon).from(base), value: value.from(base))
        fields.append(field)
        try note(start..<colon, value, field.value, in: buffer)
    }

    /// Remembers a field that matters to the framing.
    private mutating func note(
        _ name: Range<Int>, _ value: Range<Int>, _ relative: Range<Int>, in buffer: [UInt8]
    ) throws(Refusal) {
        switch name.count {
        case 4 where buffer.matches("host", in: name):
            hosts += 1
            guard !value.isEmpty else { throw .badHost }
            for index in value where !ByteSet.host.contains(buffer[index]) { throw .badHost }
        case 6 where buffer.matches("expect", in: name): expectation = relative
        case 10 where buffer.matches("connection", in: name): connections.append(relative)
        case 14 where buffer.matches("content-length", in: name):
            lengths += 1
            length = try Self.number(buffer[value])
        case 17 where buffer.matches("transfer-encoding", in: name):
            transferEncodings.append(relative)
        default: break
        }
    }

    /// A decimal number; one that no body can have stands for the largest.
    private static func number(_ digits: ArraySlice<UInt8>) throws(Refusal) -> Int {
        guard !digits.isEmpty else { throw .badContentLength }
        var number = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { throw .badContentLength }
            let (product, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflow2) = product.addingReportingOverflow(Int(digit) - 0x30)
            number = overflow || overflow2 || number == .max ? .max : sum
        }
        return number
    }

    /// How the body is framed; refuses what another reader could take otherwise.
    mutating func framing(in bytes: [UInt8]) throws(Refusal) -> Framing {
        guard let line else { preconditionFailure("fields without a request line") }
        guard hosts == 1 || (hosts == 0 && !line.isOneOne) else { throw .badHost }
        guard lengths <= 1 else { throw .badContentLength }
        var framing = lengths == 1 && length > 0 ? Framing.fixed(length) : .none
        if !transferEncodings.isEmpty {
            guard lengths == 0, line.isOneOne else { throw .ambiguousFraming }
            let codings = transferEncodings.flatMap { bytes.listItems(in: $0) }
            for coding in codings where !bytes.matches("chunked", in: coding) {
                throw .unknownTransferEncoding
            }
            guard codings.count == 1 else { throw .badTransferEncoding }
            framing = .chunked
        }
        if let expectation, line.isOneOne {
            guard bytes.matches("100-continue", in: expectation) else { throw .unknownExpectation }
            if case .none = framing {} else { expectsContinue = true }
        }
        return framing
    }

    /// Whether the connection outlives the request.
    func keepsAlive(in bytes: [UInt8]) -> Bool {
        let options = connections.flatMap { bytes.listItems(in: $0) }
        if options.contains(where: { bytes.matches("close", in: $0) }) { return false }
        if let line, line.isOneOne { return true }
        return options.contains { bytes.matches("keep-alive", in: $0) }
    }
}
