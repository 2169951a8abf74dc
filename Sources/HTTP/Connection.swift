internal import EventLoop
internal import Glibc

/// One client's connection: reads requests, one after the other, and writes what is answered.
///
/// `@unchecked` holds because its variables are touched on its loop alone: watches and timers call
/// there, a handler's task runs there, which `begin` and `endStream` check, and a `Writer` goes there
/// before it hands over a piece, which `offer` and `awaitRoom` check.
final class Connection: @unchecked Sendable {
    enum Phase {
        /// Nothing of a next request has arrived.
        case idle
        /// A head has begun.
        case head
        /// A head is complete and its body is not.
        case body
        /// The handler has the request.
        case handling
        /// The handler's stream is being written.
        case streaming
        /// All is said; what still arrives is thrown away until the client closes.
        case lingering
        case closed
    }

    let acceptor: Acceptor
    let loop: EventLoop
    let socket: Int32
    private let peer: String
    private var watch: Watch?
    /// Where the acceptor keeps it.
    var slot = 0
    var isDirty = false

    var parser: Parser
    var phase = Phase.idle
    /// When the phase is over.
    ///
    /// - Shape: 0 when it may last.
    /// - Units: milliseconds of the loop's clock.
    private(set) var deadline: UInt64
    private var sawEnd = false
    private var bytesInWindow = 0
    private var lingered = 0

    var framing = Framing()
    private var keepsAlive = true
    private var task: Task<Void, Never>?
    var out: Outgoing
    private var closesWhenWritten = false
    private var waiting: CheckedContinuation<Bool, Never>?

    init(socket: Int32, peer: String, tls: TLSSession?, of acceptor: Acceptor) {
        self.acceptor = acceptor
        self.socket = socket
        self.peer = peer
        loop = acceptor.loop
        out = Outgoing(socket: socket, tls: tls)
        parser = Parser(
            peer: peer, limits: acceptor.limits.parser, bodyLimit: acceptor.service.bodyLimit)
        deadline = acceptor.loop.nowMilliseconds + acceptor.limits.headTime.inMilliseconds
        watch = loop.watch(socket, .readable) { [unowned self] in attend($0, $1) }
    }

    private var limits: Server.Limits { acceptor.limits }

    private func setDeadline(after time: Duration) {
        deadline = loop.nowMilliseconds + time.inMilliseconds
    }

    private func attend(_ ready: Interest, _ error: Int32) {
        guard error == 0 else { return close() }
        if ready.contains(.writable) { flush() }
        if ready.contains(.readable), phase != .closed { readable() }
    }

    // MARK: Reading

    func readable() {
        // A few rounds, so that one busy client does not hold up the others.
        for _ in 0..<4 {
            let scratch = acceptor.scratch
            let count = recv(socket, scratch.baseAddress, scratch.count, 0)
            if count > 0 {
                received(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
                guard count == scratch.count, phase != .closed, !sawEnd else { return }
            } else if count == 0 {
                return ended()
            } else if errno == EAGAIN {
                return
            } else if errno != EINTR {
                return close()
            }
        }
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        guard phase != .lingering else {
            lingered += bytes.count
            if lingered > limits.lingerBytes { close() }
            return
        }
        guard let tls = out.tls else {
            bytesInWindow += bytes.count
            parser.append(bytes)
            return advance()
        }
        tls.receive(bytes)
        reading: while true {
            switch tls.read(into: acceptor.plain) {
            case .bytes(let count):
                bytesInWindow += count
                parser.append(UnsafeRawBufferPointer(rebasing: acceptor.plain[..<count]))
            case .needsMore: break reading
            case .ended:
                advance()
                return ended()
            case .failed:
                out.flushAlert()
                return close()
            }
        }
        if tls.hasOutput { acceptor.flushAtEndOfTurn(self) }
        advance()
    }

    /// The client sends no more.
    private func ended() {
        guard phase != .closed else { return }
        sawEnd = true
        updateInterest()
        switch phase {
        case .streaming: close()
        case .handling, .closed: break
        case .idle, .head, .body, .lingering:
            guard !out.isEmpty else { return close() }
            closesWhenWritten = true
            acceptor.flushAtEndOfTurn(self)
        }
    }

    /// Does what the bytes that have arrived call for.
    private func advance() {
        while phase == .idle || phase == .head || phase == .body {
            // A client that does not read its answers is not asked for more requests.
            guard !isFull else { break }
            switch parser.next() {
            case .needsMore:
                rest()
                return updateInterest()
            case .continueExpected:
                out.append("HTTP/1.1 100 Continue\r\n\r\n")
                acceptor.flushAtEndOfTurn(self)
            case .request(let request): handle(request)
            case .refused(let refusal): return refuse(refusal)
            }
        }
        updateInterest()
    }

    /// Sets the phase, and with it the deadline, while more bytes are needed.
    private func rest() {
        if parser.isInBody {
            guard phase != .body else { return }
            phase = .body
            bytesInWindow = 0
            setDeadline(after: limits.bodyTime)
        } else if !parser.isBetweenRequests {
            guard phase != .head else { return }
            phase = .head
            setDeadline(after: limits.headTime)
        } else if sawEnd || acceptor.isStopping {
            closesWhenWritten = true
            acceptor.flushAtEndOfTurn(self)
        }
    }

    private func updateInterest() {
        guard phase != .closed else { return }
        var interest: Interest = out.isBlocked ? .writable : []
        let isReading = phase != .handling && phase != .streaming && !isFull
        if !sawEnd, isReading || parser.unreadBytes < limits.readAheadBytes {
            interest.insert(.readable)
        }
        watch?.update(interest)
    }

    // MARK: Answering

    private func handle(_ request: Request) {
        phase = .handling
        deadline = 0
        keepsAlive = request.head.keepsAlive
        framing = Framing(isOneOne: request.head.isOneOne, isHEAD: request.head.isHEAD)
        acceptor.running += 1
        let handler = acceptor.service.handler
        task = Task(executorPreference: loop) { [self] in
            let response = await handler(request)
            if let stream = begin(response) {
                do {
                    try await stream(Writer(connection: self))
                    endStream(isWhole: true)
                } catch {
                    endStream(isWhole: false)
                }
            }
            acceptor.handled()
        }
    }

    /// Writes the head of an answer and a body at hand; returns the stream that has to follow.
    private func begin(_ response: Response) -> (@Sendable (Writer) async throws -> Void)? {
        loop.preconditionIsolated()
        guard phase == .handling else { return nil }
        framing.closes = !keepsAlive || acceptor.isStopping
        var stream: (@Sendable (Writer) async throws -> Void)?
        if case .stream(let body) = response.body {
            stream = body
            // Without chunks the end of the connection is the end of the body.
            if !framing.isOneOne { framing.closes = true }
        }
        let date = acceptor.date.current()
        let streams = response.write(to: &out.bytes, date: date, framing: framing)
        acceptor.flushAtEndOfTurn(self)
        guard streams else {
            answered()
            return nil
        }
        guard !sawEnd else {
            close()
            return nil
        }
        phase = .streaming
        return stream
    }

    private func endStream(isWhole: Bool) {
        loop.preconditionIsolated()
        guard phase == .streaming else { return }
        guard isWhole else { return close() }
        if framing.isOneOne { out.append("0\r\n\r\n") }
        acceptor.flushAtEndOfTurn(self)
        answered()
    }

    /// Turns to the next request, or to the end.
    private func answered() {
        task = nil
        if framing.closes {
            phase = .lingering
            closesWhenWritten = true
            return
        }
        phase = .idle
        setDeadline(after: limits.idleTime)
        advance()
    }

    /// Answers what cannot be understood, and ends.
    private func refuse(_ refusal: Refusal) {
        phase = .lingering
        deadline = 0
        closesWhenWritten = true
        let response = acceptor.service.problem(refusal.status, refusal.detail)
        _ = response.write(
            to: &out.bytes, date: acceptor.date.current(), framing: Framing(closes: true))
        acceptor.flushAtEndOfTurn(self)
        updateInterest()
    }

    // MARK: Writing

    var isFull: Bool { out.count > limits.queuedBytes }

    /// Takes a piece of a streamed body, unless the connection has ended.
    func offer(_ piece: [UInt8]) -> Bool {
        loop.preconditionIsolated()
        guard phase == .streaming else { return false }
        guard !piece.isEmpty else { return true }
        if framing.isOneOne {
            out.bytes.append(hexadecimal: piece.count)
            out.append("\r\n")
            out.bytes.append(contentsOf: piece)
            out.append("\r\n")
        } else {
            out.bytes.append(contentsOf: piece)
        }
        acceptor.flushAtEndOfTurn(self)
        return true
    }

    /// Resumes with true once there is room, with false when the connection ends.
    func awaitRoom(_ continuation: CheckedContinuation<Bool, Never>) {
        loop.preconditionIsolated()
        guard isFull, phase != .closed else {
            continuation.resume(returning: phase != .closed)
            return
        }
        precondition(waiting == nil, "two tasks write one body")
        waiting = continuation
    }

    /// Sends what can be sent now.
    func flush() {
        guard phase != .closed else { return }
        let wasFull = isFull
        switch out.flush(now: loop.nowMilliseconds) {
        case .failed: return close()
        case .blocked: return updateInterest()
        case .done: break
        }
        if let waiting {
            self.waiting = nil
            waiting.resume(returning: true)
        }
        let isLast = acceptor.isStopping && phase == .idle && parser.isBetweenRequests
        if closesWhenWritten || isLast {
            closesWhenWritten = false
            linger()
        } else if wasFull {
            advance()
        } else {
            updateInterest()
        }
    }

    // MARK: Ending

    /// Ends the sending side, and waits for the client to end its own, so that a reset does not
    /// overtake the answer.
    private func linger() {
        out.flushAlert()
        guard !sawEnd else { return close() }
        shutdown(socket, Int32(SHUT_WR))
        phase = .lingering
        setDeadline(after: limits.lingerTime)
        updateInterest()
    }

    /// Ends it at once; a handler that still runs answers nobody.
    func close() {
        guard phase != .closed else { return }
        let isStreaming = phase == .streaming
        phase = .closed
        watch?.stop()
        watch = nil
        Glibc.close(socket)
        if isStreaming { task?.cancel() }
        task = nil
        if let waiting {
            self.waiting = nil
            waiting.resume(returning: false)
        }
        acceptor.remove(self)
    }

    /// Ends it as part of the server's end, whatever it is doing.
    func cut() {
        task?.cancel()
        close()
    }

    /// Ends it if no request has been accepted; a request that has arrived is.
    func closeIfIdle() {
        if phase == .idle { readable() }
        if phase == .idle, out.isEmpty { close() }
    }

    /// Acts when a deadline has passed.
    func check(now: UInt64) {
        let writeTime = limits.writeTime.inMilliseconds
        if out.isBlocked, now >= out.lastProgress + writeTime { return close() }
        guard deadline != 0, now >= deadline else { return }
        switch phase {
        case .head: refuse(.tooSlow)
        case .body where bytesInWindow >= limits.bodyBytesInTime:
            bytesInWindow = 0
            setDeadline(after: limits.bodyTime)
        case .body: refuse(.tooSlow)
        case .idle where !out.isEmpty: break
        case .idle, .lingering: close()
        case .handling, .streaming, .closed: break
        }
    }
}
