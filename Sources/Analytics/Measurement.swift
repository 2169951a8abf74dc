public import Domain

/// One metric in the making: lines go in, one after the other and in any order, rows come out.
public struct Measurement: Sendable {
    /// The question.
    public let question: MetricQuestion
    let people: People
    let settings: Settings
    private(set) var rows: [RowKey: [String: ExactSum]] = [:]
    private var customers: [RowKey: Set<CustomerNumber>] = [:]
    /// What the answer lacks.
    public internal(set) var completeness = Completeness()
    private var conversion: Conversion
    private var traces: Traces?
    /// What lines with news add, while it is asked why cells changed.
    var contributions: Contributions?
    /// Both sides of what must be equal.
    var balances: [Balance.Key: Balance] = [:]
    /// What was remembered of persons, for metrics that are about them.
    var persons: [Person: PersonHistory] = [:]

    /// Nothing measured yet.
    public init(
        _ question: MetricQuestion, settings: Settings, people: People,
        rates: ExchangeRates = ExchangeRates()
    ) {
        self.question = question
        conversion = Conversion(question.currency, rates)
        self.settings = settings
        self.people = people
        if question.metric == .activePromo { countGrants() }
        if question.metric.hasBlips {
            for bucket in question.buckets {
                balances[Balance.Key(label: bucket.label)] = Balance()
            }
        }
    }

    /// Takes one line in.
    public mutating func take(_ line: Line) {
        guard line.environment == question.environment,
            question.app == nil || line.bundle == question.app
        else { return }
        let measured = MeasuredLine(line, settings)
        completeness.note(measured)
        if question.metric.isOfPersons { return remember(measured) }
        for bucket in question.buckets {
            if question.metric.taking == .at {
                measure(measured, at: bucket.window.lowerBound, bucket)
            } else {
                measure(measured, in: bucket.window, bucket)
            }
        }
    }

    /// Adds a number to a member of the row that a period belongs to.
    mutating func add(
        _ line: MeasuredLine, _ period: Int?, _ bucket: MetricQuestion.Bucket,
        to member: String = "value", amount: Int64 = 1, times fraction: Fraction = .one,
        reason: String? = nil
    ) {
        guard traces == nil, contributions == nil else {
            let sum = ExactSum(amount, times: fraction)
            return add(line, period, bucket, to: member, sum: sum, reason: reason)
        }
        let key = key(line, period, bucket, reason: reason)
        rows[key, default: [:]][member, default: ExactSum()].add(amount, times: fraction)
    }

    /// Adds a sum to a member of the row that a period belongs to, or takes it away.
    mutating func add(
        _ line: MeasuredLine, _ period: Int?, _ bucket: MetricQuestion.Bucket,
        to member: String, sum: ExactSum, sign: Int128 = 1, reason: String? = nil
    ) {
        add(
            sum, to: member, of: key(line, period, bucket, reason: reason), sign: sign,
            because: Origin(line, period))
    }

    /// The period of a line that something comes from.
    struct Origin: Sendable {
        var stream: StreamID
        var transaction: String

        init(_ line: MeasuredLine, _ period: Int?) {
            stream = line.line.stream
            transaction = period.map { line.period($0).transaction } ?? ""
        }

        init(stream: StreamID, transaction: String) {
            self.stream = stream
            self.transaction = transaction
        }
    }

    /// Adds a sum to a member of a row.
    mutating func add(
        _ sum: ExactSum, to member: String, of key: RowKey, sign: Int128 = 1,
        because origin: Origin
    ) {
        rows[key, default: [:]][member, default: ExactSum()].add(sum, sign: sign)
        guard traces != nil || contributions != nil else { return }
        var signed = ExactSum()
        signed.add(sum, sign: sign)
        let id = Trace.ID(
            stream: origin.stream, transaction: origin.transaction, key: key, member: member)
        traces?.note(signed, of: id)
        contributions?.note(signed, of: id)
    }

    /// Adds a sum of many periods alike to a member of their row.
    mutating func add(
        _ traits: Traits, _ bucket: MetricQuestion.Bucket, to member: String = "value",
        sum: ExactSum, sign: Int128 = 1, reason: String? = nil
    ) {
        add(sum, to: member, of: key(traits, bucket, reason: reason), sign: sign)
    }

    /// Adds a sum of many periods or persons to a member of a row.
    mutating func add(_ sum: ExactSum, to member: String, of key: RowKey, sign: Int128 = 1) {
        rows[key, default: [:]][member, default: ExactSum()].add(sum, sign: sign)
    }

    /// Takes in rows that others measured.
    mutating func merge(_ others: [RowKey: [String: ExactSum]]) {
        for (key, members) in others {
            for (member, sum) in members { add(sum, to: member, of: key) }
        }
    }

    /// Gathers the periods behind the cells while measuring: those after a place.
    public mutating func trace(after text: String, atMost limit: Int) {
        traces = Traces(after: text, limit: limit)
    }

    /// The periods behind the cells, and whether there are more; none unless they were gathered.
    public var traced: (traces: [Trace], hasMore: Bool) { traces?.page ?? ([], false) }

    /// Makes sums of each age those of all ages up to it, except of who has reached it.
    mutating func cumulate() {
        var bases: [RowKey: [Int64: [String: ExactSum]]] = [:]
        for (key, sums) in rows {
            var base = key
            let age = (base.parts.removeValue(forKey: .age) ?? nil).flatMap { Int64($0) } ?? 0
            bases[base, default: [:]][age] = sums
        }
        rows = [:]
        for (base, ages) in bases {
            var running: [String: ExactSum] = [:]
            for age in stride(from: 0, through: ages.keys.max() ?? 0, by: Int(question.days)) {
                let sums = ages[Int64(age)] ?? [:]
                for member in ["customers", "payers", "net"] {
                    running[member, default: ExactSum()].add(sums[member] ?? ExactSum())
                }
                var key = base
                key.parts[.age] = .some(String(age))
                rows[key] = running.merging(["mature": sums["mature"] ?? ExactSum()]) { $1 }
            }
        }
    }

    /// Adds money of a period to a member of its row, in the currency asked for.
    ///
    /// - Parameter paidAt: when it was paid for, whose rate holds.
    mutating func addMoney(
        _ line: MeasuredLine, _ period: Int, _ bucket: MetricQuestion.Bucket,
        to member: String = "value", amount: Int64, times fraction: Fraction = .one,
        paidAt: Instant
    ) {
        guard amount != 0 else { return add(line, period, bucket, to: member, amount: 0) }
        guard let factor = factor(line.period(period).currency, paidAt: paidAt) else { return }
        add(line, period, bucket, to: member, amount: amount, times: fraction * factor)
    }

    /// What one unit of a currency, paid then, is worth; `nil` when it cannot be told.
    mutating func factor(_ currency: String?, paidAt: Instant) -> Fraction? {
        guard question.currency != nil else { return .one }
        guard let currency else {
            completeness.unpriced += 1
            return nil
        }
        return conversion.factor(of: currency, on: Day(of: paidAt))
    }

    /// Rates that were needed and are not there, in order: the answer is none when there are any.
    ///
    /// - Shape: the first hundred that were met.
    public var missingRates: [MissingRate] { conversion.missing.sorted() }

    /// The last entry that decided a rate; `nil` when nothing is converted.
    public var ratesPosition: Position? {
        question.currency == nil ? nil : conversion.rates.position
    }

    /// Counts a customer once in the row that a period belongs to.
    mutating func count(
        _ customer: CustomerNumber, _ line: MeasuredLine, _ period: Int?,
        _ bucket: MetricQuestion.Bucket
    ) {
        let key = key(line, period, bucket)
        customers[key, default: []].insert(customer)
        let origin = Origin(line, period)
        let id = Trace.ID(
            stream: origin.stream, transaction: origin.transaction, key: key, member: "value")
        traces?.note(ExactSum(1), of: id)
        contributions?.note(ExactSum(1), of: id)
    }

    func key(
        _ line: MeasuredLine, _ period: Int?, _ bucket: MetricQuestion.Bucket,
        reason: String? = nil
    ) -> RowKey {
        key(line.traits(of: period), bucket, reason: reason)
    }

    func key(
        _ traits: Traits, _ bucket: MetricQuestion.Bucket, reason: String? = nil
    ) -> RowKey {
        var key = RowKey(traits.key(question.dimensions))
        if let time = question.timeDimension { key.parts[time] = .some(bucket.label) }
        if question.dimensions.contains(.reason) { key.parts[.reason] = .some(reason) }
        return key
    }

    private mutating func countGrants() {
        guard question.app == nil, question.environment == .production else { return }
        let nobody = MeasuredLine(Subscription(.settings).line(), settings)
        for bucket in question.buckets {
            let at = bucket.window.lowerBound
            for grant in people.customers.all.flatMap(\.grants.values)
            where grant.from <= at && at < grant.until ?? .distantFuture {
                add(nobody, nil, bucket)
            }
        }
    }

    /// The rows, in the order of their keys.
    ///
    /// - Shape: what is not told apart has one row, of zeros when nothing was counted.
    public func finished() -> [MetricRow] {
        var found = rows
        for (key, set) in customers {
            found[key, default: [:]]["value", default: ExactSum()].add(set.count)
        }
        if found.isEmpty, question.dimensions.allSatisfy({ $0 == .currency }) {
            for bucket in question.buckets {
                var key = RowKey([:])
                if let time = question.timeDimension { key.parts[time] = .some(bucket.label) }
                found[key] = [:]
            }
        }
        return found.map { key, sums in
            MetricRow(key: key, values: question.values(sums))
        }.sorted { $0.key < $1.key }
    }
}
