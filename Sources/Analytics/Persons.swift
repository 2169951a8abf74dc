import Domain

/// Whose purchases belong together: a customer's, or those of a line that is nobody's.
enum Person: Hashable {
    case customer(CustomerNumber)
    case line(StreamID)
}

/// Money that moved.
struct Movement {
    enum Kind: String { case purchase, refund, reversal }

    var kind: Kind
    /// When it counts, by the basis that is asked for.
    var at: Instant
    /// What was paid. Units: milliunits.
    var amount: Int64
    /// The part of it that moved.
    var share: Fraction
    var currency: String?
    /// When it was paid: the day whose rate holds.
    var paidAt: Instant
    var origin: Measurement.Origin
}

/// What one person did, as far as cohorts ask.
struct PersonHistory {
    /// The first period of all, and what rows it belongs to.
    var first: First
    /// The first purchase that was paid for.
    var paidAt: Instant?
    var movements: [Movement] = []
    /// What subscriptions cover that are the person's own.
    var covered: [Range<Instant>] = []
    /// What paid subscriptions cover.
    var paid: [Range<Instant>] = []
    var hasTried = false
    var hasConverted = false

    struct First {
        var at: Instant
        var origin: Measurement.Origin
        var key: [Dimension: String?]
        var currency: String?

        func precedes(_ other: First) -> Bool {
            (at, origin.transaction) < (other.at, other.origin.transaction)
        }
    }

    /// A history and another one of the same person.
    mutating func join(_ other: PersonHistory) {
        if other.first.precedes(first) { first = other.first }
        paidAt = [paidAt, other.paidAt].compactMap(\.self).min()
        movements += other.movements
        covered += other.covered
        paid += other.paid
        hasTried = hasTried || other.hasTried
        hasConverted = hasConverted || other.hasConverted
    }

    /// Calendar days from one instant to another, in UTC.
    static func days(from start: Instant, to end: Instant) -> Int64 {
        Day(of: end).number - Day(of: start).number
    }
}

extension PersonHistory {
    /// What a line adds; `nil` without a period.
    init?(_ line: MeasuredLine, _ question: MetricQuestion) {
        guard let begun = line.beginning() else { return nil }
        var key = line.key(of: begun.period, question.dimensions)
        key[.currency] = nil
        first = First(
            at: line.period(begun.period).purchasedAt,
            origin: Measurement.Origin(line, begun.period), key: key, currency: begun.currency)
        paidAt = begun.paidAt
        hasTried = begun.hasTried
        hasConverted = begun.hasConverted
        for (index, period) in line.line.periods.enumerated() where period.isMoney {
            movements += period.movements(question.basis, of: Measurement.Origin(line, index))
        }
        for stretch in line.stretches() {
            switch stretch.standing.kind {
            case .paid: paid.append(stretch.from..<stretch.until)
            case .trial, .free: break
            case .family, .retry: continue
            }
            covered.append(stretch.from..<stretch.until)
        }
    }
}

extension Period {
    /// The money that moved for it, dated by a basis: refunds that stand are taken out of the day of
    /// the purchase when they are restated.
    func movements(_ basis: Basis, of origin: Measurement.Origin) -> [Movement] {
        var found: [Movement] = []
        for payment in payments {
            guard let amount = payment.priceMilliunits, amount != 0 else { continue }
            found.append(
                Movement(
                    kind: .purchase, at: payment.purchasedAt, amount: amount, share: .one,
                    currency: currency, paidAt: payment.purchasedAt, origin: origin))
        }
        for back in moneyBack {
            guard let amount = back.priceMilliunits, amount != 0 else { continue }
            let paidAt = paidAt(back)
            func moved(_ kind: Movement.Kind, _ at: Instant) -> Movement {
                Movement(
                    kind: kind, at: at, amount: amount, share: Fraction(back.share, 100_000),
                    currency: currency, paidAt: paidAt, origin: origin)
            }
            switch (basis, back.reversedAt) {
            case (.restated, nil): found.append(moved(.refund, paidAt))
            case (.restated, _): continue
            case (.asTransacted, let reversedAt):
                found.append(moved(.refund, back.at))
                if let reversedAt { found.append(moved(.reversal, reversedAt)) }
            }
        }
        return found
    }
}
