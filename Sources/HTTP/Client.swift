/// Asks other servers, over HTTP/1.1 or 2, with TLS where the address says `https`.
///
/// One thread serves all requests of a client; it ends when the client is gone. Redirects are not
/// followed. Safe to use from many tasks at once.
public final class Client: Sendable {
    /// How much a client does at a time.
    public struct Limits: Sendable {
        /// The most requests under way at once.
        public var underWay = 8
        /// The most requests that wait for their turn; one more is refused as `busy`.
        public var waiting = 512
        /// How long a connection may take to be made.
        public var connectTime = Duration.seconds(10)
        /// How many bytes the header fields of an answer may have.
        public var headerBytes = 64 * 1_024

        /// The usual limits.
        public init() {}
    }

    /// What a server answered.
    public struct Answer: Sendable {
        /// The status code.
        public let status: Int
        /// The fields in their order.
        public let headers: [Header]
        /// The body, without its framing.
        public let body: [UInt8]

        /// The value of the first field with this name, in any case.
        public func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    private let courier: Courier

    /// A client with these limits.
    ///
    /// - Parameter authorities: a PEM file of certificates to trust in place of the system's.
    public init(limits: Limits = Limits(), authorities: String? = nil) {
        courier = Courier(limits: limits, authorities: authorities)
        courier.start()
    }

    deinit { courier.stop() }

    /// What a server answers to a request.
    ///
    /// - Parameters:
    ///   - url: begins with `http://` or `https://`.
    ///   - limit: the most bytes that the answer's body may have.
    ///   - time: from now to the last byte of the answer, waiting for a turn included.
    /// - Shape: an answer of any status is an answer, not an error.
    /// - Throws: why there is none; a cancelled task gets `cancelled` at once.
    public func send(
        _ method: String, _ url: String, headers: [Header] = [], body: [UInt8] = [],
        limit: Int, within time: Duration
    ) async throws(ClientError) -> Answer {
        let errand = Errand(
            method: method, url: url, headers: headers, body: body, limit: limit,
            deadline: .now + time)
        let result: Result<Answer, ClientError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                courier.take(errand, continuation)
            }
        } onCancel: {
            courier.cancel(errand)
        }
        return try result.get()
    }
}

/// Why a server's answer is not there.
public enum ClientError: Error, Equatable, Sendable {
    /// The request itself cannot be sent; nobody was asked.
    case unusable(String)
    /// Too many requests wait already; nobody was asked.
    case busy
    /// No connection was made; nobody was asked.
    case unreachable(String)
    /// The other end did not prove who it is; nothing was sent to it.
    case untrusted(String)
    /// There was no whole answer in time; the request may have been acted on.
    case timedOut
    /// The answer has more bytes than are allowed; the request may have been acted on.
    case tooLarge(limit: Int)
    /// The connection or the answer broke; the request may have been acted on.
    case broken(String)
    /// The asking task was cancelled; the request may have been acted on.
    case cancelled
}
