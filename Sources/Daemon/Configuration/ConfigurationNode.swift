/// One value as it was written, and where.
struct ConfigurationNode: Sendable, Equatable {
    indirect enum Value: Sendable, Equatable {
        case null
        case bool(Bool)
        case integer(Int64)
        /// Any other number, by its spelling.
        case number(String)
        case text(String)
        case list([ConfigurationNode])
        /// In the order written; names are unique.
        case object([Member])
    }

    /// One member of an object.
    struct Member: Sendable, Equatable {
        var name: String
        /// Where its name is.
        var origin: Origin
        var node: ConfigurationNode
    }

    /// Who said it. Lines and columns count from 1.
    enum Origin: Sendable, Equatable {
        case file(line: Int, column: Int)
        case variable(String)
        case option(String)
    }

    var value: Value
    var origin: Origin

    /// What a refusal says was found; short, and never the inside of a list or an object.
    var found: String {
        switch value {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .number(let spelling): spelling
        case .text(let text): Self.quoted(text)
        case .list: "a list"
        case .object: "an object"
        }
    }

    /// What a refusal says was found where a secret is expected.
    var foundKind: String {
        switch value {
        case .null: "null"
        case .bool: "true or false"
        case .integer, .number: "a number"
        case .text: "text"
        case .list: "a list"
        case .object: "an object"
        }
    }

    static func quoted(_ text: String) -> String {
        let shown = text.count > 60 ? text.prefix(60) + "…" : Substring(text)
        return "\"" + shown.map { $0.isNewline ? " " : String($0) }.joined() + "\""
    }
}
