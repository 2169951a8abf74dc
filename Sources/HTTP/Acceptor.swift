internal import EventLoop
internal import Glibc

/// What a server does with what arrives.
struct Service: Sendable {
    let handler: @Sendable (Request) async -> Response
    let problem: @Sendable (_ status: Int, _ detail: String) -> Response
    let bodyLimit: @Sendable (_ method: String, _ path: String) -> Int
}

/// One loop's listening socket and its connections.
///
/// `@unchecked` holds because its variables are touched on its loop alone: the server calls `start`
/// and `stop` within `execute`, which `stop` and what `start` calls check; watches, timers and its
/// connections call it there.
final class Acceptor: @unchecked Sendable {
    let loop: EventLoop
    let limits: Server.Limits
    let service: Service
    private let identity: TLSIdentity?
    private var listener: Listener?
    private var watch: Watch?
    private var sweep: EventLoop.Timer?

    private var connections: [Connection] = []
    private var dirty: [Connection] = []
    /// Requests whose handlers have not returned.
    var running = 0
    private(set) var isStopping = false
    private var awaitingStop: [CheckedContinuation<Void, Never>] = []

    var date = DateLine()
    /// What a socket was read into last; used within one call only.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1_024, alignment: 16)
    /// What was decrypted last; used within one call only.
    let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 * 1_024, alignment: 16)

    init(
        _ listener: Listener, on loop: EventLoop, limits: Server.Limits, identity: TLSIdentity?,
        service: Service
    ) {
        self.listener = listener
        self.loop = loop
        self.limits = limits
        self.identity = identity
        self.service = service
    }

    deinit {
        scratch.deallocate()
        plain.deallocate()
    }

    /// Begins to accept, on the loop, which keeps it until it is stopped.
    func start() {
        guard let listener else { return }
        watch = loop.watch(listener.socket, .readable) { [self] _, _ in accept() }
        let period = limits.sweepPeriod
        sweep = loop.schedule(after: period, repeating: period) { [self] in
            let now = loop.nowMilliseconds
            // Backwards, because closing one moves the last one to its place.
            for index in connections.indices.reversed() where index < connections.count {
                connections[index].check(now: now)
            }
        }
    }

    private func accept() {
        guard let listener else { return }
        // A bounded number, so that those already connected get their turn.
        for _ in 0..<64 {
            switch listener.accept() {
            case .none: return
            case .exhausted:
                // Out of descriptors or memory: trying again at once would only burn time.
                closeOldestIdle()
                watch?.update([])
                loop.schedule(after: .milliseconds(100)) { [weak self] in
                    self?.watch?.update(.readable)
                }
                return
            case .connection(let socket, let peer):
                if connections.count >= limits.connections, !closeOldestIdle() {
                    close(socket)
                    continue
                }
                let connection = Connection(
                    socket: socket, peer: peer, tls: identity.map(TLSSession.init), of: self)
                connection.slot = connections.count
                connections.append(connection)
            }
        }
    }

    /// Makes room by closing the connection that has waited longest for a request.
    @discardableResult
    private func closeOldestIdle() -> Bool {
        let idle = connections.lazy.filter { $0.phase == .idle && $0.out.isEmpty }
        guard let oldest = idle.min(by: { $0.deadline < $1.deadline }) else { return false }
        oldest.close()
        return true
    }

    func remove(_ connection: Connection) {
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.slot] = last
            last.slot = connection.slot
        }
        checkStopped()
    }

    /// Writes for a connection once, after all that this turn has to say to it.
    func flushAtEndOfTurn(_ connection: Connection) {
        guard !connection.isDirty else { return }
        connection.isDirty = true
        dirty.append(connection)
        guard dirty.count == 1 else { return }
        loop.atEndOfTurn { [self] in
            let connections = dirty
            dirty = []
            for connection in connections {
                connection.isDirty = false
                connection.flush()
            }
        }
    }

    /// A handler has returned and its answer is on its way.
    func handled() {
        running -= 1
        checkStopped()
    }

    /// Ends accepting, lets accepted requests finish, and resumes when all have; on the loop.
    func stop(within time: Duration, _ continuation: CheckedContinuation<Void, Never>) {
        loop.preconditionIsolated()
        awaitingStop.append(continuation)
        guard !isStopping else { return checkStopped() }
        // Who has connected already is answered, too.
        accept()
        isStopping = true
        watch?.stop()
        watch = nil
        listener?.close()
        listener = nil
        for connection in connections { connection.closeIfIdle() }
        loop.schedule(after: time) { [weak self] in self?.cut() }
        checkStopped()
    }

    /// Ends what has not finished in time.
    private func cut() {
        for connection in connections { connection.cut() }
        running = 0
        checkStopped()
    }

    private func checkStopped() {
        guard isStopping, connections.isEmpty, running <= 0 else { return }
        sweep?.cancel()
        sweep = nil
        let awaiting = awaitingStop
        awaitingStop = []
        for continuation in awaiting { continuation.resume() }
    }
}
