import Glibc
import Synchronization

/// Writes lines to a file descriptor, standard error unless said otherwise, and drops what it cannot
/// write at once.
///
/// Whoever reads our standard error may be slow or gone. A line waits at most 50 ms for room, and not
/// at all once one had to be dropped; the next line that fits says how many were lost.
public final class StandardErrorSink: LogSink {
    private let descriptor: Int32
    private let dropped = Mutex(0)
    /// The most a pipe with any room takes without blocking (POSIX `PIPE_BUF`, Linux).
    private static let mostBytes = 4096

    /// A sink that writes to this open descriptor, which stays the caller's.
    public init(descriptor: Int32 = STDERR_FILENO) {
        self.descriptor = descriptor
    }

    /// Writes the line and a newline in one call, so that lines of several threads never mix.
    public func write(_ line: String) {
        dropped.withLock { lost in
            guard hasRoom(waitingMilliseconds: lost == 0 ? 50 : 0) else {
                lost += 1
                return
            }
            var bytes = [UInt8](line.utf8)
            if lost > 0, bytes.last == UInt8(ascii: "}") {
                bytes.removeLast()
                bytes += Array(",\"dropped\":\(lost)}".utf8)
            }
            if bytes.count >= Self.mostBytes { bytes = Self.shortened(bytes) }
            bytes.append(UInt8(ascii: "\n"))
            let written = Glibc.write(descriptor, bytes, bytes.count)
            lost = written == bytes.count ? 0 : lost + 1
        }
    }

    private func hasRoom(waitingMilliseconds: Int32) -> Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let found = poll(&watched, 1, waitingMilliseconds)
        // Nothing but writable: writing to a pipe that nobody reads any more would raise SIGPIPE.
        return found == 1 && watched.revents == Int16(POLLOUT)
    }

    /// A line too long is no longer JSON as it stands, so its beginning becomes a message.
    private static func shortened(_ bytes: [UInt8]) -> [UInt8] {
        let beginning = String(decoding: bytes.prefix(1200), as: UTF8.self)
        let line = LogLine.body(.warning, "line too long", ["beginning": beginning])
        return Array("{\(line)}".utf8)
    }
}
