internal import Glibc

/// From bytes to requests, whatever pieces the bytes come in; no input or output of its own.
///
/// Give it bytes with `append` and ask for what they mean with `next` until that needs more.
///
/// - Source: RFC 9112; where that leaves a choice, the stricter reading.
public struct Parser {
    /// How much a request may have.
    public struct Limits: Sendable {
        /// The longest request target.
        public var targetBytes = 8 * 1_024
        /// The longest header section, with the request line; also the longest trailer section.
        public var headBytes = 32 * 1_024
        /// The most fields, and the most trailer fields.
        public var fields = 128

        /// The usual limits.
        public init() {}
    }

    /// What the bytes so far mean.
    public enum Step: Sendable {
        /// Nothing complete is left.
        case needsMore
        /// The client waits for a word before it sends the body of the request to come.
        case continueExpected
        /// A request, complete.
        case request(Request)
        /// What arrived is not acceptable; nothing more will be read.
        case refused(Refusal)
    }

    enum State {
        case line
        case fields
        case fixed(left: Int)
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case trailers
        case refused(Refusal)
    }

    static let chunkLineBytes = 1_024
    static let chunkExtensionBytes = 16 * 1_024

    let limits: Limits
    private let peer: String
    private let bodyLimit: @Sendable (_ method: String, _ path: String) -> Int

    var state = State.line
    var buffer: [UInt8] = []
    /// Where the section begins that is being read: a head, a chunk's line, the trailers.
    var base = 0
    /// Where the next line, or piece of body, begins.
    var cursor = 0
    /// Up to where no line end was found.
    private var scanned = 0

    var head = HeadInProgress()
    private var isLineSkipped = false
    private var pending: Head?
    var bodyLeft = 0
    var body: [UInt8] = []
    var extensionBytes = 0

    /// A parser of one connection's bytes.
    ///
    /// `bodyLimit` answers for a method and a path, with its escapes, how many bytes a body may
    /// have; it is asked before the body is read.
    public init(
        peer: String = "", limits: Limits = Limits(),
        bodyLimit: @escaping @Sendable (_ method: String, _ path: String) -> Int
    ) {
        self.peer = peer
        self.limits = limits
        self.bodyLimit = bodyLimit
    }

    /// Bytes that no request has taken yet.
    public var unreadBytes: Int { buffer.count - cursor }

    /// Whether nothing of a next request has arrived.
    public var isBetweenRequests: Bool {
        if case .line = state { cursor == buffer.count && !isLineSkipped } else { false }
    }

    /// Whether a head has been read and its body is awaited.
    public var isInBody: Bool { pending != nil }

    /// Takes the bytes that arrived next.
    public mutating func append(_ bytes: some Sequence<UInt8>) {
        makeRoom()
        buffer.append(contentsOf: bytes)
    }

    /// Takes the bytes that arrived next.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        makeRoom()
        buffer.append(contentsOf: bytes)
    }

    /// Forgets what has been read.
    private mutating func makeRoom() {
        guard base > 0 else { return }
        if base == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 64 * 1_024)
        } else if base >= 4_096 {
            buffer.removeFirst(base)
        } else {
            return
        }
        cursor -= base
        scanned -= base
        base = 0
    }

    /// What the bytes mean next.
    public mutating func next() -> Step {
        do {
            while true {
                if let step = try advanced() { return step }
            }
        } catch {
            state = .refused(error)
            return .refused(error)
        }
    }

    /// One piece further, with a step when there is something to say.
    private mutating func advanced() throws(Refusal) -> Step? {
        switch state {
        case .line: return try readRequestLine() ? nil : .needsMore
        case .fields:
            guard let line = try nextLine(within: limits.headBytes, otherwise: .headTooLarge) else {
                return .needsMore
            }
            guard line.isEmpty else {
                try head.add(line, in: buffer, base: base, atMost: limits.fields)
                return nil
            }
            return try beginBody()
        case .fixed, .chunkSize, .chunk, .chunkEnd, .trailers:
            guard try readBody() else { return .needsMore }
            return pending == nil ? nil : finished()
        case .refused(let refusal): throw refusal
        }
    }

    private mutating func readRequestLine() throws(Refusal) -> Bool {
        guard cursor < buffer.count else { return false }
        if buffer[cursor] == ASCII.carriageReturn, !isLineSkipped {
            // One empty line before a request is forgiven, as RFC 9112 2.2 asks.
            guard cursor + 1 < buffer.count else { return false }
            guard buffer[cursor + 1] == ASCII.lineFeed else { throw .badLineEnding }
            isLineSkipped = true
            cursor += 2
            begin(at: cursor)
            return true
        }
        // What begins otherwise, such as a TLS handshake, need not end a line to be refused.
        guard ByteSet.token.contains(buffer[cursor]) else { throw .badMethod }
        let limit = limits.targetBytes + RequestLine.maximumMethodBytes + 12
        guard let line = try nextLine(within: limit, otherwise: .targetTooLong) else {
            return false
        }
        head.line = try RequestLine(buffer, line, from: base, targetLimit: limits.targetBytes)
        state = .fields
        return true
    }

    /// The next line without its end, once it is there; it ends within so many bytes of `base`.
    mutating func nextLine(
        within limit: Int, otherwise refusal: Refusal
    ) throws(Refusal) -> Range<Int>? {
        let end = min(buffer.count, base + limit)
        let found = buffer.withUnsafeBytes { bytes -> Int? in
            guard scanned < end, let start = bytes.baseAddress,
                let place = memchr(start + scanned, Int32(ASCII.lineFeed), end - scanned)
            else { return nil }
            return UnsafeRawPointer(place) - start
        }
        guard let found else {
            guard buffer.count < base + limit else { throw refusal }
            scanned = end
            return nil
        }
        guard found > cursor, buffer[found - 1] == ASCII.carriageReturn else {
            throw .badLineEnding
        }
        let line = cursor..<found - 1
        cursor = found + 1
        scanned = cursor
        return line
    }

    /// Starts a section here.
    mutating func begin(at place: Int) {
        base = place
        cursor = place
        scanned = place
    }

    /// Decides after the last field how the body is framed.
    private mutating func beginBody() throws(Refusal) -> Step? {
        let bytes = Array(buffer[base..<cursor])
        guard let line = head.line else { preconditionFailure("fields without a request line") }
        let framing = try head.framing(in: bytes)
        let done = Head(
            bytes: bytes, line: line, fields: head.fields, keepsAlive: head.keepsAlive(in: bytes))
        let expectsContinue = head.expectsContinue
        head = HeadInProgress()
        isLineSkipped = false
        begin(at: cursor)
        pending = done
        switch framing {
        case .none: return finished()
        case .fixed(let count):
            bodyLeft = bodyLimit(done.text(done.method), pathText(done))
            guard count <= bodyLeft else { throw .bodyTooLarge(limit: bodyLeft) }
            state = .fixed(left: count)
        case .chunked:
            bodyLeft = bodyLimit(done.text(done.method), pathText(done))
            extensionBytes = 0
            state = .chunkSize
        }
        return expectsContinue ? .continueExpected : nil
    }

    private func pathText(_ head: Head) -> String {
        head.path.isEmpty ? "/" : head.text(head.path)
    }

    private mutating func finished() -> Step {
        guard let head = pending else { preconditionFailure("a body without a head") }
        let request = Request(head: head, body: body, peer: peer)
        pending = nil
        body = []
        state = .line
        begin(at: cursor)
        return .request(request)
    }
}
