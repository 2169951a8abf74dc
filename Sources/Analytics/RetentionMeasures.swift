import Domain

extension Measurement {
    /// Which paid periods a line of a cohort has, by number, of those it is old enough for.
    mutating func measureRetention(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        // Trials and introductory periods are neither the first nor a later one.
        let counted = line.subscriptions.filter { line.period($0).periodClass == .paid }
        guard let first = counted.first, window.contains(line.period(first).purchasedAt) else {
            return
        }
        let start = line.period(first).purchasedAt
        let plan = Plan(of: line.period(first), settings)
        let numbers = Set(
            counted.map { index -> Int64 in
                let passed = line.period(index).purchasedAt.milliseconds - start.milliseconds
                return 1 + (passed + plan.milliseconds / 2) / plan.milliseconds
            })
        for number in 1...MetricQuestion.mostPeriods {
            let isRetained = numbers.contains(number)
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
            for movement in period.movements(.restated, of: Origin(line, index))
            where window.contains(movement.at) {
                addMoney(
                    line, index, bucket, to: movement.kind == .purchase ? "paid" : "refunded",
                    amount: movement.amount, times: movement.share, paidAt: movement.paidAt)
            }
        }
    }
}
