import Domain

extension Measurement {
    private static let whole: Int64 = 100_000

    /// The money of a line's purchases, refunds and reversals.
    mutating func measureMoney(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        for (index, period) in line.line.periods.enumerated() where period.isMoney {
            switch question.metric {
            case .refundsHappened:
                for back in period.moneyBack where window.contains(back.at) {
                    add(line, index, bucket)
                    addShare(of: back, to: "amount", line, index, bucket)
                }
            case .refundReversals:
                for back in period.moneyBack {
                    guard let at = back.reversedAt, window.contains(at) else { continue }
                    add(line, index, bucket)
                }
            case .refundRate:
                guard window.contains(period.purchasedAt), (period.priceMilliunits ?? 1) != 0
                else { continue }
                add(line, index, bucket, to: "transactions")
                if period.moneyBack.contains(where: { $0.reversedAt == nil }) {
                    add(line, index, bucket, to: "refunded")
                }
            default: measureRevenue(line, index, period, in: window, bucket)
            }
        }
    }

    private mutating func measureRevenue(
        _ line: MeasuredLine, _ index: Int, _ period: Period, in window: Range<Instant>,
        _ bucket: MetricQuestion.Bucket
    ) {
        for payment in period.payments where window.contains(payment.purchasedAt) {
            if let price = payment.priceMilliunits {
                addMoney(
                    line, index, bucket, to: "gross", amount: price, paidAt: payment.purchasedAt)
            }
        }
        for back in period.moneyBack {
            if question.basis == .restated {
                // What is refunded now is taken out of the day on which it was paid.
                guard back.reversedAt == nil, window.contains(period.paidAt(back)) else {
                    continue
                }
                addShare(of: back, to: "refunded", line, index, bucket)
                continue
            }
            if window.contains(back.at) {
                addShare(of: back, to: "refunded", line, index, bucket)
            }
            if let at = back.reversedAt, window.contains(at) {
                addShare(of: back, to: "reversed", line, index, bucket)
            }
        }
    }

    mutating func addShare(
        of back: MoneyBack, to member: String, _ line: MeasuredLine, _ index: Int,
        _ bucket: MetricQuestion.Bucket
    ) {
        guard let price = back.priceMilliunits else { return }
        addMoney(
            line, index, bucket, to: member, amount: price,
            times: Fraction(back.share, Measurement.whole),
            paidAt: line.period(index).paidAt(back))
    }
}

extension Period {
    /// Whether it is money: what a family member or somebody assigned has is not.
    var isMoney: Bool { periodClass != .family && periodClass != .other }

    /// When that was paid which went back.
    func paidAt(_ back: MoneyBack) -> Instant {
        payments.first { $0.transaction == back.transaction }?.purchasedAt ?? purchasedAt
    }
}
