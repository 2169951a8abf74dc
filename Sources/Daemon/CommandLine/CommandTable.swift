/// Every command with what it takes: the parser reads it, and the help is written from it.
enum CommandTable {
    /// What every command takes.
    static let common: [OptionForm] = [
        OptionForm(
            name: "config", value: .text("FILE"),
            summary: "configuration (default: subledger.json5 in the working directory, if there)"),
        OptionForm(
            name: "database", value: .text("URL"),
            summary: "the ledger's database, postgresql://… (default: embedded)"),
        OptionForm(
            name: "data-directory", value: .text("DIR"),
            summary: "where the embedded database and local keys live"),
        OptionForm(
            name: "listen", value: .text("HOST:PORT"),
            summary: "where the daemon answers; port 0 picks one"),
        OptionForm(name: "json", value: .flag, summary: "results for machines, as JSON"),
        OptionForm(name: "help", value: .flag, summary: "this text"),
    ]

    /// In the order of `subledger --help`.
    static let commands: [CommandForm] =
        [
            CommandForm(
                command: .serve, summary: "run the daemon",
                options: [
                    OptionForm(
                        name: "no-migrate", value: .flag,
                        summary: "refuse to start on an older schema instead of updating it"),
                    OptionForm(
                        name: "adopt-settings", value: .flag,
                        summary: "record the file's settings where they differ, valid from now"),
                ]),
            CommandForm(command: .migrate, summary: "bring the schema up to date"),
        ] + imports + asking + answers + MetricsForm.forms + records + projections + quarantine
        + keys + [
            CommandForm(
                command: .doctor,
                summary: "check configuration, database, clock, certificates and disk",
                notes: "Ends with 3 when something is wrong, and says what to do about it."),
            SimulatorForm.form,
        ]

    private static let imports = [
        CommandForm(
            command: .importNotifications, summary: "import notifications in bulk",
            arguments: [files],
            notes: """
                Each line is {"signedPayload": "…"}, with "customer" if it is known. An import that was
                interrupted is simply run again: what is held already appends nothing.
                """),
        CommandForm(
            command: .importTransactions, summary: "import transactions and renewal infos in bulk",
            arguments: [files],
            notes: """
                Each line is {"signedTransaction": "…"} or {"signedRenewalInfo": "…"}, with "customer" if
                it is known. An import that was interrupted is simply run again.
                """),
        CommandForm(
            command: .importReceipts, summary: "ask Apple about receipts in bulk",
            arguments: [files],
            notes: """
                Each line is {"bundleId": "…", "receiptData": "…"}, with "customer" if it is known. Apple
                is asked about each; where it cannot answer now the import ends, to be run again.
                """),
        CommandForm(
            command: .importResponses, summary: "import stored answers of verifyReceipt in bulk",
            arguments: [files],
            notes: """
                Each line is {"bundleId": "…", "response": {…}}, the response an answer of verifyReceipt
                or the body of a version 1 notification. It is believed because you vouch for it. Beside
                it may stand "customer", "askedAt" (when it was asked, if it does not say) and
                "environment" (if it names none and the app lists several).
                """),
        CommandForm(
            command: .importRates, summary: "record exchange rates of the European Central Bank",
            arguments: [
                ArgumentForm(
                    name: "FILE", count: .oneOrMore,
                    summary: "eurofxref-hist.csv or eurofxref.csv; - is standard input")
            ],
            notes: """
                The files are the ECB's euro foreign exchange reference rates. Rates that are known already
                append nothing; one that differs from what is known corrects it. An import that was
                interrupted is simply run again. Metrics convert with them: see --currency.
                """),
    ]

    private static let files = ArgumentForm(
        name: "FILE", count: .oneOrMore, summary: "JSON lines; - is standard input")

    private static let asking = [
        CommandForm(
            command: .backfill, summary: "bring histories from Apple's server API",
            arguments: [
                ArgumentForm(
                    name: "ID", count: .any,
                    summary: "transaction ids (default: every known line of the app)")
            ], options: [app],
            notes: """
                Production is asked first, then Sandbox, as far as the app lists them. What was brought is
                durable page by page: a backfill that was interrupted is simply run again and goes on.
                """),
        CommandForm(
            command: .reconcile,
            summary: "compare with what Apple sent, and store what was missing",
            options: [
                app,
                OptionForm(
                    name: "from", value: .text("INSTANT"),
                    summary: "the first instant compared (default: as far as Apple remembers)"),
                OptionForm(
                    name: "to", value: .text("INSTANT"),
                    summary: "the end of what is compared (default: a few minutes ago)"),
            ],
            notes: """
                Apple remembers notifications for 180 days, 30 in Sandbox. Lines whose end is past and of
                which nothing was heard since are asked about, too. Ends with 3 when something was missing.
                """),
    ]

    private static let app = OptionForm(
        name: "app", value: .text("BUNDLE"), summary: "this app alone (default: all with a key)")

    private static let answers = [
        CommandForm(
            command: .entitlements, summary: "what a customer may use",
            arguments: [customer], options: reading),
        CommandForm(
            command: .timeline, summary: "what happened to a customer, in order",
            arguments: [customer], options: reading),
    ]

    private static let customer = ArgumentForm(
        name: "CUSTOMER", summary: "the backend's own id, or an unbound account token")

    private static let reading = [
        OptionForm(
            name: "environment", value: .choice(environments),
            summary: "\(environments.joined(separator: ", ")) (default: Production)"),
        OptionForm(
            name: "at", value: .text("INSTANT"), summary: "the instant asked about (default: now)"),
        asKnownAt,
        asKnownPosition,
        OptionForm(name: "app", value: .text("BUNDLE"), summary: "this app alone"),
    ]

    static let asKnownAt = OptionForm(
        name: "as-known-at", value: .text("INSTANT"),
        summary: "by what the ledger held at this instant")

    static let asKnownPosition = OptionForm(
        name: "as-known-position", value: .position,
        summary: "by what the ledger held at this position")

    static let environments = ["Production", "Sandbox", "Xcode", "LocalTesting"]

    private static let records = [
        CommandForm(
            command: .replay, summary: "print entries as JSON lines, in order",
            options: [
                OptionForm(
                    name: "from", value: .position, summary: "the first position (default: 1)"),
                OptionForm(
                    name: "to", value: .position, summary: "the last position (default: the head)"),
                OptionForm(
                    name: "line", value: .text("ENVIRONMENT/ID"),
                    summary: "this line alone, by its original transaction id"),
                OptionForm(
                    name: "customer", value: .text("CUSTOMER"), summary: "this customer alone"),
                OptionForm(
                    name: "kind", value: .text("KIND"), repeatable: true,
                    summary: "this kind alone; may be repeated"),
                asKnownAt, asKnownPosition,
                OptionForm(
                    name: "catalog", value: .text("FILE"),
                    summary: "suppose that this catalogue, {products: {…}}, had always held"),
                OptionForm(
                    name: "ownership", value: .choice(["keep", "lastPresenter"]),
                    summary: "suppose that this had always decided who owns a line"),
                OptionForm(
                    name: "compare", value: .flag,
                    summary: "instead of entries, customers whose answers would differ"),
                OptionForm(
                    name: "at", value: .text("INSTANT"),
                    summary: "the instant that --compare asks about (default: now)"),
            ],
            notes: """
                With --catalog or --ownership and --compare nothing is written: each customer's answers
                are folded under both settings, and those that differ are printed, one a line.
                """),
        CommandForm(
            command: .verify,
            summary: "recompute the digests and verify every kept signature again",
            notes: "Ends with 3 when something does not agree."),
    ]

    private static let projections = [
        CommandForm(command: .projectionsList, summary: "how the projections stand"),
        CommandForm(
            command: .projectionsRebuild,
            summary: "build a projection anew from the record, while it serves",
            arguments: [projection],
            options: [
                workers, rangeBuckets,
                OptionForm(
                    name: "dry-run", value: .flag,
                    summary: "only show whose answers would change, and how"),
            ],
            notes: """
                The new generation replaces the old one in one commit; the old one is kept for
                `projections rollback` until the next rebuild. One that was interrupted goes on where it
                ended when it is run again; a daemon takes it over as well.
                """),
        CommandForm(
            command: .projectionsVerify,
            summary: "prove that a projection is what the record makes",
            arguments: [projection], options: [workers, rangeBuckets],
            notes: "Ends with 3 when it is not. Nothing is replaced."),
        CommandForm(
            command: .projectionsRollback, summary: "make the generation before live again",
            arguments: [projection]),
        CommandForm(
            command: .projectionsCancel, summary: "end a rebuild, whoever is at it",
            arguments: [projection]),
    ]

    private static let projection = ArgumentForm(
        name: "NAME", summary: "such as subscriptions or entitlements")

    private static let workers = OptionForm(
        name: "workers", value: .text("N"),
        summary: "how many streams are folded at once (default: one per core)")

    private static let rangeBuckets = OptionForm(
        name: "range-buckets", value: .text("N"),
        summary: "how many of the 1024 buckets are read at once (default: 20,000 entries' worth)")

    private static let quarantine = [
        CommandForm(
            command: .quarantineList, summary: "what was received and not believed",
            options: [
                OptionForm(
                    name: "reason", value: .text("REASON"), repeatable: true,
                    summary: "for this reason alone; may be repeated")
            ]),
        CommandForm(
            command: .quarantineShow, summary: "one piece of evidence and why it is there",
            arguments: [
                ArgumentForm(name: "DIGEST", summary: "its SHA-256, or how that begins")
            ]),
        CommandForm(
            command: .quarantineReprocess, summary: "judge it again, as configured now",
            arguments: [
                ArgumentForm(
                    name: "DIGEST", count: .any, summary: "these alone (default: everything held)")
            ]),
    ]

    private static let roles = ["ingest", "read", "analyst", "operate"]

    private static let keys = [
        CommandForm(
            command: .keysCreate, summary: "make an API key and print it, once",
            options: [
                OptionForm(
                    name: "role", value: .choice(roles), repeatable: true,
                    summary: "\(roles.joined(separator: ", ")); may be repeated"),
                OptionForm(
                    name: "name", value: .text("NAME"), summary: "what it is for, for people"),
            ]),
        CommandForm(command: .keysList, summary: "API keys, without the keys themselves"),
        CommandForm(
            command: .keysRevoke, summary: "end an API key",
            arguments: [ArgumentForm(name: "KEY", summary: "its id, as in keys list")]),
    ]
}
