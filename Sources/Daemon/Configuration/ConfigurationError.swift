/// Why a configuration was not taken; the program ends with `ExitCode.usage`.
enum ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// The file that was asked for cannot be read.
    case unreadable(file: String, reason: String)
    /// The file is no JSON5. Lines and columns count from 1.
    case syntax(file: String, line: Int, column: Int, problem: String)
    /// Members are unknown, of the wrong type or out of range; never empty, in the order found.
    case refused([ConfigurationRefusal])
    /// A secret is not where the configuration says it is.
    case secretMissing(Secret, reason: String)

    /// One line for each thing to mend; never a secret.
    var description: String {
        switch self {
        case .unreadable(let file, let reason): "\(file): \(reason)"
        case .syntax(let file, let line, let column, let problem):
            "\(file):\(line):\(column): \(problem)"
        case .refused(let refusals): refusals.map(\.description).joined(separator: "\n")
        case .secretMissing(let secret, let reason): "the secret \(secret): \(reason)"
        }
    }
}

/// One member that was not taken.
struct ConfigurationRefusal: Sendable, Equatable, CustomStringConvertible {
    /// Who said it: `FILE:LINE:COLUMN`, the environment variable or the option.
    var origin: String
    /// Which member, such as `apps[0].bundleId`; empty for the whole.
    var path: String
    /// What was found and what is allowed.
    var problem: String

    var description: String {
        [origin, path, problem].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}
