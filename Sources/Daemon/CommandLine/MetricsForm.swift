import Analytics

/// What `metrics` and `export` take.
enum MetricsForm {
    static let forms = [metrics, export]

    private static let metrics = CommandForm(
        command: .metrics, summary: "a number by its name, and what it rests on",
        arguments: [
            ArgumentForm(
                name: "NAME", summary: "such as mrr or revenue; GET /v1/metrics lists them")
        ], options: [format] + parameters + [CommandTable.asKnownAt, CommandTable.asKnownPosition],
        notes: """
            A state, such as mrr, takes --at; what happens, such as revenue, takes --from and --to. Both
            are instants, or dates, which are midnights of --zone. Money is shown in units of its
            currency in a table, and in milliunits everywhere else.
            """)

    private static let export = CommandForm(
        command: .export, summary: "a whole table, as known at a position",
        arguments: [
            ArgumentForm(
                name: "TABLE",
                summary: ExportTable.allCases.map(\.rawValue).joined(separator: ", "))
        ],
        options: [
            OptionForm(
                name: "format", value: .choice(TableWriter.Format.allCases.map(\.rawValue)),
                summary: "csv, ndjson, parquet (default: csv)"),
            OptionForm(
                name: "output", value: .text("DIR"),
                summary: "a folder for files and their manifest (default: standard output)"),
            OptionForm(
                name: "rows-per-file", value: .position,
                summary: "about how many rows a file has (default: 200000)"),
            environment,
            OptionForm(name: "app", value: .text("BUNDLE"), summary: "this app's lines alone"),
            CommandTable.asKnownAt, CommandTable.asKnownPosition,
        ],
        notes: """
            The manifest names each file with its rows and its SHA-256, and the position that all of them
            are of. An export that was interrupted is simply run again: it goes on behind the last whole
            file. Entries are those of all environments and apps.
            """)

    static let formats = ["table", "csv", "ndjson"]

    /// The parameters of a metric as options: the names of the HTTP interface.
    private static let parameters = [
        OptionForm(name: "at", value: .text("INSTANT"), summary: "the instant (default: now)"),
        OptionForm(name: "from", value: .text("INSTANT"), summary: "the start of the window"),
        OptionForm(
            name: "to", value: .text("INSTANT"), summary: "its end, which is not part of it"),
        OptionForm(
            name: "by", value: .text("DIMENSION,…"),
            summary: "rows for each: \(Dimension.askable.map(\.rawValue).joined(separator: ", "))"),
        OptionForm(
            name: "currency", value: .text("CODE"),
            summary: "convert money by the recorded rates (default: rows for each currency)"),
        OptionForm(
            name: "basis", value: .choice(Basis.allCases.map(\.rawValue)),
            summary: "when refunds count: on their day, or on that of the purchase"),
        OptionForm(
            name: "profile", value: .choice(Profile.allCases.map(\.rawValue)),
            summary: "how plans become months"),
        OptionForm(
            name: "zone", value: .text("ZONE"), summary: "where days begin (default: UTC)"),
        OptionForm(
            name: "days", value: .position,
            summary: "how long a cohort's window or step is, where a metric takes it"),
        OptionForm(
            name: "gross", value: .choice(["true", "false"]),
            summary: "whether lines that came and went in the window count"),
        OptionForm(name: "app", value: .text("BUNDLE"), summary: "this app alone"),
        environment,
    ]

    private static let environment = OptionForm(
        name: "environment", value: .choice(CommandTable.environments),
        summary: "\(CommandTable.environments.joined(separator: ", ")) (default: Production)")

    private static let format = OptionForm(
        name: "format", value: .choice(formats),
        summary: "\(formats.joined(separator: ", ")) (default: table)")

    /// The options that are parameters, by their names in the HTTP interface.
    static func query(_ invocation: Invocation) -> [String: String] {
        var query: [String: String] = [:]
        for option in parameters { query[option.name] = invocation.value(option.name) }
        return query
    }
}
