/// A command with what was given to it, checked against the table.
struct Invocation: Sendable, Equatable {
    var command: Command
    /// Values by the option's name, in the order given; a flag that was given has an empty list.
    var options: [String: [String]] = [:]
    /// The positional arguments, in the order given.
    var arguments: [String] = []

    /// Whether a flag was given.
    func has(_ name: String) -> Bool { options[name] != nil }

    /// The value of an option that is given at most once.
    func value(_ name: String) -> String? { options[name]?.first }

    /// The values of an option that may be repeated.
    func values(_ name: String) -> [String] { options[name] ?? [] }

    /// The number given to an option that takes a position.
    func position(_ name: String) -> Int64? { value(name).flatMap { Int64($0) } }
}

/// What the command line asks for.
enum CommandLineRequest: Sendable, Equatable {
    case run(Invocation)
    /// Print this on standard output and end with 0.
    case help(String)
}

/// Why a command line was not understood; the program ends with `ExitCode.usage`.
struct UsageError: Error, Equatable, CustomStringConvertible {
    /// What is wrong, and the nearest right thing.
    var message: String
    /// Whose help would help, such as `keys create`; empty: the program's own.
    var topic: String

    var description: String {
        let words = topic.isEmpty ? "" : topic + " "
        return "subledger: \(message)\nTry: subledger \(words)--help"
    }
}

/// How a command ends.
enum ExitCode: Int32, Sendable {
    case done = 0
    case failed = 1
    /// Wrong usage or configuration.
    case usage = 2
    /// A check found something wrong.
    case found = 3
    case interrupted = 130
}
