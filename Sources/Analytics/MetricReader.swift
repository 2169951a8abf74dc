import Domain
public import Ledger
public import Postgres

/// Answers metrics: what is known at a position is the same for ever.
///
/// Sums come from the projection `metrics`, but for lines that have entries between its checkpoint
/// and the position asked about: those are measured from the record and added. What the projection
/// cannot answer is measured from the record altogether, with the same outcome.
public struct MetricReader: Sendable {
    let reader: LedgerReader
    private let projected: ProjectedMetrics?

    /// How many entries are in memory at a time.
    static let pageSize = 2_000

    /// A reader of a ledger's metrics.
    ///
    /// - Parameter pool: where the projection is read, best not where others wait: sums take
    ///   seconds. Without one everything is measured from the record.
    public init(_ reader: LedgerReader, projected pool: ConnectionPool? = nil) {
        self.reader = reader
        projected = pool.map { ProjectedMetrics(pool: $0, reader: reader) }
    }

    /// The finished measurement of a question.
    public func measure(_ question: MetricQuestion) async throws(LedgerError) -> Measurement {
        if let measured = try await measureProjected(question) { return measured }
        return try await measureRecord(question)
    }

    /// The finished measurement of a question, as far as possible from the projection; `nil` when
    /// that cannot answer it exactly.
    public func measureProjected(_ question: MetricQuestion)
        async throws(LedgerError) -> Measurement?
    {
        guard let projected else { return nil }
        return try await projected.measure(
            question, settings: try await settings(upTo: question.position),
            people: question.metric.needsPeople
                ? try await people(upTo: question.position) : People())
    }

    private func settings(upTo position: Position) async throws(LedgerError) -> Settings {
        SettingsContext(entries: try await reader.entries(of: [.settings], upTo: position)).settings
    }

    /// The finished measurement of a question, by folding the record and nothing else.
    ///
    /// - Parameters:
    ///   - only: measures these lines and no others.
    ///   - prepare: what is done to the measurement before anything is taken in.
    public func measureRecord(
        _ question: MetricQuestion, only lines: [StreamID]? = nil,
        prepare: (inout Measurement) -> Void = { _ in }
    ) async throws(LedgerError) -> Measurement {
        let settings = try await settings(upTo: question.position)
        let people =
            question.metric.needsPeople
            ? try await people(upTo: question.position) : People()
        let rates =
            question.currency == nil ? ExchangeRates() : try await rates(question)
        var measurement = Measurement(
            question, settings: settings, people: people, rates: rates)
        prepare(&measurement)
        if let lines {
            let position = question.position
            try await reader.eachLine(of: lines, upTo: position) { measurement.take($0) }
            measurement.settle()
            return measurement
        }
        let prefix = "apple/\(question.environment.name)/"
        try await streams(prefix, upTo: question.position) { subscription in
            guard subscription.stream.line != nil else { return }
            measurement.take(subscription.line())
        }
        measurement.settle()
        return measurement
    }

    /// The exchange rates known at the question's position.
    private func rates(_ question: MetricQuestion) async throws(LedgerError) -> ExchangeRates {
        var rates = ExchangeRates()
        let first = Day(0)
        let streams = ExchangeRates.streams(of: first...max(first, Day(of: question.knownAt)))
        for entry in try await reader.entries(of: streams, upTo: question.position) {
            rates.apply(entry)
        }
        return rates
    }

    /// Whose tokens are, grants and merges, as known at a position.
    public func people(upTo last: Position) async throws(LedgerError) -> People {
        var people = People()
        try await reader.eachStream(of: try await reader.streams("token/"), upTo: last) {
            guard let number = Int64($0.stream.name.dropFirst("token/".count)) else { return }
            people.links[CustomerNumber(number)] = $0.linkedCustomer
        }
        var customers: [CustomerNumber: Customer] = [:]
        try await reader.eachStream(of: try await reader.streams("customer/"), upTo: last) {
            customers[$0.customer.number] = $0.customer
        }
        people.customers = Customers(customers)
        return people
    }

    /// Folds every stream whose name begins so, one after the other.
    private func streams(
        _ prefix: String, upTo last: Position, _ body: (Subscription) -> Void
    ) async throws(LedgerError) {
        var current: Subscription?
        var place: (stream: StreamID, revision: Int64)?
        while true {
            let page = try await reader.entriesByStream(
                prefix, after: place, upTo: last, atMost: MetricReader.pageSize)
            for entry in page {
                if let done = current, done.stream != entry.event.stream {
                    body(done)
                    current = nil
                }
                current = current ?? Subscription(entry.event.stream)
                current?.apply(entry)
                place = (entry.event.stream, entry.revision)
            }
            if page.count < MetricReader.pageSize { break }
        }
        if let current { body(current) }
    }
}

extension LedgerReader {
    /// Reads single lines as they were at a position.
    func eachLine(of streams: [StreamID], upTo position: Position, _ body: (Line) -> Void)
        async throws(LedgerError)
    {
        try await eachStream(of: streams, upTo: position) { body($0.line()) }
    }

    /// Reads streams as they were at a position, some hundred at a time; not those without entries.
    fileprivate func eachStream(
        of streams: [StreamID], upTo position: Position, _ body: (Subscription) -> Void
    ) async throws(LedgerError) {
        let atOnce = 500
        for start in stride(from: 0, to: streams.count, by: atOnce) {
            let page = Array(streams[start..<min(start + atOnce, streams.count)])
            let entries = try await entries(of: page, upTo: position)
            for (stream, entries) in Dictionary(grouping: entries, by: \.event.stream) {
                body(Subscription(stream, entries: entries))
            }
        }
    }
}

extension Metric {
    /// Whether it depends on whose lines are.
    var needsPeople: Bool {
        switch self {
        case .activePromo: true
        default: countsPersons
        }
    }

    /// Whether whoever has several lines counts once.
    var countsPersons: Bool { self == .activeCustomers || isOfPersons }
}
