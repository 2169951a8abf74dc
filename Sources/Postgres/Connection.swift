internal import CPostgres
public import EventLoop

/// A session on an event loop that takes statements of many callers at once.
///
/// Statements are pipelined: each caller gets its own answer, and one caller's error does not
/// touch another's statement. Once the session is lost every caller gets an error and the
/// connection stays closed. Cancelling a calling task does not interrupt its statement.
public actor Connection {
    /// What a session may do.
    public enum Access: Sendable {
        /// Each statement is a transaction of its own and has a sync of its own.
        case readWrite
        /// Every transaction is read-only, so that statements may share syncs, which is faster.
        case readOnly
    }

    private let loop: EventLoop
    private var connecting: Connecting?
    private var pipeline: Pipeline?
    private let limit: Duration

    /// The loop on which the session lives.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    private init(on loop: EventLoop, limit: Duration) {
        self.loop = loop
        self.limit = limit
    }

    isolated deinit { pipeline?.end("the connection was dropped") }

    /// A new session, on which the statements `options` have been run.
    ///
    /// - Parameters:
    ///   - options: `set …` statements, one each.
    ///   - limit: how long a statement may take, waiting for its turn included.
    ///   - capacity: the most statements that may be unanswered.
    /// - Throws: `notConnected`.
    public static func open(
        _ connectionString: String, on loop: EventLoop, access: Access = .readWrite,
        options: [String] = [], within limit: Duration = .seconds(10), capacity: Int = 1_024,
        connectWithin connectLimit: Duration = .seconds(5)
    ) async throws(PostgresError) -> Connection {
        let connection = Connection(on: loop, limit: limit)
        try await connection.connect(
            connectionString, access, options, capacity, within: connectLimit)
        return connection
    }

    private func connect(
        _ connectionString: String, _ access: Access, _ options: [String], _ capacity: Int,
        within limit: Duration
    ) async throws(PostgresError) {
        let connecting = Connecting(try Session(connectingTo: connectionString), on: loop)
        self.connecting = connecting
        defer { self.connecting = nil }
        let failure = await withCheckedContinuation { continuation in
            connecting.begin(within: limit) { continuation.resume(returning: $0) }
        }
        if let failure { throw failure }
        let pipeline = try Pipeline(connecting.session, on: loop, capacity: capacity)
        self.pipeline = pipeline
        var setup = options
        if access == .readOnly { setup.append("set default_transaction_read_only = on") }
        for option in setup {
            do throws(PostgresError) {
                let statement = Exchange.Prepared(sql: option, parameters: .none)
                _ = try await answers(
                    to: [statement], isAtomic: false, keepsStatements: false, within: limit)
            } catch {
                pipeline.end("the session could not be set up")
                throw .notConnected("\(error)")
            }
        }
        pipeline.sharesSyncs = access == .readOnly
    }

    /// Number of statements, and groups of them, not yet answered.
    public var load: Int { pipeline?.load ?? 0 }

    /// Whether the session has not ended, as far as is known without asking.
    public var isOpen: Bool { pipeline.map { $0.ending == nil } ?? false }

    /// Runs one statement and returns its answer once it is committed.
    ///
    /// - Parameter limit: how long it may take; by default what the connection was opened with.
    /// - Throws: any `PostgresError` but `commitUnknown` and `commitRefused`.
    @discardableResult
    public func query(
        _ sql: String, _ parameters: [Parameter] = [], within limit: Duration? = nil
    ) async throws(PostgresError) -> Rows {
        let statement = Exchange.Prepared(sql: sql, parameters: try EncodedParameters(parameters))
        let answers = try await answers(
            to: [statement], isAtomic: false, keepsStatements: true, within: limit ?? self.limit)
        return answers[0]
    }

    /// Runs the statements in one transaction, sent as a whole, and returns their answers once
    /// it is committed; after the first error nothing of it remains.
    ///
    /// - Shape: as many answers as statements; nothing is sent for none.
    /// - Throws: `commitUnknown` when the session ended before COMMIT was answered;
    ///   `commitRefused` when the answer is not an unconditional yes.
    @discardableResult
    public func atomically(
        _ statements: [Statement], within limit: Duration? = nil
    ) async throws(PostgresError) -> [Rows] {
        guard !statements.isEmpty else { return [] }
        let prepared = try statements.map { (statement) throws(PostgresError) in
            Exchange.Prepared(
                sql: statement.sql, parameters: try EncodedParameters(statement.parameters))
        }
        return try await answers(
            to: prepared, isAtomic: true, keepsStatements: true, within: limit ?? self.limit)
    }

    /// Waits until the session has ended, for whatever reason.
    public func ended() async {
        await withCheckedContinuation { continuation in
            guard let pipeline else { return continuation.resume() }
            pipeline.whenEnded { continuation.resume() }
        }
    }

    /// Ends the session; whoever waits for an answer gets `connectionLost`.
    public func close() {
        pipeline?.end("the connection was closed")
        pipeline = nil
    }

    private func answers(
        to statements: [Exchange.Prepared], isAtomic: Bool, keepsStatements: Bool,
        within limit: Duration
    ) async throws(PostgresError) -> [Rows] {
        guard let pipeline, pipeline.ending == nil else {
            throw .unavailable(pipeline?.ending ?? "the connection was closed")
        }
        let result = await withCheckedContinuation { continuation in
            pipeline.submit(
                Exchange(
                    statements, isAtomic: isAtomic, keepsStatements: keepsStatements,
                    limit: limit
                ) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }
}
