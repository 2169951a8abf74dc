import Foundation
import Glibc
import Synchronization

/// Stands between a client and a server on Unix sockets, and cuts the line where a test wants.
///
/// Each connection has a thread of its own, which ends with it.
final class Proxy: Sendable {
    /// Where bytes are counted.
    enum Direction: Sendable {
        case toServer, toClient
    }

    private struct State {
        var cut: (direction: Direction, bytes: Int)?
        var passed: [Direction: Int] = [:]
        var isRefusing = false
        var refused = 0
        var cuts = 0
        var isClosed = false
    }

    /// The folder of the socket, to be named as `host`.
    let folder: String
    private let server: String
    private let listener: Int32
    private let state = Mutex(State())

    /// A proxy of the server whose socket is in a folder.
    init(to serverFolder: String) throws {
        folder = "/tmp/proxy-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        mkdir(folder, 0o700)
        server = serverFolder + "/.s.PGSQL.5432"
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let bound = Proxy.withAddress(folder + "/.s.PGSQL.5432") { bind(listener, $0, $1) }
        guard bound == 0, listen(listener, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { self.accept() }
    }

    /// Cuts the line, once, after so many more bytes in a direction.
    func cut(_ direction: Direction, after bytes: Int) {
        state.withLock {
            $0.passed = [:]
            $0.cut = (direction, bytes)
        }
    }

    /// Cuts the lines that pass anything from now on, and refuses new ones, or no more.
    func refuse(_ isRefusing: Bool) { state.withLock { $0.isRefusing = isRefusing } }

    /// How many connections were refused.
    var refused: Int { state.withLock { $0.refused } }
    /// How many lines were cut.
    var cuts: Int { state.withLock { $0.cuts } }

    /// Bytes that passed since the last call.
    func takePassed() -> (toServer: Int, toClient: Int) {
        state.withLock { state in
            defer { state.passed = [:] }
            return (state.passed[.toServer] ?? 0, state.passed[.toClient] ?? 0)
        }
    }

    /// Ends it; lines end with their clients.
    func close() {
        state.withLock { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
        unlink(folder + "/.s.PGSQL.5432")
        rmdir(folder)
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { break }
            let isRefused = state.withLock {
                if $0.isRefusing { $0.refused += 1 }
                return $0.isRefusing
            }
            if isRefused {
                Glibc.close(client)
            } else {
                Thread.detachNewThread { self.serve(client) }
            }
        }
        Glibc.close(listener)
    }

    private func serve(_ client: Int32) {
        let upstream = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer {
            Glibc.close(client)
            Glibc.close(upstream)
        }
        guard Proxy.withAddress(server, { connect(upstream, $0, $1) }) == 0 else { return }
        var polled = [
            pollfd(fd: client, events: Int16(POLLIN), revents: 0),
            pollfd(fd: upstream, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&polled, 2, 100) >= 0 {
            if state.withLock({ $0.isRefusing }) { return }
            for (place, other, direction) in [
                (0, upstream, Direction.toServer), (1, client, .toClient),
            ] where polled[place].revents != 0 {
                guard pass(from: polled[place].fd, to: other, direction) else { return }
            }
        }
    }

    /// Passes on what has arrived; false when the line has ended or is cut.
    private func pass(from source: Int32, to target: Int32, _ direction: Direction) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = read(source, &bytes, bytes.count)
        guard count > 0 else { return false }
        let (allowed, isCut) = state.withLock { state in
            let passed = state.passed[direction] ?? 0
            state.passed[direction] = passed + count
            guard let cut = state.cut, cut.direction == direction, passed + count > cut.bytes
            else { return (count, false) }
            state.cut = nil
            state.cuts += 1
            return (max(cut.bytes - passed, 0), true)
        }
        var sent = 0
        while sent < allowed {
            let written = send(
                target, Array(bytes[sent..<allowed]), allowed - sent, Int32(MSG_NOSIGNAL))
            guard written > 0 else { return false }
            sent += written
        }
        return !isCut
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
