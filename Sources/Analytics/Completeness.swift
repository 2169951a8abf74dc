import Domain

/// What an answer lacks.
public struct Completeness: Sendable, Hashable {
    /// Paid periods whose price is not known.
    public var unpriced: Int64 = 0
    /// Periods whose plan no catalogue says.
    public var inferred: Int64 = 0
    /// Gaps between periods about which nothing is known.
    public var unknownGaps: Int64 = 0

    mutating func note(_ line: MeasuredLine) {
        for index in line.subscriptions {
            let period = line.period(index)
            if line.isPaid(index), period.priceMilliunits == nil { unpriced += 1 }
            if Plan(of: period, line.settings).isInferred { inferred += 1 }
            if period.flags.contains("gap_unknown") { unknownGaps += 1 }
        }
    }
}
