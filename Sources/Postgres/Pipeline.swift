internal import CPostgres
internal import EventLoop

/// The conversation on one non-blocking session in libpq's pipeline mode; lives on its loop.
///
/// Exchanges are sent at the end of a turn of the loop and answered in order. In a pipeline all
/// statements up to the next sync are one transaction and an error skips the rest of them, so
/// each exchange gets a sync of its own; only where the session can write nothing do those of
/// one turn share a sync, and what was skipped for another's error is sent again alone. Nothing
/// is sent after an atomic exchange before it is answered, because a failed one needs a rollback.
final class Pipeline {
    /// What the next results of libpq belong to.
    enum Expected {
        case preparation(StatementCache.Key, Exchange)
        case begin(Exchange)
        case statement(StatementCache.Key, Exchange)
        case commit(Exchange)
        case rollback(Exchange)
        case sync([Exchange])
    }

    let loop: EventLoop
    let session: Session
    /// Whether exchanges of one turn share a sync.
    var sharesSyncs = false
    /// The most exchanges that may wait or be under way.
    private let capacity: Int

    var waiting = Queue<Exchange>()
    var expected = Queue<Expected>()
    var cache = StatementCache()
    /// The exchange behind which nothing is sent yet.
    var barrier: Exchange?
    /// Exchanges sent since the last sync.
    var unsynced: [Exchange] = []
    /// The number of the next sync.
    var syncNumber = 0
    /// Whether the statement the results belong to has had one.
    var hasResult = false

    private var pending = 0
    private var watch: Watch?
    private var timer: EventLoop.Timer?
    private var alarm: ContinuousClock.Instant?
    private var isSendingScheduled = false
    /// Why the session is over; `nil` while it is not.
    private(set) var ending: String?
    private var onEnd: [() -> Void] = []

    /// A pipeline on a session that is open.
    init(_ session: Session, on loop: EventLoop, capacity: Int) throws(PostgresError) {
        self.session = session
        self.loop = loop
        self.capacity = capacity
        guard PQsetnonblocking(session.pointer, 1) == 0, PQenterPipelineMode(session.pointer) == 1
        else { throw .notConnected(session.lastMessage) }
        watch = loop.watch(session.socket, .readable) { [self] _, _ in becameReady() }
    }

    /// Number of exchanges not yet answered.
    var load: Int { pending }

    /// Takes an exchange, which will be answered in any case.
    func submit(_ exchange: Exchange) {
        if let ending { return exchange.finish(lost: ending) }
        guard pending < capacity else {
            exchange.failure = .overloaded(waiting: pending)
            return exchange.finish()
        }
        pending += 1
        waiting.append(exchange)
        setAlarm(exchange.deadline)
        scheduleSending()
    }

    /// Calls the body once the session is over.
    func whenEnded(_ body: @escaping () -> Void) {
        if ending == nil { onEnd.append(body) } else { body() }
    }

    /// Ends the session and answers everybody.
    func end(_ reason: String, except answer: (Exchange) -> Bool = { _ in false }) {
        guard ending == nil else { return }
        ending = reason
        watch?.stop()
        watch = nil
        timer?.cancel()
        timer = nil
        var exchanges = unsynced
        for entry in expected.takeAll() {
            switch entry {
            case .sync(let synced): exchanges += synced
            case .rollback(let exchange): exchanges.append(exchange)
            case .preparation, .begin, .statement, .commit: break
            }
        }
        exchanges += waiting.takeAll()
        if let barrier { exchanges.append(barrier) }
        barrier = nil
        unsynced = []
        for exchange in exchanges where exchange.state != .answered && !answer(exchange) {
            exchange.finish(lost: reason)
        }
        pending = 0
        let ended = onEnd
        onEnd = []
        for body in ended { body() }
    }

    func finish(_ exchange: Exchange) {
        guard exchange.state != .answered else { return }
        pending -= 1
        exchange.finish()
    }

    func scheduleSending() {
        guard !isSendingScheduled else { return }
        isSendingScheduled = true
        loop.atEndOfTurn { [self] in
            isSendingScheduled = false
            guard ending == nil else { return }
            sendWaiting()
            flush()
        }
    }

    private func becameReady() {
        guard ending == nil else { return }
        let isIntact = PQconsumeInput(session.pointer) == 1
        receive()
        guard ending == nil else { return }
        guard isIntact else {
            // The server's farewell, when nothing was asked, comes as a notice.
            return end(session.takeNotice()?.text ?? session.lastMessage)
        }
        flush()
    }

    /// Sends what is buffered; goes on when the socket takes more.
    func flush() {
        guard ending == nil else { return }
        switch PQflush(session.pointer) {
        case 0: watch?.update(.readable)
        case 1: watch?.update([.readable, .writable])
        default: end(session.lastMessage)
        }
    }

    private func setAlarm(_ deadline: ContinuousClock.Instant) {
        if let alarm, alarm <= deadline { return }
        alarm = deadline
        timer?.cancel()
        timer = loop.schedule(after: ContinuousClock.now.duration(to: deadline)) { [self] in
            timer = nil
            alarm = nil
            endOverdue()
        }
    }

    private func endOverdue() {
        let now = ContinuousClock.now
        for exchange in waiting.removeAll(where: { $0.deadline <= now }) {
            pending -= 1
            exchange.finishTimedOut()
        }
        var sent: [Exchange] = unsynced
        expected.forEach { if case .sync(let synced) = $0 { sent += synced } }
        if let barrier { sent.append(barrier) }
        sent.removeAll { $0.state == .answered }
        if sent.contains(where: { $0.deadline <= now }) {
            return end("a statement exceeded its time") { exchange in
                guard exchange.deadline <= now else { return false }
                exchange.finishTimedOut()
                return true
            }
        }
        waiting.forEach { sent.append($0) }
        if let next = sent.map(\.deadline).min() { setAlarm(next) }
    }
}
