internal import CPostgres
internal import EventLoop

/// Opening one session without blocking its loop.
///
/// - Source: PostgreSQL, libpq, `PQconnectPoll`.
final class Connecting {
    let session: Session
    private let loop: EventLoop
    private var watch: Watch?
    private var timer: EventLoop.Timer?
    private var done: ((PostgresError?) -> Void)?

    init(_ session: Session, on loop: EventLoop) {
        self.session = session
        self.loop = loop
    }

    /// Calls `done` once, with `nil` when the session is open.
    func begin(within limit: Duration, _ done: @escaping (PostgresError?) -> Void) {
        self.done = done
        timer = loop.schedule(after: limit) { [self] in
            finish(.notConnected("no answer within \(limit)"))
        }
        wait(for: .writable)
    }

    private func wait(for interest: Interest) {
        // libpq may go on with another socket after each step, so each has its own watch.
        watch = loop.watch(session.socket, interest) { [self] _, _ in step() }
    }

    private func step() {
        guard done != nil else { return }
        watch?.stop()
        watch = nil
        switch PQconnectPoll(session.pointer) {
        case PGRES_POLLING_OK: finish(nil)
        case PGRES_POLLING_READING: wait(for: .readable)
        case PGRES_POLLING_WRITING: wait(for: .writable)
        default: finish(.notConnected(session.lastMessage))
        }
    }

    private func finish(_ failure: PostgresError?) {
        watch?.stop()
        watch = nil
        timer?.cancel()
        timer = nil
        let done = self.done
        self.done = nil
        done?(failure)
    }
}
