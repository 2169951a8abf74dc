import Postgres

// What an error says of an append.

extension PostgresError {
    /// Whether the commit that it answers may have happened, or may still happen.
    var leavesCommitOpen: Bool {
        switch self {
        case .commitUnknown, .connectionLost, .timedOut: true
        default: false
        }
    }

    /// Whether COMMIT was answered with less than an unconditional yes.
    var isCommitRefused: Bool { if case .commitRefused = self { true } else { false } }

    /// Whether a key stands against it: the pen's, or one that an old memory would not know.
    var blamesMemory: Bool { sqlstate == "23505" || sqlstate == "23503" }

    /// Whether it is about what one item carries, so that its neighbours can be stored without it:
    /// what cannot be sent or read, a wrong value, a broken constraint, too long for an index.
    var blamesWhatWasSent: Bool {
        switch self {
        case .invalidParameter, .unexpectedValue, .unexpectedAnswer: true
        case .server(let error):
            ["22", "23", "54"].contains(String(error.sqlstate.prefix(2)))
        default: false
        }
    }
}
