import Domain

extension Measurement {
    /// What happened to a line in a window.
    mutating func measure(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        if question.metric.hasBlips || question.metric == .mrrMovement {
            balance(line, in: window, bucket)
        }
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
        case .refundRateByValue: measureRefundedValue(line, in: window, bucket)
        case .subscriptionRetention: measureRetention(line, in: window, bucket)
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
        if question.isGross, before == nil, after == nil {
            return measureBlip(line, in: window, bucket)
        }
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

    /// A line that came and went within the window counts as both.
    private mutating func measureBlip(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        guard let blip = line.blipSpan(in: window) else { return }
        switch question.metric {
        case .reactivated:
            if line.wasPaid(before: window.lowerBound) { add(line, blip.period, bucket) }
        case .churnRate: add(line, blip.period, bucket, to: "churned")
        default:
            add(line, blip.period, bucket, reason: line.churnReason(coveredBy: blip.period))
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
