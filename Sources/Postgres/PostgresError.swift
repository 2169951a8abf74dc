/// Why a conversation with PostgreSQL did not give what was asked for.
public enum PostgresError: Error, Equatable, Sendable {
    /// No session was opened: wrong address, refused login, server not up, or a failed `set`.
    case notConnected(String)
    /// The session ended before the answer; a single statement may or may not have run.
    case connectionLost(String)
    /// The deadline passed before the answer; the session was closed.
    case timedOut(after: Duration)
    /// The server answered with an error; the session goes on.
    case server(ServerError)
    /// COMMIT was sent and never answered: the work may have been committed.
    case commitUnknown(String)
    /// COMMIT was answered, but not with an unconditional yes; do not take it for committed.
    case commitRefused(String)
    /// Too many statements already wait on this session; nothing was sent.
    case overloaded(waiting: Int)
    /// There is no session at the moment; nothing was sent.
    case unavailable(String)
    /// A parameter cannot be sent, such as text that contains a NUL; nothing was sent.
    case invalidParameter(number: Int, String)
    /// A column holds another type than the caller asked for, or NULL.
    case unexpectedValue(column: String, expected: String, found: String)
    /// The server's answer does not fit the question, such as COPY where rows were expected.
    case unexpectedAnswer(String)

    /// The five-character code of a server's error.
    public var sqlstate: String? {
        if case .server(let error) = self { error.sqlstate } else { nil }
    }

    /// Whether the session is gone, so that a new one is needed.
    public var isConnectionLost: Bool {
        switch self {
        case .connectionLost, .timedOut, .commitUnknown, .notConnected, .unavailable: true
        case .server(let error): error.endsSession
        case .commitRefused, .overloaded, .invalidParameter, .unexpectedValue,
            .unexpectedAnswer:
            false
        }
    }

    /// Whether the same request, if harmless to run twice, may succeed when sent again.
    public var isRetryable: Bool {
        switch self {
        case .connectionLost, .commitUnknown, .notConnected, .unavailable, .overloaded: true
        case .server(let error):
            error.endsSession || ["40001", "40P01", "25006"].contains(error.sqlstate)
        case .timedOut, .commitRefused, .invalidParameter, .unexpectedValue, .unexpectedAnswer:
            false
        }
    }

    /// Whether a unique key already holds what was to be inserted.
    public var isUniqueViolation: Bool { sqlstate == "23505" }
}

/// An error as the server tells it.
///
/// - Source: PostgreSQL, "Error and Notice Message Fields" and "PostgreSQL Error Codes".
public struct ServerError: Error, Equatable, Sendable {
    /// Five characters; the first two are the class.
    public let sqlstate: String
    /// The primary message, one line; may quote a value the caller sent.
    public let message: String
    /// More about it; may quote the values of a key, so it belongs in no log.
    public let detail: String?
    /// The table concerned, where the server names one.
    public let table: String?
    /// The constraint concerned, where the server names one.
    public let constraint: String?

    /// An error with these fields.
    public init(
        sqlstate: String, message: String, detail: String? = nil, table: String? = nil,
        constraint: String? = nil
    ) {
        self.sqlstate = sqlstate
        self.message = message
        self.detail = detail
        self.table = table
        self.constraint = constraint
    }

    /// Whether the server ends the session with it: class 08 and 57P01 to 57P05.
    public var endsSession: Bool { sqlstate.hasPrefix("08") || sqlstate.hasPrefix("57P0") }
}

extension PostgresError: CustomStringConvertible {
    /// One line for a log; never the server's detail, which may quote a key.
    public var description: String {
        switch self {
        case .notConnected(let why): "no session with PostgreSQL: \(why)"
        case .connectionLost(let why): "the session with PostgreSQL ended: \(why)"
        case .timedOut(let after): "PostgreSQL did not answer within \(after)"
        case .server(let error): "PostgreSQL answered \(error.sqlstate): \(error.message)"
        case .commitUnknown(let why): "COMMIT was sent and not answered: \(why)"
        case .commitRefused(let why): "COMMIT was not confirmed: \(why)"
        case .overloaded(let waiting): "\(waiting) statements already wait for PostgreSQL"
        case .unavailable(let why): "no session with PostgreSQL at the moment: \(why)"
        case .invalidParameter(let number, let why): "parameter $\(number) cannot be sent: \(why)"
        case .unexpectedValue(let column, let expected, let found):
            "column \(column): expected \(expected), found \(found)"
        case .unexpectedAnswer(let what): "unexpected answer from PostgreSQL: \(what)"
        }
    }
}
