import Domain

extension Measurement {
    /// What a line is at an instant.
    mutating func measure(
        _ line: MeasuredLine, at instant: Instant, _ bucket: MetricQuestion.Bucket
    ) {
        let span = line.span(at: instant)
        let covering = span.map { line.period($0.period).periodClass }
        switch question.metric {
        case .activePaid:
            if let paid = line.paidSpan(at: instant) { add(line, paid.period, bucket) }
        case .activeTrials where covering == .trial, .activeFree where covering == .free,
            .activeFamily where covering == .family:
            add(line, span?.period, bucket)
        case .inGrace:
            if let span, span.state == .grace, line.isPaid(span.period) || covering == .trial {
                add(line, span.period, bucket)
            }
        case .inBillingRetry:
            let spans = line.line.spans(settings)
            if line.line.state(at: instant, spans: spans) == .retry {
                add(line, line.subscriptions.last { line.period($0).from <= instant }, bucket)
            }
        case .mrr, .arr: measureMRR(line, at: instant, bucket)
        case .subscriptionStatus:
            guard let paid = line.paidSpan(at: instant) else { return }
            add(line, paid.period, bucket, to: status(of: line, paid, at: instant))
        case .activeCustomers:
            guard let paid = line.paidSpan(at: instant),
                let owner = owner(of: line, at: instant)
            else { return }
            count(owner, line, paid.period, bucket)
        case .unattributedLines:
            guard let start = line.line.start, start <= instant,
                owner(of: line, at: instant) == nil
            else { return }
            add(line, line.line.periods.lastIndex { $0.from <= instant }, bucket)
        default: break
        }
    }

    private mutating func measureMRR(
        _ line: MeasuredLine, at instant: Instant, _ bucket: MetricQuestion.Bucket
    ) {
        guard let paid = line.paidSpan(at: instant) else { return }
        guard let monthly = line.monthly(paid.period, question.profile) else {
            add(line, paid.period, bucket, to: "unpriced")
            return
        }
        addMoney(
            line, paid.period, bucket,
            amount: question.metric == .arr ? monthly.price * 12 : monthly.price,
            times: monthly.multiplier, paidAt: line.period(paid.period).purchasedAt)
    }

    private func status(of line: MeasuredLine, _ span: Span, at instant: Instant) -> String {
        if span.state == .grace { return "billing_issue" }
        return line.line.intent(at: instant)?.willRenew == false ? "set_to_cancel" : "set_to_renew"
    }

    /// Who owns a line at an instant, merges followed.
    func owner(of line: MeasuredLine, at instant: Instant) -> CustomerNumber? {
        line.line.tenures(people.links, settings).last { $0.holds(at: instant) }
            .map { people.customers.read($0.customer, at: instant) }
    }
}
