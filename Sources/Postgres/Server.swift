internal import Glibc

/// Starting and stopping the server process; the caller holds the start lock.
struct Server {
    let files: ClusterFiles
    let user: ClusterUser
    let socketDirectory: String
    let log: @Sendable (String) -> Void

    /// Makes sure that the server accepts connections.
    func run(within limit: Duration) throws(ClusterError) {
        let deadline = ContinuousClock.now + limit
        files.shortenLog()
        var logStart = Files.size(of: files.log)
        var started: pid_t?
        var refusals = 0
        while ContinuousClock.now < deadline {
            if let postmaster = Postmaster(data: files.data) {
                if postmaster.isReady {
                    let verb = started == nil ? "joined" : "started"
                    log("\(verb) the PostgreSQL server in \(files.directory)")
                    return
                }
            } else if let process = started {
                // No lock file yet, or none any more: then it has ended.
                if !Postmaster.isAlive(process, in: files.data) && !isStarting(process) {
                    let said = Files.text(of: files.log, after: logStart) ?? ""
                    guard Self.refusals.contains(where: said.contains) else {
                        throw .programFailed("postgres", status: 1, output: said)
                    }
                    // Processes of a server that was killed are still ending, or nobody has
                    // collected its first one, whose lock file then never goes by itself.
                    refusals += 1
                    let isLocked = said.contains(Self.lockRefusal)
                    if isLocked || refusals % 20 == 0 { clearRemains() }
                    started = nil
                }
            } else {
                logStart = Files.size(of: files.log)
                started = try start()
            }
            usleep(started == nil ? 50_000 : 5_000)
        }
        throw .notStarted(
            after: limit, log: Files.text(of: files.log, after: logStart) ?? "no log")
    }

    /// Stops the server: gently, then at once.
    func stop() {
        guard let postmaster = Postmaster(data: files.data) else { return }
        for (signal, limit) in [(SIGINT, Duration.seconds(30)), (SIGQUIT, .seconds(5))] {
            kill(postmaster.process, signal)
            let hasEnded = waitUntil(limit) {
                !Postmaster.isAlive(postmaster.process, in: files.data)
            }
            if hasEnded {
                log("stopped the PostgreSQL server in \(files.directory)")
                return
            }
        }
        log("the PostgreSQL server in \(files.directory) does not stop; it was left running")
    }

    private func start() throws(ClusterError) -> pid_t {
        let version = Files.text(of: files.data + "/PG_VERSION")?.split(separator: "\n").first
        let programs = try ServerPrograms(version: version.flatMap { Int($0) })
        // On the command line, because nothing in a file may loosen these.
        let settings = [
            "listen_addresses=", "unix_socket_directories=\(socketDirectory)", "port=5432",
            "unix_socket_permissions=0700", "fsync=on", "full_page_writes=on",
            "synchronous_commit=on", "restart_after_crash=on", "logging_collector=off",
        ]
        let arguments =
            user.prefix + [programs.postgres, "-D", files.data]
            + settings.flatMap { ["-c", $0] }
        do throws(Program.Failure) {
            return try Program.startDetached(arguments, log: files.log)
        } catch {
            throw .programFailed(arguments[0], status: 127, output: errorText(error.number))
        }
    }

    /// Whether our child is still on its way to the data directory.
    private func isStarting(_ process: pid_t) -> Bool {
        var status: Int32 = 0
        return waitpid(process, &status, WNOHANG) == 0
    }

    /// What the server says while a server that was killed is not quite gone.
    private static let refusals = ["is still in use", lockRefusal]
    /// Said of `postmaster.pid` and of the socket's lock file alike.
    private static let lockRefusal = "\" already exists"

    /// Ends what a dead server left behind, and removes its lock files, which would go on to
    /// refuse us if its process was never collected or another one has got its number.
    ///
    /// The server also finds its predecessor's processes by their shared memory, whose key
    /// comes from the data directory, so two servers at once stay impossible.
    private func clearRemains() {
        guard Postmaster(data: files.data) == nil else { return }
        unlink(files.data + "/postmaster.pid")
        unlink(socketDirectory + "/.s.PGSQL.5432.lock")
        for process in Postmaster.orphans(of: files.data) {
            log("ending process \(process), left over by a PostgreSQL server that was killed")
            kill(process, SIGQUIT)
        }
    }
}
