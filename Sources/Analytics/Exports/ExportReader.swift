public import Domain
public import Ledger

/// Reads the rows of a table, a part at a time, as the record had them at a position.
public struct ExportReader: Sendable {
    private let reader: LedgerReader
    /// The table.
    public let table: ExportTable
    /// What is read: everything up to here.
    public let position: Position
    private let environment: Environment
    private let app: String?
    private var settings: Settings?
    private var place: (stream: StreamID, revision: Int64)?
    private var after: Position
    /// The stream whose entries are not all read yet.
    private var open: Subscription?
    private var isAtEnd = false

    private let pageSize: Int

    /// Where a part ends, and a later one goes on.
    public enum Place: Sendable, Hashable {
        /// After this position.
        case position(Position)
        /// After all entries of this stream.
        case stream(StreamID)
    }

    /// A reader of a table.
    ///
    /// - Parameters:
    ///   - environment: of the lines of periods and movements; entries are of all.
    ///   - place: where the part before ended.
    ///   - pageSize: how many entries are read at once, at least 1.
    public init(
        _ table: ExportTable, _ reader: LedgerReader, upTo position: Position,
        environment: Environment, app: String?, after place: Place? = nil,
        pageSize: Int = 2_000
    ) {
        precondition(pageSize > 0, "a page has entries")
        self.pageSize = pageSize
        self.table = table
        self.reader = reader
        self.position = position
        self.environment = environment
        self.app = app
        after = .start
        switch place {
        case .position(let position): after = position
        case .stream(let stream): self.place = (stream, .max)
        case nil: break
        }
    }

    /// The next rows and the place behind them; `nil` after the last.
    ///
    /// - Shape: possibly no rows; a line's rows are never divided.
    public mutating func next()
        async throws(LedgerError) -> (rows: [[ExportTable.Cell]], place: Place)?
    {
        table == .entries ? try await nextEntries() : try await nextLines()
    }

    private mutating func nextEntries()
        async throws(LedgerError) -> (rows: [[ExportTable.Cell]], place: Place)?
    {
        let page = try await reader.entries(
            after: after, upTo: position, atMost: pageSize)
        guard let last = page.last else { return nil }
        after = last.position
        let rows = page.map { entry in EntryColumns.all.map { $0.cell(entry) } }
        return (rows, .position(last.position))
    }

    private mutating func nextLines()
        async throws(LedgerError) -> (rows: [[ExportTable.Cell]], place: Place)?
    {
        let settings = try await knownSettings()
        while !isAtEnd {
            let page = try await reader.entriesByStream(
                "apple/\(environment.name)/", after: place, upTo: position,
                atMost: pageSize)
            var rows: [[ExportTable.Cell]] = []
            var done: StreamID?
            for entry in page {
                let stream = entry.event.stream
                if let whole = open, whole.stream != stream {
                    rows += self.rows(of: whole, settings)
                    done = whole.stream
                    open = nil
                }
                open = open ?? Subscription(stream)
                open?.apply(entry)
                place = (stream, entry.revision)
            }
            if page.count < pageSize {
                isAtEnd = true
                if let whole = open {
                    rows += self.rows(of: whole, settings)
                    done = whole.stream
                    open = nil
                }
            }
            if let done { return (rows, .stream(done)) }
        }
        return nil
    }

    private mutating func knownSettings() async throws(LedgerError) -> Settings {
        if let settings { return settings }
        var known = Settings()
        for entry in try await reader.entries(of: [.settings], upTo: position) {
            known = known.evolved(by: entry)
        }
        settings = known
        return known
    }

    private func rows(of subscription: Subscription, _ settings: Settings)
        -> [[ExportTable.Cell]]
    {
        guard subscription.stream.line != nil else { return [] }
        let line = MeasuredLine(subscription.line(), settings)
        guard app == nil || line.line.bundle == app else { return [] }
        let periods = line.line.periods.indices.map { PeriodRow(line: line, index: $0) }
        guard table == .movements else {
            return periods.map { row in PeriodColumns.all.map { $0.cell(row) } }
        }
        return periods.flatMap { row -> [[ExportTable.Cell]] in
            guard row.period.isMoney else { return [] }
            let origin = Measurement.Origin(line, row.index)
            return row.period.movements(.asTransacted, of: origin).map { movement in
                let moved = MovementRow(row: row, movement: movement)
                return MovementColumns.all.map { $0.cell(moved) }
            }
        }
    }
}
