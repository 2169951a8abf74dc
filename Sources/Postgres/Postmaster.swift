internal import Glibc

/// The server's process, as its lock file names it.
///
/// - Source: PostgreSQL, `postmaster.pid` (`pidfile.h`); `pg_ctl` reads the same lines.
struct Postmaster {
    let process: pid_t
    let socketDirectory: String
    let isReady: Bool

    /// The live server of a data directory; `nil` when its lock file is absent or stale.
    init?(data: String) {
        guard let text = Files.text(of: data + "/postmaster.pid") else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let process = lines.first.flatMap({ pid_t($0) }), process > 1,
            Self.isAlive(process, in: data)
        else { return nil }
        self.process = process
        socketDirectory = lines.count > 4 ? String(lines[4]) : ""
        isReady = lines.count > 7 && lines[7].hasPrefix("ready")
    }

    /// Whether the process runs and is this server rather than another that got its number.
    static func isAlive(_ process: pid_t, in data: String) -> Bool {
        // Collects the process if it was a child of ours, so that it is no zombie below.
        var status: Int32 = 0
        if waitpid(process, &status, WNOHANG) == process { return false }
        guard let text = Files.text(of: "/proc/\(process)/stat"),
            let end = text.lastIndex(of: ")")
        else { return false }
        let state = text[text.index(after: end)...].first { $0 != " " }
        guard state != "Z", state != "X" else { return false }
        // As the server's own user or root we can see which directory it works in.
        guard let directory = workingDirectory(of: process) else { return true }
        return directory == data
    }

    /// The server processes that outlived their postmaster.
    static func orphans(of data: String) -> [pid_t] {
        Files.names(in: "/proc").compactMap { pid_t($0) }.filter { process in
            workingDirectory(of: process) == data
                && Files.text(of: "/proc/\(process)/comm")?.hasPrefix("postgres") == true
        }
    }

    private static func workingDirectory(of process: pid_t) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/\(process)/cwd", &buffer, buffer.count - 1)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
