internal import CPostgres
internal import Glibc

/// A session with a thread of its own, on which it blocks: for COPY, migrations and LISTEN.
///
/// Statements run one after another, each with a deadline; after `connectionLost` or `timedOut`
/// the session is closed and every further verb answers `unavailable`. Cancelling the calling
/// task does not interrupt a statement.
public actor BlockingConnection {
    private let thread: DedicatedThread
    private var session: Session?
    /// The longest wait for the server without any progress.
    let patience: Duration

    /// The thread of this session.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    private init(name: String, patience: Duration) {
        thread = DedicatedThread(name: name)
        self.patience = patience
    }

    /// A new session, on which the statements `options` have been run.
    ///
    /// - Parameters:
    ///   - options: `set …` statements, one each.
    ///   - name: the thread's name, of which 15 bytes show.
    ///   - patience: the longest wait for the server without any progress.
    /// - Throws: `notConnected`.
    public static func open(
        _ connectionString: String, options: [String] = [], name: String = "postgres",
        patience: Duration = .seconds(60), connectWithin limit: Duration = .seconds(5)
    ) async throws(PostgresError) -> BlockingConnection {
        let connection = BlockingConnection(name: name, patience: patience)
        try await connection.connect(connectionString, options, within: limit)
        return connection
    }

    private func connect(
        _ connectionString: String, _ options: [String], within limit: Duration
    ) throws(PostgresError) {
        let session = try Session(connectingTo: connectionString)
        try session.finishConnecting(within: limit)
        self.session = session
        do throws(PostgresError) {
            for option in options { try execute(script: option) }
        } catch {
            self.session = nil
            throw .notConnected("\(error)")
        }
    }

    /// Ends the session; harmless when it has ended.
    public func close() { session = nil }

    /// Whether the session has not been closed or lost, as far as is known without asking.
    public var isOpen: Bool { session != nil }

    /// Runs one statement and returns its answer.
    ///
    /// - Throws: any `PostgresError` but `commitUnknown`.
    @discardableResult
    public func query(
        _ sql: String, _ parameters: [Parameter] = []
    ) throws(PostgresError) -> Rows {
        let encoded = try EncodedParameters(parameters)
        return try using { (session) throws(PostgresError) in
            try session.send(sql, encoded)
            return Rows(try session.lastResult(patience: patience))
        }
    }

    /// Runs several statements, separated by semicolons, in one implicit transaction.
    ///
    /// - Shape: no parameters; the answers' rows are dropped; the first error ends the script.
    public func execute(script: String) throws(PostgresError) {
        try using { (session) throws(PostgresError) in
            guard PQsendQuery(session.pointer, script) == 1 else { throw session.sendingFailed }
            _ = try session.lastResult(patience: patience)
        }
    }

    /// Commits the transaction that `query("begin")` opened.
    ///
    /// - Throws: `commitUnknown` when the answer never came, `commitRefused` when it is not an
    ///   unconditional yes.
    public func commit() throws(PostgresError) {
        let refusal: PostgresError?
        do throws(PostgresError) {
            refusal = try using { (session) throws(PostgresError) in
                _ = session.takeNotice()
                guard PQsendQuery(session.pointer, "commit") == 1 else {
                    throw session.sendingFailed
                }
                return session.refusal(ofCommit: try session.lastResult(patience: patience))
            }
        } catch .connectionLost(let why) {
            throw .commitUnknown(why)
        } catch .timedOut(let after) {
            throw .commitUnknown("no answer within \(after)")
        } catch {
            throw error
        }
        if let refusal { throw refusal }
    }

    /// Hears what is sent to the channel from now on.
    public func listen(_ channel: String) throws(PostgresError) {
        try execute(script: "listen \(quoted(identifier: channel))")
    }

    /// Waits, blocking this session's thread, until a notification arrives or the time is over.
    ///
    /// - Shape: empty when the time is over.
    public func notifications(within limit: Duration) throws(PostgresError) -> [Notification] {
        try using { (session) throws(PostgresError) in
            let deadline = ContinuousClock.now + limit
            while true {
                guard PQconsumeInput(session.pointer) == 1 else {
                    throw .connectionLost(session.lastMessage)
                }
                let notifications = session.takeNotifications()
                guard notifications.isEmpty else { return notifications }
                guard session.isReady(for: POLLIN, until: deadline) else { return [] }
            }
        }
    }

    /// Runs `body` on the open session and closes the session when that turns out to be lost.
    func using<R>(
        _ body: (Session) throws(PostgresError) -> R
    ) throws(PostgresError) -> R {
        guard let session else { throw .unavailable("the session is closed") }
        do throws(PostgresError) {
            return try body(session)
        } catch {
            if error.isConnectionLost { self.session = nil }
            throw error
        }
    }
}

/// A name as SQL writes it, whatever characters it has.
func quoted(identifier: String) -> String {
    var quoted = "\""
    for character in identifier {
        quoted.append(character)
        if character == "\"" { quoted.append(character) }
    }
    return quoted + "\""
}
