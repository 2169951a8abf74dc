/// Reads a command line by the table of commands.
struct CommandLineParser {
    private let form: CommandForm
    private var invocation: Invocation
    private var rest: ArraySlice<String>

    /// What these words, without the program's own name, ask for.
    ///
    /// Options may stand before, between and after the arguments, as `--name value` or `--name=value`;
    /// what follows `--` is arguments alone. `--help` wins over whatever else is wrong.
    static func request(_ words: [String]) throws(UsageError) -> CommandLineRequest {
        guard let first = words.first else {
            throw UsageError(message: "no command was given", topic: "")
        }
        if first == "help" || isHelp(first) { return .help(try help(about: words.dropFirst())) }
        guard !first.hasPrefix("-") else {
            throw UsageError(
                message: "the command comes first; '\(first)' is none", topic: "")
        }
        if let group = try groupHelp(words) { return .help(group) }
        let form = try form(named: words)
        let rest = words.dropFirst(form.command.words.count)
        if rest.prefix(while: { $0 != "--" }).contains(where: isHelp) {
            return .help(CommandHelp.command(form))
        }
        var parser = CommandLineParser(form: form, rest: rest)
        return .run(try parser.parsed())
    }

    private init(form: CommandForm, rest: ArraySlice<String>) {
        self.form = form
        self.rest = rest
        invocation = Invocation(command: form.command)
    }

    private static func isHelp(_ word: String) -> Bool { word == "--help" || word == "-h" }

    private static func help(about words: ArraySlice<String>) throws(UsageError) -> String {
        guard let first = words.first, !first.hasPrefix("-") else { return CommandHelp.program() }
        if words.count == 1, isGroup(first) { return CommandHelp.group(first) }
        return CommandHelp.command(try form(named: Array(words)))
    }

    private static func groupHelp(_ words: [String]) throws(UsageError) -> String? {
        guard isGroup(words[0]), words.count > 1, isHelp(words[1]) else { return nil }
        return CommandHelp.group(words[0])
    }

    private static func isGroup(_ word: String) -> Bool {
        Command.allCases.contains { $0.words.count == 2 && $0.words[0] == word }
    }

    // MARK: The command

    private static func form(named words: [String]) throws(UsageError) -> CommandForm {
        let first = words[0]
        for form in CommandTable.commands where Array(words.prefix(2)) == form.command.words {
            return form
        }
        for form in CommandTable.commands where [first] == form.command.words { return form }
        let inGroup = Command.allCases.filter { $0.words.count == 2 && $0.words[0] == first }
        guard inGroup.isEmpty else {
            let known = inGroup.map { $0.words[1] }
            let list = known.joined(separator: ", ")
            guard words.count > 1, !words[1].hasPrefix("-") else {
                throw UsageError(message: "'\(first)' needs one of: \(list)", topic: first)
            }
            let nearest = NearestName.of(words[1], among: known).map { "\(first) \($0)" }
            throw UsageError(
                message: "unknown command '\(first) \(words[1])'"
                    + (didYouMean(nearest) ?? "; known are: \(list)"),
                topic: first)
        }
        let known = Set(Command.allCases.map { $0.words[0] }).sorted()
        let nearest = NearestName.of(first, among: known)
        throw UsageError(
            message: "unknown command '\(first)'"
                + (didYouMean(nearest) ?? "; known are: \(known.joined(separator: ", "))"),
            topic: "")
    }

    private static func didYouMean(_ nearest: String?) -> String? {
        nearest.map { "; did you mean '\($0)'?" }
    }

    // MARK: Options and arguments

    private mutating func parsed() throws(UsageError) -> Invocation {
        while let word = rest.popFirst() {
            if word == "--" {
                invocation.arguments += rest
                break
            } else if word.hasPrefix("-") && word != "-" {
                try takeOption(word)
            } else {
                invocation.arguments.append(word)
            }
        }
        try checkCount()
        return invocation
    }

    private mutating func takeOption(_ word: String) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let written = String(parts[0])
        let attached = parts.count == 2 ? String(parts[1]) : nil
        guard let option = form.allOptions.first(where: { "--" + $0.name == written }) else {
            let known = form.allOptions.map { "--" + $0.name }
            let nearest = NearestName.of(written, among: known)
            throw refused(
                "unknown option '\(written)'"
                    + (Self.didYouMean(nearest) ?? "; known are: \(known.joined(separator: ", "))"))
        }
        if !option.repeatable, invocation.has(option.name) {
            throw refused("\(written) was given twice")
        }
        guard option.value != .flag else {
            if attached != nil { throw refused("\(written) takes no value") }
            invocation.options[option.name] = []
            return
        }
        guard let value = attached ?? nextValue(), !value.isEmpty else {
            throw refused("\(written) needs a value: \(option.usage)")
        }
        try check(value, of: option)
        invocation.options[option.name, default: []].append(value)
    }

    /// The next word, unless it is an option itself.
    private mutating func nextValue() -> String? {
        guard let next = rest.first, !next.hasPrefix("--") else { return nil }
        return rest.popFirst()
    }

    private func check(_ value: String, of option: OptionForm) throws(UsageError) {
        switch option.value {
        case .flag, .text: return
        case .position:
            guard let number = Int64(value), number >= 0, value.utf8.first != UInt8(ascii: "+")
            else {
                throw refused("--\(option.name) needs a whole number from 0, not '\(value)'")
            }
        case .choice(let known):
            guard known.contains(value) else {
                let nearest = Self.didYouMean(NearestName.of(value, among: known))
                throw refused(
                    "--\(option.name) is one of \(known.joined(separator: ", ")), not '\(value)'"
                        + (nearest ?? ""))
            }
        }
    }

    private func checkCount() throws(UsageError) {
        let given = invocation.arguments.count
        var least = 0
        var most: Int? = 0
        for argument in form.arguments {
            switch argument.count {
            case .one:
                least += 1
                most = most.map { $0 + 1 }
            case .optional: most = most.map { $0 + 1 }
            case .oneOrMore:
                least += 1
                most = nil
            case .any: most = nil
            }
        }
        if given < least {
            throw refused("\(form.arguments[given].name) is missing")
        }
        if let most, given > most {
            throw refused("'\(invocation.arguments[most])' is one argument too many")
        }
    }

    private func refused(_ message: String) -> UsageError {
        UsageError(message: message, topic: form.command.rawValue)
    }
}
