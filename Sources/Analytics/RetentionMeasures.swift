import Domain

extension Measurement {
    /// Which paid periods a line of a cohort has, by number, of those it is old enough for.
    mutating func measureRetention(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        guard let reached = line.retention() else { return }
        let first = reached.first
        let start = line.period(first).purchasedAt
        guard window.contains(start) else { return }
        let plan = line.plans[first]
        for number in 1...MetricQuestion.mostPeriods {
            let isRetained = reached.numbers.contains(number)
            // A renewal may be some hours early.
            guard isRetained || plan.start(of: number, after: start) <= question.knownAt else {
                continue
            }
            var key = key(line, first, bucket)
            key.parts[.plan] = .some(plan.name)
            key.parts[.period] = .some(String(number))
            let origin = Origin(line, first)
            add(ExactSum(1), to: "lines", of: key, because: origin)
            if isRetained { add(ExactSum(1), to: "retained", of: key, because: origin) }
        }
    }

    /// What was paid in a window, and what of it went back and stayed so.
    mutating func measureRefundedValue(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        for (index, period) in line.line.periods.enumerated() where period.isMoney {
            for payment in period.payments where window.contains(payment.purchasedAt) {
                guard let price = payment.priceMilliunits else { continue }
                addMoney(
                    line, index, bucket, to: "paid", amount: price, paidAt: payment.purchasedAt)
            }
            for back in period.moneyBack
            where back.reversedAt == nil && window.contains(period.paidAt(back)) {
                addShare(of: back, to: "refunded", line, index, bucket)
            }
        }
    }
}
