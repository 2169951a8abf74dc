public import EventLoop

/// Why a server could not begin.
public enum ListenError: Error, Equatable, Sendable {
    /// The host's name has no address.
    case unknownHost(String)
    /// The address is not this machine's, or somebody else has it.
    case addressUnusable(host: String, port: UInt16, errno: Int32)
}

/// An HTTP/1.1 server, over TLS when it has an identity.
public final class Server: Sendable {
    /// How much, and how long, the server bears with a client.
    public struct Limits: Sendable {
        /// What a request's head may have.
        public var parser = Parser.Limits()
        /// The most connections on one loop; when reached, an idle one is closed for a new one.
        public var connections = 8_192
        /// From a connection's beginning to its first request, from a request's first byte to the
        /// end of its header section.
        public var headTime = Duration.seconds(10)
        /// Each such time must bring `bodyBytesInTime`, or the rest of the body.
        public var bodyTime = Duration.seconds(10)
        /// The least that a client has to send of a body in each `bodyTime`.
        public var bodyBytesInTime = 4 * 1_024
        /// From an answer to the next request's first byte.
        public var idleTime = Duration.seconds(60)
        /// How long a client may take nothing of what waits for it.
        public var writeTime = Duration.seconds(30)
        /// How long a client has to close its side after the server has closed its own.
        public var lingerTime = Duration.seconds(2)
        /// What a client may send meanwhile before it is cut off.
        public var lingerBytes = 32 * 1_024 * 1_024
        /// What may wait for a client before it has to read; the next request and the next piece
        /// of a stream wait, too.
        public var queuedBytes = 256 * 1_024
        /// What a client may send ahead while a request of it is being handled; requests of one
        /// connection are handled one after the other.
        public var readAheadBytes = 64 * 1_024

        /// The usual limits.
        public init() {}

        /// How often deadlines are looked at.
        var sweepPeriod: Duration {
            let shortest = min(headTime, bodyTime, idleTime, writeTime, lingerTime)
            return max(.milliseconds(10), min(.milliseconds(500), shortest / 4))
        }
    }

    /// The port, also when the system picked it.
    public let port: UInt16
    private let acceptors: [Acceptor]

    /// Listens, and answers from then on.
    ///
    /// Each request is handled in a task that prefers its connection's loop. With several loops
    /// the system spreads connections over them.
    ///
    /// - Parameters:
    ///   - port: 0 lets the system pick one.
    ///   - bodyLimit: how many bytes a body may have for a method and a path.
    ///   - problem: what is answered to what cannot be understood, by status and detail.
    /// - Throws: when the address cannot be listened at.
    public init(
        host: String, port: UInt16, on loops: [EventLoop], limits: Limits = Limits(),
        identity: TLSIdentity? = nil,
        bodyLimit: @escaping @Sendable (_ method: String, _ path: String) -> Int,
        problem: @escaping @Sendable (_ status: Int, _ detail: String) -> Response = Response
            .problem,
        handler: @escaping @Sendable (Request) async -> Response
    ) throws(ListenError) {
        precondition(!loops.isEmpty, "a server needs a loop")
        let service = Service(handler: handler, problem: problem, bodyLimit: bodyLimit)
        let listeners = try Self.listeners(host, port, count: loops.count)
        self.port = listeners[0].port
        acceptors = zip(listeners, loops).map { listener, loop in
            Acceptor(listener, on: loop, limits: limits, identity: identity, service: service)
        }
        for acceptor in acceptors {
            acceptor.loop.execute { acceptor.start() }
        }
    }

    private static func listeners(
        _ host: String, _ port: UInt16, count: Int
    ) throws(ListenError) -> [Listener] {
        let first = try Listener(host: host, port: port, isShared: false)
        guard count > 1 else { return [first] }
        // A port that can be shared would be shared with a stranger, too; that the first socket
        // could be bound without sharing says that there is none.
        first.close()
        var listeners: [Listener] = []
        for _ in 0..<count {
            do {
                listeners.append(
                    try Listener(host: host, port: first.port, isShared: true))
            } catch {
                for listener in listeners { listener.close() }
                throw error
            }
        }
        return listeners
    }

    /// Ends accepting, answers the requests that have arrived and closes their connections; cuts
    /// what is left when the time is over.
    ///
    /// - Shape: returns when all have ended; streams have to be ended by those who feed them.
    public func stop(within time: Duration) async {
        await withTaskGroup { group in
            for acceptor in acceptors {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        let isAwaited = acceptor.loop.execute {
                            acceptor.stop(within: time, continuation)
                        }
                        if !isAwaited { continuation.resume() }
                    }
                }
            }
        }
    }
}

extension Response {
    /// A problem document of RFC 9457 without more than a status and a detail.
    @Sendable
    public static func problem(status: Int, detail: String) -> Response {
        var text = "{\"type\":\"about:blank\",\"title\":\"\(reason(status))\",\"status\":\(status),"
        text += "\"detail\":\"\(detail)\",\"code\":\"http.\(status)\",\"retryable\":false}"
        return Response(
            status: status, headers: [Header("Content-Type", "application/problem+json")],
            body: .bytes(Array(text.utf8)))
    }
}

extension Duration {
    var inMilliseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return min(UInt64(seconds), 1_000_000_000_000) * 1_000
            + UInt64(attoseconds / 1_000_000_000_000_000)
    }
}
