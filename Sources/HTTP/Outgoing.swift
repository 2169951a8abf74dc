internal import Glibc

/// What waits to be sent on one connection.
struct Outgoing {
    enum Outcome {
        case done
        case blocked
        case failed
    }

    let tls: TLSSession?
    private let socket: Int32
    /// What is to be said, before encryption.
    var bytes: [UInt8] = []
    /// What goes on the wire, when that is something else.
    private var sealed: [UInt8] = []
    private var sent = 0
    /// Whether the socket has no room now.
    private(set) var isBlocked = false
    /// When the socket last took something, or began to take nothing.
    private(set) var lastProgress: UInt64 = 0

    init(socket: Int32, tls: TLSSession?) {
        self.socket = socket
        self.tls = tls
    }

    var isEmpty: Bool { count == 0 && tls?.hasOutput != true }
    var count: Int { bytes.count + sealed.count - sent }

    mutating func append(_ text: StaticString) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Sends until nothing is left or the socket is full.
    mutating func flush(now: UInt64) -> Outcome {
        if let tls {
            guard tls.seal(&bytes, into: &sealed) else { return .failed }
            return Self.send(&sealed, &sent, &isBlocked, &lastProgress, to: socket, now: now)
        }
        return Self.send(&bytes, &sent, &isBlocked, &lastProgress, to: socket, now: now)
    }

    /// Says goodbye in TLS, if the socket takes it now.
    mutating func flushAlert() {
        guard let tls else { return }
        tls.shutdown()
        _ = flush(now: lastProgress)
    }

    private static func send(
        _ bytes: inout [UInt8], _ sent: inout Int, _ isBlocked: inout Bool,
        _ lastProgress: inout UInt64, to socket: Int32, now: UInt64
    ) -> Outcome {
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                Glibc.send(
                    socket, all.baseAddress.map { $0 + sent }, all.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sent += count
                lastProgress = now
            } else if errno == EAGAIN {
                if !isBlocked { lastProgress = now }
                isBlocked = true
                return .blocked
            } else if errno != EINTR {
                return .failed
            }
        }
        isBlocked = false
        sent = 0
        bytes.removeAll(keepingCapacity: bytes.capacity <= 64 * 1_024)
        return .done
    }
}
