/// How much a log line matters, the least first.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
    /// What helps to find a fault; off unless asked for. The only level that may name a customer.
    case debug
    /// What happened, once, as intended.
    case info
    /// What the program coped with and its keeper should look at.
    case warning
    /// What did not work and needs somebody.
    case error

    /// Whether the left matters less.
    public static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rank < right.rank
    }

    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }
}
