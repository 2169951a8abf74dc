import Domain

/// What an answer lacks.
public struct Completeness: Sendable, Hashable {
    /// Paid periods whose price is not known.
    public var unpriced: Int64 = 0
    /// Periods whose plan no catalogue says.
    public var inferred: Int64 = 0
    /// Gaps between periods about which nothing is known.
    public var unknownGaps: Int64 = 0

    /// Notes so many periods of the same facts.
    mutating func note(marks: Int64, count: Int64) {
        if marks & Fact.unpriced.mark != 0 { unpriced += count }
        if marks & Fact.inferred.mark != 0 { inferred += count }
        if marks & Fact.gapUnknown.mark != 0 { unknownGaps += count }
    }

    mutating func note(_ line: MeasuredLine) {
        for index in line.subscriptions {
            let period = line.period(index)
            if line.isPaid(index), period.priceMilliunits == nil { unpriced += 1 }
            if line.plans[index].isInferred { inferred += 1 }
            if period.flags.contains("gap_unknown") { unknownGaps += 1 }
        }
    }
}
