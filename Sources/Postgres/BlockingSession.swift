internal import CPostgres
internal import Glibc

/// Waiting for the server with `poll`, for those who may block.
extension Session {
    /// Whether the socket became ready before the deadline; also true when it broke.
    func isReady(for events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            let milliseconds =
                left.components.seconds * 1000
                + left.components.attoseconds / 1_000_000_000_000_000
            var entry = pollfd(fd: socket, events: Int16(events), revents: 0)
            let count = poll(&entry, 1, Int32(clamping: max(0, milliseconds + 1)))
            if count > 0 { return true }
            if count < 0 && errno != EINTR { return true }
            if ContinuousClock.now >= deadline { return false }
        }
    }

    /// Waits until the session is open.
    func finishConnecting(within limit: Duration) throws(PostgresError) {
        let deadline = ContinuousClock.now + limit
        var wanted = PGRES_POLLING_WRITING
        while wanted != PGRES_POLLING_OK {
            let events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT
            guard isReady(for: Int32(events), until: deadline) else {
                throw .notConnected("no answer within \(limit)")
            }
            wanted = PQconnectPoll(pointer)
            guard wanted != PGRES_POLLING_FAILED else { throw .notConnected(lastMessage) }
        }
        guard PQsetnonblocking(pointer, 1) == 0 else { throw .notConnected(lastMessage) }
    }

    /// Why libpq refused to send.
    var sendingFailed: PostgresError {
        PQstatus(pointer) == CONNECTION_BAD
            ? .connectionLost(lastMessage) : .unexpectedAnswer(lastMessage)
    }

    /// Hands one statement with its values to libpq.
    func send(_ sql: String, _ parameters: EncodedParameters) throws(PostgresError) {
        let sent = parameters.withPointers { values, counts, formats in
            PQsendQueryParams(
                pointer, sql, parameters.count, parameters.types, values, counts, formats, 1)
        }
        guard sent == 1 else { throw sendingFailed }
    }

    /// Sends all that is buffered; reads meanwhile, so that two full buffers cannot stop both.
    func flush(patience: Duration) throws(PostgresError) {
        while true {
            let left = PQflush(pointer)
            guard left >= 0 else { throw .connectionLost(lastMessage) }
            guard left > 0 else { return }
            guard isReady(for: POLLIN | POLLOUT, until: ContinuousClock.now + patience) else {
                throw .timedOut(after: patience)
            }
            guard PQconsumeInput(pointer) == 1 else { throw .connectionLost(lastMessage) }
        }
    }

    /// Waits until `PQgetResult` does not block.
    func waitForResult(patience: Duration) throws(PostgresError) {
        while PQisBusy(pointer) == 1 {
            guard isReady(for: POLLIN, until: ContinuousClock.now + patience) else {
                throw .timedOut(after: patience)
            }
            guard PQconsumeInput(pointer) == 1 else { throw .connectionLost(lastMessage) }
        }
    }

    /// The next result of what was sent last, `nil` after the last one.
    func nextResult(patience: Duration) throws(PostgresError) -> ServerResult? {
        try waitForResult(patience: patience)
        return PQgetResult(pointer).map(ServerResult.init(owning:))
    }

    /// Sends what is buffered and returns the last result, or throws the first error.
    func lastResult(patience: Duration) throws(PostgresError) -> ServerResult {
        try flush(patience: patience)
        var last: ServerResult?
        var failure: PostgresError?
        while let result = try nextResult(patience: patience) {
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                last = result
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                // The session cannot be used before the copy is over; give it up.
                throw .connectionLost("COPY was started by a verb for statements")
            default:
                failure = failure ?? error(of: result)
            }
        }
        if let failure { throw failure }
        guard let last else { throw .unexpectedAnswer("no result") }
        return last
    }
}
