public import Domain

/// One metric in the making: lines go in, one after the other and in any order, rows come out.
public struct Measurement: Sendable {
    /// The question.
    public let question: MetricQuestion
    let people: People
    let settings: Settings
    /// The facts that are counted, and their bits.
    let countings: [Counting]
    let mask: Int64
    private var rows: [RowKey: [String: ExactSum]] = [:]
    private var customers: [RowKey: Set<CustomerNumber>] = [:]
    /// What the answer lacks.
    public internal(set) var completeness = Completeness()

    /// Nothing measured yet.
    public init(_ question: MetricQuestion, settings: Settings, people: People) {
        self.question = question
        self.settings = settings
        self.people = people
        countings = question.metric.countings(question.basis)
        mask = countings.reduce(0) { $0 | $1.fact.mark }
        if question.metric == .activePromo { countGrants() }
    }

    /// Takes one line in.
    public mutating func take(_ line: Line) {
        guard line.environment == question.environment,
            question.app == nil || line.bundle == question.app
        else { return }
        let measured = MeasuredLine(line, settings)
        let happenings = measured.happenings()
        for happening in happenings { completeness.note(marks: happening.marks) }
        take(happenings, of: measured)
        for bucket in question.buckets {
            if question.metric.taking == .at {
                measure(measured, at: bucket.window.lowerBound, bucket)
            } else {
                measure(measured, in: bucket.window, bucket)
            }
        }
    }

    /// Adds a number to a member of the row of these traits.
    mutating func add(
        _ traits: Traits, _ bucket: MetricQuestion.Bucket, to member: String = "value",
        amount: Int128 = 1, times fraction: Fraction = .one, reason: String? = nil
    ) {
        let key = key(traits, bucket, reason: reason)
        rows[key, default: [:]][member, default: ExactSum()].add(amount, times: fraction)
    }

    /// Counts a customer once in the row of these traits.
    mutating func count(
        _ customer: CustomerNumber, _ traits: Traits, _ bucket: MetricQuestion.Bucket
    ) {
        customers[key(traits, bucket), default: []].insert(customer)
    }

    private func key(
        _ traits: Traits, _ bucket: MetricQuestion.Bucket, reason: String? = nil
    ) -> RowKey {
        var key = RowKey(traits.key(question.dimensions))
        if let time = question.timeDimension { key.parts[time] = .some(bucket.label) }
        if question.dimensions.contains(.reason) { key.parts[.reason] = .some(reason) }
        return key
    }

    private mutating func countGrants() {
        guard question.app == nil, question.environment == .production else { return }
        for bucket in question.buckets {
            let at = bucket.window.lowerBound
            for grant in people.customers.all.flatMap(\.grants.values)
            where grant.from <= at && at < grant.until ?? .distantFuture {
                add(Traits(), bucket)
            }
        }
    }

    /// The rows, in the order of their keys.
    ///
    /// - Shape: what is not told apart has one row, of zeros when nothing was counted.
    public func finished() -> [MetricRow] {
        var found = rows
        for (key, set) in customers {
            var sum = ExactSum()
            sum.add(Int128(set.count))
            found[key] = ["value": sum]
        }
        if found.isEmpty, question.dimensions.allSatisfy({ $0 == .currency }) {
            for bucket in question.buckets {
                var key = RowKey([:])
                if let time = question.timeDimension { key.parts[time] = .some(bucket.label) }
                found[key] = [:]
            }
        }
        return found.map { key, sums in
            MetricRow(key: key, values: question.metric.values(sums))
        }.sorted { $0.key < $1.key }
    }
}

/// What tells a row from the others.
public struct RowKey: Sendable, Hashable, Comparable {
    var parts: [Dimension: String?]

    init(_ parts: [Dimension: String?]) { self.parts = parts }

    /// The parts by their names, in order; a value that is not known is `nil`.
    public var members: [(name: String, value: String?)] {
        parts.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key.rawValue, $0.value) }
    }

    /// The order of names and values; what is not known comes last.
    public static func < (left: RowKey, right: RowKey) -> Bool {
        for (mine, others) in zip(left.members, right.members) where mine.value != others.value {
            guard let value = mine.value else { return false }
            guard let other = others.value else { return true }
            return value < other
        }
        return left.parts.count < right.parts.count
    }
}

/// One row of an answer.
public struct MetricRow: Sendable, Hashable {
    /// What it is about.
    public let key: RowKey
    /// Its members in order.
    public let values: [Value]

    /// One member.
    public struct Value: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// The number.
        public let number: Number
    }

    /// A number as it is written.
    public enum Number: Sendable, Hashable {
        case whole(Int64)
        /// A ratio in millionths, rounded half to even.
        case millionths(Int64)
        /// There is none.
        case null
    }
}

extension Metric {
    /// The members of a row as they are written, from sums.
    func values(_ sums: [String: ExactSum]) -> [MetricRow.Value] {
        switch self {
        case .churnRate: return [ratio(sums["churned"], sums["base"])]
        case .refundRate:
            return [ratio(sums["refunded"], sums["transactions"])]
                + ["refunded", "transactions"].map { whole($0, sums[$0]) }
        case .revenue:
            var net = ExactSum()
            net.add(sums["gross"] ?? ExactSum())
            net.add(sums["refunded"] ?? ExactSum(), sign: -1)
            net.add(sums["reversed"] ?? ExactSum())
            var all = sums
            all["net"] = net
            return members.map { whole($0, all[$0]) }
        default: return members.map { whole($0, sums[$0]) }
        }
    }

    private func whole(_ name: String, _ sum: ExactSum?) -> MetricRow.Value {
        MetricRow.Value(name: name, number: .whole(sum?.rounded ?? 0))
    }

    private func ratio(_ part: ExactSum?, _ base: ExactSum?) -> MetricRow.Value {
        let (part, base) = ((part ?? ExactSum()).rounded, (base ?? ExactSum()).rounded)
        guard base != 0 else { return MetricRow.Value(name: "value", number: .null) }
        let millionths = Fraction(part, base).rounded(scale: 1_000_000)
        return MetricRow.Value(name: "value", number: .millionths(Int64(clamping: millionths)))
    }
}

/// What an answer lacks.
public struct Completeness: Sendable, Hashable {
    /// Paid periods whose price is not known.
    public var unpriced: Int64 = 0
    /// Periods whose plan no catalogue says.
    public var inferred: Int64 = 0
    /// Gaps between periods about which nothing is known.
    public var unknownGaps: Int64 = 0

    mutating func note(marks: Int64, count: Int64 = 1) {
        if marks & Fact.unpriced.mark != 0 { unpriced += count }
        if marks & Fact.inferred.mark != 0 { inferred += count }
        if marks & Fact.gapUnknown.mark != 0 { unknownGaps += count }
    }
}
