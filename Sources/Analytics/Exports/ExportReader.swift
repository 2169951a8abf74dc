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
    /// Lines, or entries, that are read and not asked for yet.
    private var pending: [Part] = []

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
    /// - Parameter count: how many rows are enough: what is read at once may be fewer, and ends with
    ///   the line that reaches them, wherever a part before it ended.
    public mutating func next(atMost count: Int64) async throws(LedgerError) -> Part? {
        while pending.isEmpty {
            guard !isAtEnd else { return nil }
            if table == .entries { try await readEntries() } else { try await readLines() }
        }
        var part = pending[0]
        var taken = 1
        while taken < pending.count, Int64(part.rows.count) < count {
            part.rows += pending[taken].rows
            part.place = pending[taken].place
            taken += 1
        }
        pending.removeFirst(taken)
        return part
    }

    /// Some rows, and the place behind them.
    public struct Part: Sendable {
        /// The cells of each row.
        public var rows: [[ExportTable.Cell]]
        /// Where the next part begins.
        public var place: Place
    }

    private mutating func readEntries() async throws(LedgerError) {
        let page = try await reader.entries(after: after, upTo: position, atMost: pageSize)
        isAtEnd = page.count < pageSize
        after = page.last?.position ?? after
        pending = page.map { entry in
            Part(
                rows: [EntryColumns.all.map { $0.cell(entry) }], place: .position(entry.position))
        }
    }

    private mutating func readLines() async throws(LedgerError) {
        let settings = try await knownSettings()
        let page = try await reader.entriesByStream(
            "apple/\(environment.name)/", after: place, upTo: position, atMost: pageSize)
        for entry in page {
            let stream = entry.event.stream
            if let whole = open, whole.stream != stream { finish(whole, settings) }
            if open?.stream != stream { open = Subscription(stream) }
            open?.apply(entry)
            place = (stream, entry.revision)
        }
        guard page.count < pageSize else { return }
        isAtEnd = true
        if let whole = open { finish(whole, settings) }
        open = nil
    }

    private mutating func finish(_ whole: Subscription, _ settings: Settings) {
        pending.append(Part(rows: rows(of: whole, settings), place: .stream(whole.stream)))
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
