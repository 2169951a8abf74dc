/// Help texts, written from the table of commands.
enum CommandHelp {
    /// What `subledger --help` prints.
    static func program() -> String {
        let rows = CommandTable.commands.map { ($0.command.rawValue, $0.summary) }
        return """
            usage: subledger COMMAND [OPTIONS]

            A ledger of signed App Store evidence that answers who may use what, and why.

            commands:
            \(table(rows))

            options of every command:
            \(table(CommandTable.common.map { ($0.usage, $0.summary) }))

            Options beat SUBLEDGER_… environment variables (SUBLEDGER_LISTEN for --listen), which beat the
            configuration file. Results go to standard output, everything else to standard error.
            Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 a check found something
            wrong, 130 interrupted.

            """
    }

    /// What `subledger keys --help` prints: the commands that begin with this word.
    static func group(_ word: String) -> String {
        let forms = CommandTable.commands.filter { $0.command.words.first == word }
        return """
            usage: subledger \(word) COMMAND [OPTIONS]

            commands:
            \(table(forms.map { ($0.command.rawValue, $0.summary) }))

            Each has --help.

            """
    }

    /// What `subledger keys create --help` prints.
    static func command(_ form: CommandForm) -> String {
        let usage = ([form.command.rawValue] + form.arguments.map(\.usage) + ["[OPTIONS]"])
            .joined(separator: " ")
        var text = "usage: subledger \(usage)\n\n\(sentence(form.summary))\n"
        if !form.arguments.isEmpty {
            text += "\narguments:\n\(table(form.arguments.map { ($0.name, $0.summary) }))\n"
        }
        if !form.options.isEmpty {
            text += "\noptions:\n\(table(form.options.map { ($0.usage, $0.summary) }))\n"
        }
        text += "\noptions of every command:\n"
        text += "\(table(CommandTable.common.map { ($0.usage, $0.summary) }))\n"
        return form.notes.isEmpty ? text : text + "\n\(form.notes)\n"
    }

    private static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, summary in
            "  \(name)\(String(repeating: " ", count: width - name.count))  \(summary)"
        }.joined(separator: "\n")
    }

    private static func sentence(_ summary: String) -> String {
        summary.prefix(1).uppercased() + summary.dropFirst() + "."
    }
}
