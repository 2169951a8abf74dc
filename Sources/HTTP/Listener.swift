internal import Glibc

/// A socket that listens.
struct Listener: Sendable {
    enum Accepted {
        case connection(Int32, peer: String)
        /// Nobody waits.
        case none
        /// The process or the system has no descriptor or memory left.
        case exhausted
    }

    let socket: Int32
    let port: UInt16

    /// Binds the first usable address of a host and listens there.
    init(host: String, port: UInt16, isShared: Bool) throws(ListenError) {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else {
            throw .unknownHost(host)
        }
        defer { freeaddrinfo(list) }
        var lastError = EADDRNOTAVAIL
        var next = list
        while let address = next?.pointee {
            next = address.ai_next
            if let socket = Self.bound(address, isShared: isShared) {
                self.socket = socket
                self.port = Self.port(of: socket)
                return
            }
            lastError = errno
        }
        throw .addressUnusable(host: host, port: port, errno: lastError)
    }

    private static func bound(_ address: addrinfo, isShared: Bool) -> Int32? {
        let socket = Glibc.socket(
            address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        var one: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, size)
        if isShared { setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &one, size) }
        guard bind(socket, address.ai_addr, address.ai_addrlen) == 0,
            listen(socket, 4_096) == 0,
            fcntl(socket, F_SETFL, O_NONBLOCK) == 0
        else {
            let error = errno
            Glibc.close(socket)
            errno = error
            return nil
        }
        return socket
    }

    private static func port(of socket: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = getsockname(socket, address, &size)
            }
            // The port has the same place in both families.
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin_port)
            }
        }
    }

    /// The next who waits.
    func accept() -> Accepted {
        while true {
            var storage = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let (accepted, peer) = withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    let accepted = Glibc.accept(socket, address, &size)
                    return (accepted, accepted >= 0 ? Self.text(address, size) : "")
                }
            }
            guard accepted < 0 else {
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                var one: Int32 = 1
                setsockopt(
                    accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &one,
                    socklen_t(MemoryLayout<Int32>.size))
                return .connection(accepted, peer: peer)
            }
            switch errno {
            case EAGAIN: return .none
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            case EBADF, EINVAL, ENOTSOCK, EFAULT, EOPNOTSUPP:
                preconditionFailure("a listening socket was closed by somebody else")
            // Whatever ended one connection before it was accepted says nothing about the next.
            default: continue
            }
        }
    }

    /// An address without its port; one of version 4 within version 6 as version 4.
    private static func text(_ address: UnsafeMutablePointer<sockaddr>, _ size: socklen_t) -> String
    {
        var bytes = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = getnameinfo(
            address, size, &bytes, socklen_t(bytes.count), nil, 0, NI_NUMERICHOST)
        guard code == 0 else { return "" }
        let text = String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
        return text.hasPrefix("::ffff:") && text.contains(".") ? String(text.dropFirst(7)) : text
    }

    func close() {
        Glibc.close(socket)
    }
}
