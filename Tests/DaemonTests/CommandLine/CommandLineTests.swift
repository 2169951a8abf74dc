import Testing

@testable import Daemon

@Suite("A command line")
struct CommandLineTests {
    private func invocation(_ words: String...) throws -> Invocation? {
        guard case .run(let invocation) = try CommandLineParser.request(words) else { return nil }
        return invocation
    }

    @Test("may give options before, between and after the arguments, in both spellings")
    func spellings() throws {
        let expected = Invocation(
            command: .importNotifications, options: ["config": ["a.json5"], "json": []],
            arguments: ["one.ndjson", "-"])
        #expect(
            try invocation(
                "import", "notifications", "--config", "a.json5", "one.ndjson", "--json", "-")
                == expected)
        #expect(
            try invocation(
                "import", "notifications", "one.ndjson", "-", "--json", "--config=a.json5")
                == expected)
    }

    @Test("keeps repeated options in order")
    func repeated() throws {
        let invocation = try invocation("keys", "create", "--role", "read", "--role=ingest")
        #expect(invocation?.values("role") == ["read", "ingest"])
    }

    @Test("reads positions as numbers")
    func positions() throws {
        let invocation = try invocation("replay", "--from", "7", "--to=90412")
        #expect(invocation?.position("from") == 7)
        #expect(invocation?.position("to") == 90_412)
    }

    @Test("takes everything behind two dashes as arguments")
    func dashes() throws {
        #expect(try invocation("entitlements", "--", "--odd")?.arguments == ["--odd"])
    }

    @Test(
        "is refused with the nearest right thing",
        arguments: [
            ("", "no command was given"),
            ("srve", "unknown command 'srve'; did you mean 'serve'?"),
            (
                "frobnicate",
                "unknown command 'frobnicate'; known are: backfill, doctor, entitlements,"
                    + " export, import, keys, metrics, migrate, projections, quarantine,"
                    + " reconcile, replay, serve, store-simulator, timeline, verify"
            ),
            ("keys", "'keys' needs one of: create, list, revoke"),
            ("keys crate", "unknown command 'keys crate'; did you mean 'keys create'?"),
            (
                "import rumours f",
                "unknown command 'import rumours'; known are: notifications, transactions, receipts,"
                    + " responses, rates"
            ),
            ("serve --lisen x:1", "unknown option '--lisen'; did you mean '--listen'?"),
            ("serve --no-migrat", "unknown option '--no-migrat'; did you mean '--no-migrate'?"),
            ("serve --listen", "--listen needs a value: --listen HOST:PORT"),
            ("serve --listen --json", "--listen needs a value: --listen HOST:PORT"),
            ("serve --json=yes", "--json takes no value"),
            ("serve --json --json", "--json was given twice"),
            ("serve now", "'now' is one argument too many"),
            ("--config x serve", "the command comes first; '--config' is none"),
            ("timeline", "CUSTOMER is missing"),
            ("import notifications", "FILE is missing"),
            ("replay --from=-1", "--from needs a whole number from 0, not '-1'"),
            (
                "timeline u_1 --environment sandbox",
                "--environment is one of Production, Sandbox, Xcode, LocalTesting, not 'sandbox';"
                    + " did you mean 'Sandbox'?"
            ),
        ])
    func refusals(line: String, message: String) {
        let error = #expect(throws: UsageError.self) {
            try CommandLineParser.request(line.split(separator: " ").map(String.init))
        }
        #expect(error?.message == message)
    }

    @Test("says whose help would help")
    func topic() {
        let error = #expect(throws: UsageError.self) {
            try CommandLineParser.request(["keys", "create", "--rol", "read"])
        }
        #expect(
            error?.description == """
                subledger: unknown option '--rol'; did you mean '--role'?
                Try: subledger keys create --help
                """)
    }

    @Test("shows a command's help, whatever else is wrong with it", arguments: Command.allCases)
    func help(command: Command) throws {
        guard
            case .help(let text) = try CommandLineParser.request(
                command.words + ["--unknown", "--help"])
        else {
            Issue.record("no help for \(command.rawValue)")
            return
        }
        #expect(text.hasPrefix("usage: subledger \(command.rawValue) "))
        #expect(text.contains("--config FILE"))
        #expect(try CommandLineParser.request(["help"] + command.words) == .help(text))
    }

    @Test("shows the program's help, with every command in it")
    func programHelp() throws {
        guard case .help(let text) = try CommandLineParser.request(["--help"]) else {
            Issue.record("no help")
            return
        }
        for command in Command.allCases { #expect(text.contains("  \(command.rawValue) ")) }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 110 })
    }

    @Test("shows the help of a group of commands")
    func groupHelp() throws {
        guard case .help(let text) = try CommandLineParser.request(["keys", "--help"]) else {
            Issue.record("no help")
            return
        }
        #expect(text.contains("keys create") && text.contains("keys revoke"))
        #expect(!text.contains("serve"))
    }

    @Test("has one row in the table for each command")
    func table() {
        #expect(
            CommandTable.commands.map(\.command.rawValue).sorted()
                == Command.allCases.map(\.rawValue).sorted())
    }
}
