import Glibc

/// A client that says exactly what it is told, over a blocking socket.
final class Client {
    private let descriptor: Int32

    init(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        // A test that would wait for ever fails instead.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(code == 0, "the server cannot be reached")
    }

    deinit {
        close(descriptor)
    }

    /// Sends it all, or as much as the server takes before it closes.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// Ends the sending side only.
    func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// The next bytes; empty at the end, nil when the connection was reset or nothing came.
    func receive(atMost count: Int = 65_536) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &bytes, count, 0)
        return received < 0 ? nil : Array(bytes[..<received])
    }

    /// All that comes until a text has come, or the end.
    func receive(until mark: String) -> String {
        var text = ""
        while !text.contains(mark) {
            guard let bytes = receive(), !bytes.isEmpty else { break }
            text += String(decoding: bytes, as: UTF8.self)
        }
        return text
    }

    /// All that comes until the server closes; nil when it resets.
    func receiveAll() -> String? {
        var all: [UInt8] = []
        while true {
            guard let bytes = receive() else { return nil }
            guard !bytes.isEmpty else { return String(decoding: all, as: UTF8.self) }
            all += bytes
        }
    }
}
