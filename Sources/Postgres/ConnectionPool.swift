public import EventLoop

/// A fixed number of connections on one loop, each opened again after a loss.
///
/// While no connection is open every verb fails at once with `unavailable`.
public actor ConnectionPool {
    /// How the connections of a pool are opened.
    public struct Settings: Sendable {
        /// How libpq reaches the server.
        public var connectionString: String
        /// What the sessions may do.
        public var access: Connection.Access
        /// `set …` statements that are run on each session first.
        public var options: [String]
        /// Number of connections.
        public var size: Int
        /// How long a statement may take.
        public var limit: Duration
        /// The most statements that may be unanswered on one connection.
        public var capacity: Int

        /// Settings with these values.
        public init(
            connectionString: String, access: Connection.Access = .readWrite,
            options: [String] = [], size: Int = 2, limit: Duration = .seconds(10),
            capacity: Int = 1_024
        ) {
            self.connectionString = connectionString
            self.access = access
            self.options = options
            self.size = size
            self.limit = limit
            self.capacity = capacity
        }
    }

    private struct Slot {
        var connection: Connection?
        var load = 0
    }

    private static let firstDelay = Duration.milliseconds(50)
    private static let longestDelay = Duration.seconds(5)

    private let settings: Settings
    private let loop: EventLoop
    private var slots: [Slot]
    private var keepers: [Task<Void, Never>] = []
    private var lastFailure = "not opened yet"

    /// The loop on which the connections live.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// A pool without connections; `start` opens them.
    public init(_ settings: Settings, on loop: EventLoop) {
        precondition(settings.size > 0, "a pool has at least one connection")
        self.settings = settings
        self.loop = loop
        slots = Array(repeating: Slot(), count: settings.size)
    }

    /// Begins to open the connections and to keep them open, until `close`.
    public func start() {
        guard keepers.isEmpty else { return }
        keepers = slots.indices.map { place in
            Task(executorPreference: loop) { await self.keep(place) }
        }
    }

    /// Waits until a connection is open.
    ///
    /// - Throws: `unavailable`, with the last reason, when the time is over.
    public func waitUntilAvailable(within limit: Duration) async throws(PostgresError) {
        let deadline = ContinuousClock.now + limit
        while !isAvailable {
            let isCancelled = (try? await loop.sleep(for: .milliseconds(10))) == nil
            guard !isCancelled, ContinuousClock.now < deadline else {
                throw .unavailable(lastFailure)
            }
        }
    }

    /// Whether a connection is open, as far as is known without asking.
    public var isAvailable: Bool { slots.contains { $0.connection != nil } }

    /// Runs one statement on the least busy connection, as `Connection.query` does.
    @discardableResult
    public func query(
        _ sql: String, _ parameters: [Parameter] = [], within limit: Duration? = nil
    ) async throws(PostgresError) -> Rows {
        let (place, connection) = try leastBusy()
        slots[place].load += 1
        defer { slots[place].load -= 1 }
        return try await connection.query(sql, parameters, within: limit)
    }

    /// Runs statements in one transaction, as `Connection.atomically` does.
    @discardableResult
    public func atomically(
        _ statements: [Statement], within limit: Duration? = nil
    ) async throws(PostgresError) -> [Rows] {
        let (place, connection) = try leastBusy()
        slots[place].load += 1
        defer { slots[place].load -= 1 }
        return try await connection.atomically(statements, within: limit)
    }

    /// Closes all connections for good.
    public func close() async {
        for keeper in keepers { keeper.cancel() }
        for place in slots.indices {
            let connection = slots[place].connection
            slots[place].connection = nil
            await connection?.close()
        }
        lastFailure = "the pool was closed"
    }

    private func leastBusy() throws(PostgresError) -> (Int, Connection) {
        var best: Int?
        for (place, slot) in slots.enumerated() where slot.connection != nil {
            if best.map({ slot.load < slots[$0].load }) ?? true { best = place }
        }
        guard let best, let connection = slots[best].connection else {
            throw .unavailable(lastFailure)
        }
        return (best, connection)
    }

    /// Opens one connection again and again.
    private func keep(_ place: Int) async {
        var delay = Self.firstDelay
        while !Task.isCancelled {
            do throws(PostgresError) {
                let connection = try await Connection.open(
                    settings.connectionString, on: loop, access: settings.access,
                    options: settings.options, within: settings.limit,
                    capacity: settings.capacity)
                guard !Task.isCancelled else { return await connection.close() }
                slots[place].connection = connection
                let opened = ContinuousClock.now
                await connection.ended()
                if slots[place].connection === connection { slots[place].connection = nil }
                lastFailure = "the session was lost"
                // Only a session that held is a reason to hurry.
                if opened.duration(to: .now) > Self.longestDelay { delay = Self.firstDelay }
            } catch {
                lastFailure = "\(error)"
            }
            // Half of the delay is chance, so that many do not come back at once.
            try? await loop.sleep(for: delay * Double.random(in: 0.5...1))
            delay = min(delay * 2, Self.longestDelay)
        }
    }
}
