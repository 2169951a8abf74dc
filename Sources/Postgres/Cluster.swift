internal import Glibc
internal import Synchronization

/// A private PostgreSQL server in a directory, shared by the processes that use it.
///
/// The first user starts the server, the last one stops it, and it belongs to none of them: it
/// runs in its own session and outlives whoever started it. A server left over by users that
/// were killed is taken over by the next one. It listens on a Unix socket only.
public final class Cluster: Sendable {
    /// The role with all rights, as which root, the server's user and whoever made the cluster
    /// may log in.
    public static let superuser = "postgres"

    let files: ClusterFiles
    let user: ClusterUser
    private let log: @Sendable (String) -> Void
    /// Held while we use the server; `nil` after `release`.
    private let use: Mutex<FileLock?>
    private let socketDirectory: String

    /// The longest wait for another process that starts or stops the server.
    private static let startLockLimit = Duration.seconds(120)
    /// The longest wait until the server accepts connections, its recovery included.
    private static let startLimit = Duration.seconds(60)

    /// Uses the server of a directory: makes it, starts it or joins it, and blocks meanwhile.
    ///
    /// - Parameters:
    ///   - directory: is made if it does not exist; the directory above it must exist.
    ///   - log: receives a line for each thing done.
    public static func open(
        directory: String, log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ClusterError) -> Cluster {
        try Cluster(directory: directory, log: log)
    }

    private init(
        directory: String, log: @escaping @Sendable (String) -> Void
    ) throws(ClusterError) {
        user = try ClusterUser()
        files = try ClusterFiles(directory: directory, user: user)
        self.log = log
        let start = try Self.lockStart(files)
        defer { start.close() }
        let users = try Self.lock(files.usersLock)
        do throws(ClusterError) {
            // Under the start lock nobody holds it alone, but its last holder may be ending.
            guard users.take(.shared, within: Self.startLockLimit) else {
                throw .busy(after: Self.startLockLimit)
            }
            socketDirectory = try files.chosenSocketDirectory(for: user)
            try files.initializeIfNeeded(as: user, log: log)
            let server = Server(
                files: files, user: user, socketDirectory: socketDirectory, log: log)
            try server.run(within: Self.startLimit)
        } catch {
            users.close()
            throw error
        }
        use = Mutex(users)
    }

    deinit { release() }

    /// How libpq reaches the database `postgres` of the server as its superuser.
    public var connectionString: String { connectionString(database: "postgres") }

    /// How libpq reaches a database of the server as its superuser.
    public func connectionString(database: String) -> String {
        "host=\(quoted(socketDirectory)) port=5432 user=\(Self.superuser) "
            + "dbname=\(quoted(database))"
    }

    /// Whether the server's process runs and accepts connections.
    public var isAlive: Bool { Postmaster(data: files.data)?.isReady ?? false }

    /// Starts the server again if it died; blocks until it accepts connections.
    ///
    /// Call it now and then, not from a loop's thread; it also keeps the server's log short.
    ///
    /// - Returns: whether it had died.
    @discardableResult
    public func restartIfDead() throws(ClusterError) -> Bool {
        files.shortenLog()
        guard !isAlive else { return false }
        let start = try Self.lockStart(files)
        defer { start.close() }
        guard use.withLock({ $0 != nil }), !isAlive else { return false }
        log("the PostgreSQL server in \(files.directory) is gone; starting it again")
        try Server(files: files, user: user, socketDirectory: socketDirectory, log: log)
            .run(within: Self.startLimit)
        return true
    }

    /// Ends this use of the server; the last user stops it and waits until it has stopped.
    public func release() {
        guard let users = use.withLock({ $0.take() }) else { return }
        defer { users.close() }
        guard let start = try? Self.lockStart(files) else { return }
        defer { start.close() }
        guard users.take(.exclusive) else { return }
        Server(files: files, user: user, socketDirectory: socketDirectory, log: log).stop()
        if socketDirectory != files.directory { rmdir(socketDirectory) }
    }

    private static func lockStart(_ files: ClusterFiles) throws(ClusterError) -> FileLock {
        let start = try lock(files.startLock)
        guard start.take(.exclusive, within: startLockLimit) else {
            start.close()
            throw .busy(after: startLockLimit)
        }
        return start
    }

    private static func lock(_ path: String) throws(ClusterError) -> FileLock {
        do throws(Program.Failure) {
            return try FileLock(path: path)
        } catch {
            throw .file(path: path, reason: errorText(error.number))
        }
    }
}

/// A value as a libpq connection string writes it.
func quoted(_ value: String) -> String {
    var quoted = "'"
    for character in value {
        if character == "'" || character == "\\" { quoted.append("\\") }
        quoted.append(character)
    }
    return quoted + "'"
}
