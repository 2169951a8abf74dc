/// Why the private PostgreSQL server could not be provided.
public enum ClusterError: Error, Equatable, Sendable {
    /// The server's programs are not installed, or not in the version the data needs.
    case programsMissing(String)
    /// Root may not run PostgreSQL, and there is no user to run it as.
    case noUnprivilegedUser(String)
    /// The server's user cannot reach the directory because a directory above it is closed.
    case notTraversable(path: String, user: String)
    /// A file or directory could not be made, read or changed.
    case file(path: String, reason: String)
    /// A program failed; the end of what it wrote says why.
    case programFailed(String, status: Int32, output: String)
    /// The server did not accept connections in time; the end of its log may say why.
    case notStarted(after: Duration, log: String)
    /// Another process is starting or stopping the server and does not finish.
    case busy(after: Duration)
}

extension ClusterError: CustomStringConvertible {
    /// What was attempted, what was found, and what may be done, on a few lines.
    public var description: String {
        switch self {
        case .programsMissing(let why):
            "PostgreSQL's programs were not found: \(why); install the package postgresql"
        case .noUnprivilegedUser(let user):
            "PostgreSQL does not run as root and the user \(user) does not exist; create it"
        case .notTraversable(let path, let user):
            "the user \(user), as whom PostgreSQL runs, may not enter \(path); "
                + "choose another directory or let others enter it"
        case .file(let path, let reason): "\(path): \(reason)"
        case .programFailed(let program, let status, let output):
            "\(program) ended with status \(status): \(output)"
        case .notStarted(let after, let log):
            "PostgreSQL did not accept connections within \(after): \(log)"
        case .busy(let after):
            "another process has been starting or stopping PostgreSQL for more than \(after)"
        }
    }
}
