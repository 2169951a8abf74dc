internal import Glibc

/// What lies in the directory of an embedded server.
struct ClusterFiles: Sendable {
    let directory: String

    var data: String { directory + "/data" }
    var usersLock: String { directory + "/users.lock" }
    var startLock: String { directory + "/start.lock" }
    var log: String { directory + "/server.log" }
    private var socketNote: String { directory + "/socket" }

    /// Makes the directory if it is missing, and checks that the server's user can use it.
    init(directory: String, user: ClusterUser) throws(ClusterError) {
        var path = directory
        if !path.hasPrefix("/") {
            guard let current = getcwd(nil, 0) else { throw Files.failure(".") }
            defer { free(current) }
            path = String(cString: current) + "/" + path
        }
        if let closed = user.closedDirectory(above: path) {
            throw .notTraversable(path: closed, user: user.name)
        }
        try Files.makeDirectory(path, for: user)
        // The kernel's spelling, which is what a process shows as its working directory.
        guard let real = realpath(path, nil) else { throw Files.failure(path) }
        defer { free(real) }
        self.directory = String(cString: real)
    }

    /// Where the socket goes: the directory itself, or a short one when its path is too long.
    ///
    /// - Source: Linux, unix(7): a socket's path has at most 107 bytes.
    func chosenSocketDirectory(for user: ClusterUser) throws(ClusterError) -> String {
        if (directory + "/.s.PGSQL.5432").utf8.count <= 107 { return directory }
        if let note = Files.text(of: socketNote) {
            // Gone when the last user left, or the machine started anew.
            if mkdir(note, 0o700) == 0, chown(note, user.user, user.group) == 0 { return note }
            if isPrivate(note, user) { return note }
        }
        var template = Array("/tmp/pg-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Files.failure("/tmp/pg-XXXXXX") }
        let made = String(
            decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard chown(made, user.user, user.group) == 0 else { throw Files.failure(made) }
        try Files.write(made, to: socketNote)
        return made
    }

    /// Whether the path is a directory that nobody but the user can enter.
    private func isPrivate(_ path: String, _ user: ClusterUser) -> Bool {
        var entry = stat()
        return lstat(path, &entry) == 0 && entry.st_uid == user.user
            && entry.st_mode & (S_IFMT | 0o077) == S_IFDIR
    }

    /// Makes the data directory, in one step as seen from outside.
    func initializeIfNeeded(
        as user: ClusterUser, log: @Sendable (String) -> Void
    ) throws(ClusterError) {
        guard !Files.exists(data + "/PG_VERSION") else { return }
        let programs = try ServerPrograms(version: nil)
        log("making a PostgreSQL cluster in \(directory)")
        // One's own: what a killed process left behind may still be written to by its child.
        let prefix = "data.new"
        let new = directory + "/\(prefix).\(getpid())"
        for name in Files.names(in: directory) where name.hasPrefix(prefix) {
            let isOwn = directory + "/" + name == new
            do throws(ClusterError) {
                try run(["/bin/rm", "-rf", "--", directory + "/" + name])
            } catch {
                if isOwn { throw error }  // others are removed at some later start
            }
        }
        try run(
            user.prefix + [
                programs.initdb, "--pgdata=\(new)", "--username=\(Cluster.superuser)",
                "--encoding=UTF8", "--locale=C", "--auth-local=peer", "--auth-host=reject",
                "--data-checksums", "--no-instructions",
            ])
        let logins = Set(["root", user.name, ClusterUser.name(of: getuid()) ?? "root"])
        try Files.write(
            logins.sorted().map { "cluster \"\($0)\" \(Cluster.superuser)\n" }.joined(),
            to: new + "/pg_ident.conf")
        try Files.write("local all all peer map=cluster\n", to: new + "/pg_hba.conf")
        try Files.write(Self.settings, to: new + "/postgresql.conf", appending: true)
        try Files.rename(new, to: data, in: directory)
    }

    /// What `alter system` and the keeper of the file may change; `Server` fixes the rest.
    private static let settings = """

        # For a private server beside one daemon.
        max_connections = 400
        shared_buffers = 256MB
        min_wal_size = 256MB
        max_wal_size = 2GB
        checkpoint_timeout = 10min
        wal_compression = on
        wal_level = replica
        max_wal_senders = 4
        client_connection_check_interval = 1s
        # Statements and keys may name a customer, so the log has neither.
        log_min_messages = warning
        log_min_error_statement = panic
        log_error_verbosity = terse
        log_checkpoints = off
        log_line_prefix = '%m [%p] '
        timezone = 'UTC'
        log_timezone = 'UTC'

        """

    private func run(_ arguments: [String]) throws(ClusterError) {
        let name = arguments.first { $0.hasSuffix("initdb") } ?? arguments[0]
        let ended: Program.Ended
        do throws(Program.Failure) {
            ended = try Program.run(arguments, within: .seconds(120))
        } catch {
            throw .programFailed(arguments[0], status: 127, output: errorText(error.number))
        }
        guard ended.status == 0 else {
            throw .programFailed(name, status: ended.status, output: ended.output)
        }
    }

    /// Keeps the last 4 MB or so of the server's log as `server.log.1` once it exceeds that.
    ///
    /// The server appends, so it goes on at the start of the emptied file.
    func shortenLog() {
        guard Files.size(of: log) > 4 << 20 else { return }
        do throws(Program.Failure) {
            _ = try Program.run(["/bin/cp", "--", log, log + ".1"], within: .seconds(30))
        } catch {
            return  // It stays long until the next call.
        }
        truncate(log, 0)
    }
}
