internal import Glibc

/// Starting other programs with `posix_spawn`.
enum Program {
    /// `POSIX_SPAWN_SETSID`, which glibc's headers show to GNU programs only.
    private static let newSession: Int32 = 0x80

    struct Ended: Sendable {
        /// The exit status, or 128 and the signal's number.
        let status: Int32
        /// The last part of what it wrote to standard output and standard error.
        let output: String
    }

    /// Starts a program in its own session, without any of our descriptors or a death signal.
    ///
    /// - Parameter log: a file that receives what it writes, at its end.
    /// - Throws: the error number.
    static func startDetached(_ arguments: [String], log: String) throws(Failure) -> pid_t {
        try spawn(arguments, flags: newSession) { actions in
            posix_spawn_file_actions_addopen(
                &actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        }
    }

    /// Runs a program to its end, or kills it when the time is over.
    static func run(
        _ arguments: [String], within limit: Duration
    ) throws(Failure) -> Ended {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(number: errno) }
        ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
        defer { Glibc.close(ends[0]) }
        let process: pid_t
        do throws(Failure) {
            process = try spawn(arguments, flags: 0) { actions in
                posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
                posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
            }
        } catch {
            Glibc.close(ends[1])
            throw error
        }
        Glibc.close(ends[1])
        let output = tail(of: ends[0], until: ContinuousClock.now + limit)
        if output.isCut { kill(process, SIGKILL) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        return Ended(status: exitStatus(status), output: output.text)
    }

    struct Failure: Error {
        let number: Int32
    }

    /// What is written to the pipe until it closes or the time is over; only the last 4 KB.
    private static func tail(
        of pipe: Int32, until deadline: ContinuousClock.Instant
    ) -> (text: String, isCut: Bool) {
        var kept: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            var entry = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
            let left = ContinuousClock.now.duration(to: deadline).components.seconds
            let isReady = poll(&entry, 1, Int32(clamping: max(0, left) * 1_000 + 100)) > 0
            let count = isReady ? read(pipe, &buffer, buffer.count) : -1
            if count > 0 {
                kept = (kept + buffer[..<count]).suffix(4_096)
            } else if count == 0 {
                return (String(decoding: kept, as: UTF8.self), false)
            } else if ContinuousClock.now >= deadline {
                return (String(decoding: kept, as: UTF8.self), true)
            }
        }
    }

    private static func exitStatus(_ status: Int32) -> Int32 {
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    private static func spawn(
        _ arguments: [String], flags: Int32,
        _ arrange: (inout posix_spawn_file_actions_t) -> Void
    ) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        arrange(&actions)
        // A descriptor that leaks would keep its file, socket or lock for the server's life.
        for descriptor in Files.names(in: "/proc/self/fd").compactMap({ Int32($0) })
        where descriptor > 2 {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The child answers signals as programs do, whatever we have blocked or ignored.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes, Int16(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let environment = ["PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C", "TZ=UTC"]
        var process = pid_t()
        let number = withCStrings(arguments) { pointers in
            withCStrings(environment) { environment in
                posix_spawn(&process, arguments[0], &actions, &attributes, pointers, environment)
            }
        }
        guard number == 0 else { throw Failure(number: number) }
        return process
    }

    private static func withCStrings<R>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R
    ) -> R {
        let copies = strings.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        return body(copies + [nil])
    }
}
