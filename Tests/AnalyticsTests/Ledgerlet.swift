import Analytics
import Domain
import TestLives

/// A few lines to be measured, told by what Apple would have signed.
struct Ledgerlet {
    private var observations: [String: [Observation]] = [:]
    private var count = 0
    private(set) var rates = ExchangeRates()

    /// A catalogue of three monthly products by level, and a weekly one.
    static let settings = Settings().evolved(
        by: Entry(
            position: Position(1), revision: 1, recordedAt: .distantPast,
            event: Event(
                kind: .catalogChanged, stream: .settings, key: "catalogChanged/1",
                occurredAt: .distantPast, observedAt: .distantPast, source: .command,
                content: .catalog(
                    CatalogChange(products: [
                        "high": Product(kind: "autoRenewable", level: 1, plan: "P1M"),
                        "monthly": Product(kind: "autoRenewable", level: 2, plan: "P1M"),
                        "low": Product(kind: "autoRenewable", level: 3, plan: "P1M"),
                        "weekly": Product(kind: "autoRenewable", level: 2, plan: "P1W"),
                        "yearly": Product(kind: "autoRenewable", level: 2, plan: "P1Y"),
                    ])))))

    /// A transaction of a line.
    mutating func buy(
        _ id: String, line: String = "1", of product: String = "monthly", _ from: String,
        _ until: String?, price: Int64? = 9_990, signed: String? = nil, source: Source = .app,
        _ change: (inout TransactionStatement) -> Void = { _ in }
    ) {
        var statement = TransactionStatement(
            transaction: id, original: line, bundle: "com.example.app", product: product,
            purchasedAt: at(from), signedAt: at(signed ?? from), environment: .production)
        statement.expiresAt = until.map(at)
        statement.webOrderLineItem = until == nil ? nil : "w" + id
        statement.type = until == nil ? "Consumable" : "Auto-Renewable Subscription"
        statement.ownership = "PURCHASED"
        statement.priceMilliunits = price
        statement.currency = "USD"
        change(&statement)
        add(line) {
            Observation(
                transaction: Stated(statement, $0), source: source, observedAt: statement.signedAt)
        }
    }

    /// A renewal info of a line.
    mutating func renewal(
        _ line: String = "1", signed: String, _ change: (inout RenewalStatement) -> Void
    ) {
        var statement = RenewalStatement(
            original: line, signedAt: at(signed), environment: .production)
        statement.willRenew = true
        change(&statement)
        add(line) {
            Observation(
                renewal: Stated(statement, $0), source: .notification,
                observedAt: statement.signedAt)
        }
    }

    /// What one euro is worth from a day on, by currency.
    mutating func rate(_ day: String, _ values: [String: String]) {
        let set = RatesSet(
            day: Day(day)!, base: "EUR", publisher: "ECB",
            values: values.mapValues { ExactDecimal($0)! })
        count += 1
        rates.apply(
            Entry(
                position: Position(Int64(count)), revision: Int64(count),
                recordedAt: .distantPast,
                event: Event(
                    kind: .rateSet, stream: set.stream, key: "\(count)", occurredAt: set.day.start,
                    observedAt: .distantPast, source: .command, content: .rates(set))))
    }

    private mutating func add(_ line: String, _ observation: (Fingerprint) -> Observation) {
        count += 1
        let digits = String(count)
        let hex = String(repeating: "0", count: 64 - digits.count) + digits
        observations[line, default: []].append(observation(Fingerprint(hex: hex)))
    }

    /// The rows of a metric, each member by its name after the row's key.
    func rows(
        _ metric: Metric, _ from: String, _ to: String? = nil, by dimensions: [Dimension] = [],
        basis: Basis = .asTransacted, in currency: String? = nil, knownAt: String = "2030-01-01"
    ) -> [String: [String: MetricRow.Number]] {
        var question = MetricQuestion(
            metric, buckets: [MetricQuestion.Bucket(window: at(from)..<at(to ?? from))],
            by: dimensions, in: currency, knownAt: at(knownAt), position: Position(100))
        question.basis = basis
        return Ledgerlet.written(measured(question))
    }

    /// A question's measurement of all lines.
    func measured(
        _ question: MetricQuestion, tracing page: (after: String, limit: Int)? = nil
    ) -> Measurement {
        var measurement = Measurement(
            question, settings: Ledgerlet.settings, people: People(), rates: rates)
        if let page { measurement.trace(after: page.after, atMost: page.limit) }
        for (line, observations) in observations.sorted(by: { $0.key < $1.key }) {
            measurement.take(recorded(observations, stream: .line(.production, line)).line())
        }
        measurement.settle()
        return measurement
    }

    /// The rows of a measurement, each member by its name after the row's key.
    static func written(_ measurement: Measurement) -> [String: [String: MetricRow.Number]] {
        var rows: [String: [String: MetricRow.Number]] = [:]
        for row in measurement.finished() {
            let key = row.key.members.map { $0.value ?? "-" }.joined(separator: "/")
            rows[key] = Dictionary(uniqueKeysWithValues: row.values.map { ($0.name, $0.number) })
        }
        return rows
    }

    /// A member of the only row; 0 when there is none.
    func number(
        _ metric: Metric, _ from: String, _ to: String? = nil, _ member: String = "value",
        basis: Basis = .asTransacted
    ) -> Int64 {
        let rows = rows(metric, from, to, basis: basis)
        precondition(rows.count <= 1, "several rows")
        guard case .whole(let number) = rows.first?.value[member] else { return 0 }
        return number
    }
}
