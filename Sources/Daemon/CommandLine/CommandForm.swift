/// What a command takes, and what its help says.
struct CommandForm: Sendable {
    var command: Command
    /// One line, without a full stop.
    var summary: String
    var arguments: [ArgumentForm] = []
    var options: [OptionForm] = []
    /// Paragraphs below the options in its help.
    var notes: String = ""

    /// Its own options and those that every command takes.
    var allOptions: [OptionForm] { options + CommandTable.common }
}

/// One positional argument.
struct ArgumentForm: Sendable {
    enum Count: Sendable { case one, optional, oneOrMore, any }

    /// In capitals, such as `FILE`.
    var name: String
    var count: Count = .one
    var summary: String

    /// As in a usage line.
    var usage: String {
        switch count {
        case .one: name
        case .optional: "[\(name)]"
        case .oneOrMore: "\(name)…"
        case .any: "[\(name)…]"
        }
    }
}

/// One option.
struct OptionForm: Sendable {
    enum Value: Sendable, Equatable {
        /// Takes no value.
        case flag
        /// Takes any text; the name in capitals is for the help.
        case text(String)
        /// Takes a whole number from 0.
        case position
        /// Takes one of these words.
        case choice([String])
    }

    /// Without the two dashes.
    var name: String
    var value: Value
    var repeatable = false
    var summary: String

    /// As in a list of options.
    var usage: String {
        switch value {
        case .flag: "--\(name)"
        case .text(let shown): "--\(name) \(shown)"
        case .position: "--\(name) POSITION"
        case .choice: "--\(name) \(name.uppercased())"
        }
    }
}
