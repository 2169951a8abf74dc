import Domain

extension Measurement {
    /// How a line's part of mrr changed from start to end of a window.
    mutating func measureMovement(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        let before = line.paidSpan(at: window.lowerBound)?.period
        let after = line.paidSpan(at: window.upperBound)?.period
        switch (before, after) {
        case (nil, nil): return
        case (nil, let after?):
            guard let willBe = part(of: line, after) else { return }
            let isOld = line.wasPaid(before: window.lowerBound)
            add(line, after, bucket, to: isOld ? "reactivation" : "new", sum: willBe)
        case (let before?, nil):
            guard let was = part(of: line, before) else { return }
            add(line, before, bucket, to: "churn", sum: was)
        case (let before?, let after?): measureChange(line, before, after, bucket)
        }
    }

    private mutating func measureChange(
        _ line: MeasuredLine, _ before: Int, _ after: Int, _ bucket: MetricQuestion.Bucket
    ) {
        let was = part(of: line, before) ?? ExactSum()
        let willBe = part(of: line, after) ?? ExactSum()
        let isSame = line.period(before).currency == line.period(after).currency
        guard isSame || question.currency != nil else {
            // Another currency: what ends in one begins in the other.
            add(line, before, bucket, to: "contraction", sum: was)
            add(line, after, bucket, to: "expansion", sum: willBe)
            return
        }
        // Price and plan by the rate of the day before the change, and apart from them the rest.
        let paidBefore = line.period(before).purchasedAt
        let held = part(of: line, after, paidAt: paidBefore) ?? ExactSum()
        var change = held
        change.add(was, sign: -1)
        if !change.isZero {
            let isLess = change.isNegative
            add(
                line, after, bucket, to: isLess ? "contraction" : "expansion", sum: change,
                sign: isLess ? -1 : 1)
        }
        var exchange = willBe
        exchange.add(held, sign: -1)
        if !exchange.isZero { add(line, after, bucket, to: "fx", sum: exchange) }
    }

    /// What a period counts for in a month, in the currency asked for.
    ///
    /// - Parameter paidAt: whose day's rate holds; when it was paid for, unless another is given.
    mutating func part(of line: MeasuredLine, _ index: Int, paidAt: Instant? = nil)
        -> ExactSum?
    {
        guard let monthly = line.monthly(index, question.profile) else { return nil }
        guard monthly.price != 0 else { return ExactSum() }
        let period = line.period(index)
        guard let factor = factor(period.currency, paidAt: paidAt ?? period.purchasedAt) else {
            return nil
        }
        return ExactSum(monthly.price, times: monthly.multiplier * factor)
    }
}
