/// One of the monthly payments of a commitment.
public struct Installment: Sendable, Hashable {
    /// When the commitment ends.
    public var commitmentExpiresAt: Instant?
    /// Which payment it is, from 1.
    public var number: Int64?
    /// How many there are.
    public var count: Int64?
}

/// A commitment that holds at an instant.
public struct Commitment: Sendable, Hashable {
    /// When it ends; later when a payment is collected late.
    public var until: Instant?
    /// Whether it will be renewed as a whole.
    public var willRenew: Bool?
    /// Which payment was the last one made, from 1.
    public var payment: Int64?
    /// How many payments it has.
    public var payments: Int64?

    /// A commitment of which this much is known.
    public init(until: Instant?, willRenew: Bool?, payment: Int64?, payments: Int64?) {
        self.until = until
        self.willRenew = willRenew
        self.payment = payment
        self.payments = payments
    }
}

extension TransactionStatement {
    /// The payment of a commitment that it is.
    var installment: Installment? {
        guard billingPlan == "MONTHLY" || (billingPlan == nil && commitmentExpiresAt != nil) else {
            return nil
        }
        return Installment(
            commitmentExpiresAt: commitmentExpiresAt, number: billingPeriodNumber,
            count: totalBillingPeriods)
    }
}

extension Period {
    /// Whether it is a commitment's last, so that what follows it is the commitment's renewal.
    fileprivate var isLastOfCommitment: Bool {
        guard let installment else { return false }
        if let number = installment.number, let count = installment.count { return number >= count }
        guard let end = installment.commitmentExpiresAt, let expiresAt else { return false }
        return expiresAt >= end
    }
}

extension Line {
    /// What the customer intends at an instant; `nil` when no renewal info was signed by then.
    ///
    /// Who gives a commitment up still pays every month until it ends, and Apple says so: the
    /// monthly renewal stays on. After the last payment nothing follows but the commitment's own
    /// renewal, so there the word on that one counts.
    public func intent(at instant: Instant) -> Intent? {
        guard var intent = intents.last(where: { $0.signedAt <= instant }) else { return nil }
        guard period(at: instant)?.isLastOfCommitment == true else { return intent }
        if intent.commitmentWillRenew == false { intent.willRenew = false }
        intent.willRenew = intent.willRenew ?? intent.commitmentWillRenew
        intent.nextProduct = intent.commitmentNextProduct ?? intent.nextProduct
        return intent
    }

    /// The commitment that binds the customer at an instant, given the line's spans; `nil` when none
    /// is known, or the line has ended.
    public func commitment(at instant: Instant, spans: [Span]) -> Commitment? {
        guard let installment = period(at: instant)?.installment else { return nil }
        switch state(at: instant, spans: spans) {
        case .trial, .active, .grace, .retry: break
        case .expired, .revoked, .incomplete, .none, .granted: return nil
        }
        let intent = intents.last { $0.signedAt <= instant }
        return Commitment(
            until: installment.commitmentExpiresAt ?? intent?.commitmentRenewsAt,
            willRenew: intent?.commitmentWillRenew, payment: installment.number,
            payments: installment.count)
    }
}
