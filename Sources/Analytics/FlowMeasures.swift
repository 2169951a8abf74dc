import Domain

extension Measurement {
    /// What happened to a line in a window.
    mutating func measure(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        switch question.metric {
        case .newPaid: measureNewPaid(line, in: window, bucket)
        case .reactivated, .churned, .churnRate: measureEnds(line, in: window, bucket)
        case .mrrMovement: measureMovement(line, in: window, bucket)
        case .trialsStarted, .trialsMovement, .trialConversion:
            measureTrials(line, in: window, bucket)
        case .renewals, .reactivationPurchases, .planChanges, .upgradeCreditUnknown,
            .recoveredInGrace, .recoveredAfterGap:
            measureStarts(line, in: window, bucket)
        case .preferenceChanges: measurePreferences(line, in: window, bucket)
        case .graceEntered:
            for span in line.spans where span.state == .grace && window.contains(span.from) {
                add(line, span.period, bucket)
            }
        case .lostInRetry: measureLost(line, in: window, bucket)
        case .extensions:
            for (index, period) in line.line.periods.enumerated() {
                for extended in period.extensions where window.contains(extended.at) {
                    add(line, index, bucket)
                    let days = (extended.milliseconds + 43_200_000) / 86_400_000
                    add(line, index, bucket, to: "days", amount: days)
                }
            }
        case .revenue, .refundsHappened, .refundReversals, .refundRate:
            measureMoney(line, in: window, bucket)
        default: break
        }
    }

    private mutating func measureNewPaid(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        guard let first = line.paid.first, window.contains(line.period(first).purchasedAt) else {
            return
        }
        add(line, first, bucket)
        let hadTrial = line.subscriptions.contains {
            $0 < first && line.period($0).periodClass == .trial
        }
        let isIntro = line.period(first).periodClass == .intro
        add(line, first, bucket, to: hadTrial ? "from_trial" : isIntro ? "from_intro" : "direct")
    }

    /// Lines that are paid at one end of the window and not at the other.
    private mutating func measureEnds(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        let before = line.paidSpan(at: window.lowerBound)
        let after = line.paidSpan(at: window.upperBound)
        switch question.metric {
        case .reactivated:
            guard before == nil, let after, line.wasPaid(before: window.lowerBound) else { return }
            add(line, after.period, bucket)
        case .churnRate:
            guard let before else { return }
            add(line, before.period, bucket, to: "base")
            if after == nil, line.isEnded(after: before.period) {
                add(line, before.period, bucket, to: "churned")
            }
        default:
            guard let before, after == nil, line.isEnded(after: before.period) else { return }
            add(line, before.period, bucket, reason: line.churnReason(coveredBy: before.period))
        }
    }

    private mutating func measureMovement(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        let before = line.paidSpan(at: window.lowerBound)
        let after = line.paidSpan(at: window.upperBound)
        let was = before.flatMap { line.monthly($0.period, question.profile) }
        let willBe = after.flatMap { line.monthly($0.period, question.profile) }
        switch (before, after) {
        case (nil, nil): return
        case (nil, let after?):
            guard let willBe else { return }
            let member = line.wasPaid(before: window.lowerBound) ? "reactivation" : "new"
            add(
                line, after.period, bucket, to: member, amount: willBe.price,
                times: willBe.multiplier)
        case (let before?, nil):
            guard let was else { return }
            add(line, before.period, bucket, to: "churn", amount: was.price, times: was.multiplier)
        case (let before?, let after?):
            guard line.period(before.period).currency == line.period(after.period).currency else {
                // Another currency: what ends in one begins in the other.
                if let was {
                    add(
                        line, before.period, bucket, to: "contraction", amount: was.price,
                        times: was.multiplier)
                }
                if let willBe {
                    add(
                        line, after.period, bucket, to: "expansion", amount: willBe.price,
                        times: willBe.multiplier)
                }
                return
            }
            var change = ExactSum()
            if let willBe { change.add(willBe.price, times: willBe.multiplier) }
            var old = ExactSum()
            if let was { old.add(was.price, times: was.multiplier) }
            change.add(old, sign: -1)
            guard !change.isZero else { return }
            let member = change.isNegative ? "contraction" : "expansion"
            let amount = change.fraction
            let size = amount.numerator < 0 ? -amount.numerator : amount.numerator
            add(
                line, after.period, bucket, to: member, amount: 1,
                times: Fraction(size, amount.denominator))
        }
    }

    /// What the start of a period means for the one before.
    private mutating func measureStarts(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        for index in line.subscriptions where window.contains(line.period(index).purchasedAt) {
            switch question.metric {
            case .planChanges:
                if let change = line.planChange(index) {
                    add(line, index, bucket, to: change.rawValue)
                }
                continue
            case .upgradeCreditUnknown:
                if line.planChange(index) == .upgrade, line.isImmediate(index),
                    let before = line.predecessor(of: index), line.isPaid(before)
                {
                    add(line, index, bucket)
                }
                continue
            default: break
            }
            guard line.isPaid(index) || question.metric != .renewals else { continue }
            switch (question.metric, line.joint(index)) {
            case (.renewals, .contiguous), (.renewals, .recovered), (.renewals, .unknown):
                let isFirst = line.paid.first == index
                if !isFirst, !(line.isImmediate(index) && line.planChange(index) != nil) {
                    add(line, index, bucket)
                }
            case (.reactivationPurchases, .bought) where line.isPaid(index):
                if line.paid.first != index { add(line, index, bucket) }
            case (.recoveredInGrace, .contiguous(isInGrace: true)),
                (.recoveredAfterGap, .recovered):
                add(line, index, bucket)
            default: continue
            }
        }
    }

    private mutating func measurePreferences(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        var willRenew = true
        var product: String?
        for intent in line.line.intents {
            let bought = line.line.periods.last { $0.purchasedAt <= intent.signedAt }?.product
            let before = (willRenew, product ?? bought)
            willRenew = intent.willRenew ?? willRenew
            product = intent.nextProduct ?? product
            guard before != (willRenew, product ?? bought), window.contains(intent.signedAt) else {
                continue
            }
            let current = line.line.periods.lastIndex { $0.purchasedAt <= intent.signedAt }
            add(line, current, bucket)
        }
    }

    private mutating func measureLost(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        for index in line.subscriptions {
            guard let end = line.period(index).retries.last?.upperBound, window.contains(end),
                let expiresAt = line.period(index).expiresAt
            else { continue }
            let days: Int64 = line.period(index).installment == nil ? 60 : 90
            // Ended by time, not by the next period or by the customer.
            if end >= expiresAt.adding(days: days) { add(line, index, bucket) }
        }
    }
}

extension MeasuredLine {
    func wasPaid(before instant: Instant) -> Bool {
        paid.contains { period($0).purchasedAt < instant }
    }

    /// Whether the paid time is known to have ended with a period: not when the next one follows a
    /// gap about which nothing is known.
    func isEnded(after index: Int) -> Bool {
        guard let next = subscriptions.first(where: { $0 > index }) else { return true }
        return !period(next).flags.contains("gap_unknown")
    }
}
