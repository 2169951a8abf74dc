/// What was charged once: for a whole period, or for some of its seats.
public struct Payment: Sendable, Hashable {
    /// The lowest of the transaction ids that stand for it.
    public var transaction: String
    /// When it was charged: money is dated by it.
    public var purchasedAt: Instant
    /// What was paid in all. Units: milliunits of `currency`.
    public var priceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String?
    /// How many seats it bought; `nil` when it is not about seats.
    public var seats: Int64?
    /// How many of them were taken back while the others stay.
    public var revokedSeats: Int64?
    /// When all that it bought was taken back.
    public var revokedAt: Instant?
    /// Whether money went back with the revocation (R15).
    public var isRefunded: Bool
    /// The refunded share. Units: thousandths of a percent.
    public var refundShare: Int64?

    /// The seats that are still valid.
    public var validSeats: Int64? {
        guard let seats else { return nil }
        return revokedAt == nil ? seats - min(max(revokedSeats ?? 0, 0), seats) : 0
    }

    /// What went back; `nil` when nothing did.
    public var refund: Refund? {
        guard isRefunded, let revokedAt else { return nil }
        let share = refundShare ?? 100_000
        return Refund(
            at: revokedAt, share: share, priceMilliunits: priceMilliunits.map { $0.share(share) })
    }
}

/// Money that went back.
public struct Refund: Sendable, Hashable {
    /// When, or when the last of it did.
    public var at: Instant
    /// The share of what was paid; `nil` when unknown. Units: thousandths of a percent.
    public var share: Int64?
    /// How much, rounded half to even; `nil` without a price. Units: milliunits.
    public var priceMilliunits: Int64?

    /// Money that went back then, as far as known.
    public init(at: Instant, share: Int64?, priceMilliunits: Int64?) {
        self.at = at
        self.share = share
        self.priceMilliunits = priceMilliunits
    }
}

extension Period {
    /// What was charged for it, by purchase date: where seats were bought, each time they were.
    ///
    /// - Shape: never empty.
    public var payments: [Payment] {
        guard seatPayments.isEmpty else { return seatPayments }
        return [
            Payment(
                transaction: transaction, purchasedAt: purchasedAt,
                priceMilliunits: priceMilliunits, currency: currency, seats: nil,
                revokedSeats: nil, revokedAt: revokedAt, isRefunded: isRefunded,
                refundShare: refundShare)
        ]
    }

    /// What went back of all its payments; `nil` when nothing did.
    public var refund: Refund? {
        let payments = payments
        let refunds = payments.compactMap(\.refund)
        guard payments.count > 1, let last = refunds.map(\.at).max() else { return refunds.first }
        let amount = refunds.reduce(Int64?(0)) { sum, refund in
            sum?.adding(refund.priceMilliunits)
        }
        let share: Int64? =
            if refunds.count == payments.count, Set(refunds.map(\.share)).count == 1 {
                refunds[0].share
            } else if let amount, let paid = priceMilliunits, paid > 0, (0...paid).contains(amount)
            {
                amount.ofWhole(paid)
            } else {
                nil
            }
        return Refund(at: last, share: share, priceMilliunits: amount)
    }

    /// The seats that are valid; `nil` when it is not about seats.
    public var seats: Int64? {
        seatPayments.reduce(nil) { sum, payment in
            (sum ?? 0).adding(payment.validSeats ?? 0)
        }
    }
}

extension Int64 {
    /// So many thousandths of a percent of this amount, rounded half to even.
    fileprivate func share(_ thousandths: Int64) -> Int64 {
        Int64.halfToEven(multipliedFullWidth(by: thousandths), over: 100_000)
    }

    /// The thousandths of a percent that this amount, from 0 on, is of a greater whole.
    fileprivate func ofWhole(_ whole: Int64) -> Int64 {
        Int64.halfToEven(multipliedFullWidth(by: 100_000), over: whole)
    }

    private static func halfToEven(
        _ product: (high: Int64, low: UInt64), over divisor: Int64
    ) -> Int64 {
        let (quotient, remainder) = divisor.dividingFullWidth(product)
        let rest = divisor - remainder
        let isUp = remainder > rest || (remainder == rest && quotient % 2 != 0)
        return isUp ? quotient + 1 : quotient
    }
}
