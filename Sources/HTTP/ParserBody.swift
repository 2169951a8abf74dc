extension Parser {
    /// Reads body while there is some; whether it is complete.
    mutating func readBody() throws(Refusal) -> Bool {
        while true {
            switch state {
            case .fixed(let left):
                let taken = take(atMost: left)
                state = .fixed(left: left - taken)
                return taken == left
            case .chunk(let left):
                let taken = take(atMost: left)
                state = taken == left ? .chunkEnd : .chunk(left: left - taken)
                guard taken == left else { return false }
            case .chunkEnd:
                guard cursor < buffer.count else { return false }
                guard buffer[cursor] == ASCII.carriageReturn else { throw .badChunk }
                guard cursor + 1 < buffer.count else { return false }
                guard buffer[cursor + 1] == ASCII.lineFeed else { throw .badChunk }
                begin(at: cursor + 2)
                state = .chunkSize
            case .chunkSize:
                guard let line = try nextLine(within: Self.chunkLineBytes, otherwise: .badChunk)
                else { return false }
                let size = try chunkSize(line)
                begin(at: cursor)
                guard size <= bodyLeft - body.count else { throw .bodyTooLarge(limit: bodyLeft) }
                state = size == 0 ? .trailers : .chunk(left: size)
            case .trailers:
                guard let line = try nextLine(within: limits.headBytes, otherwise: .headTooLarge)
                else { return false }
                guard !line.isEmpty else {
                    head = HeadInProgress()
                    return true
                }
                // Trailers are checked as fields are, and then dropped: nothing here needs one.
                try head.add(line, in: buffer, base: base, atMost: limits.fields)
            case .line, .fields, .refused:
                preconditionFailure("no body is being read")
            }
        }
    }

    /// Moves what has arrived of the body to it; how much that was.
    private mutating func take(atMost count: Int) -> Int {
        let taken = min(count, buffer.count - cursor)
        guard taken > 0 else { return 0 }
        body.append(contentsOf: buffer[cursor..<cursor + taken])
        begin(at: cursor + taken)
        return taken
    }

    private mutating func chunkSize(_ line: Range<Int>) throws(Refusal) -> Int {
        var size = 0
        var index = line.lowerBound
        while index < line.upperBound, let digit = ASCII.hexadecimal(buffer[index]) {
            // Fifteen digits cannot overflow, and no honest chunk needs as many.
            guard index - line.lowerBound < 15 else { throw .badChunk }
            size = size * 16 + digit
            index += 1
        }
        guard index > line.lowerBound else { throw .badChunk }
        guard index < line.upperBound else { return size }
        extensionBytes += line.upperBound - index
        guard extensionBytes <= Self.chunkExtensionBytes else { throw .badChunk }
        guard buffer[index] == ASCII.semicolon else { throw .badChunk }
        for place in index..<line.upperBound where !ByteSet.fieldValue.contains(buffer[place]) {
            throw .badChunk
        }
        return size
    }
}
