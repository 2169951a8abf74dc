import Domain

extension MeasuredLine {
    /// All that happened to the line, each instant of each period once.
    ///
    /// - Shape: in no order of time; facts with an amount stand alone.
    func happenings() -> [Happening] {
        var found = Happenings()
        for index in subscriptions {
            addStart(index, to: &found)
            addQuality(index, to: &found)
            addLoss(index, to: &found)
            if period(index).periodClass == .trial { addTrial(index, to: &found) }
        }
        addFirsts(to: &found)
        for span in spans where span.state == .grace {
            found.add(.graceEntered, span.from, span.period)
        }
        addPreferences(to: &found)
        for (index, period) in line.periods.enumerated() {
            // Each period has one, so that its product is found among those that happened.
            found.add(marks: 0, period.purchasedAt, index)
            for extended in period.extensions {
                let days = (extended.milliseconds + 43_200_000) / 86_400_000
                found.add(.extended, extended.at, index, amount: days)
            }
            addMoney(index, to: &found)
        }
        return found.all
    }

    private func addFirsts(to found: inout Happenings) {
        if let trial = subscriptions.first(where: { period($0).periodClass == .trial }) {
            found.add(.firstTrialBegan, period(trial).purchasedAt, trial)
        }
        guard let first = paid.first else { return }
        let hadTrial = subscriptions.contains {
            $0 < first && period($0).periodClass == .trial
        }
        let isIntro = period(first).periodClass == .intro
        found.add(
            hadTrial ? .firstPaidAfterTrial : isIntro ? .firstPaidAsIntro : .firstPaidDirectly,
            period(first).purchasedAt, first)
    }

    /// What the start of a period means for the one before.
    private func addStart(_ index: Int, to found: inout Happenings) {
        let at = period(index).purchasedAt
        let change = planChange(index)
        switch change {
        case .upgrade: found.add(.upgraded, at, index)
        case .downgrade: found.add(.downgraded, at, index)
        case .crossgrade: found.add(.crossgraded, at, index)
        case nil: break
        }
        let isImmediate = isImmediate(index)
        if change == .upgrade, isImmediate, let before = predecessor(of: index), isPaid(before) {
            found.add(.creditUnknown, at, index)
        }
        let joint = joint(index)
        switch joint {
        case .contiguous(isInGrace: true): found.add(.recoveredInGrace, at, index)
        case .recovered: found.add(.recoveredAfterGap, at, index)
        case .first, .contiguous, .unknown, .bought: break
        }
        guard isPaid(index), paid.first != index else { return }
        switch joint {
        case .first: break
        case .bought: found.add(.boughtAgain, at, index)
        case .contiguous, .recovered, .unknown:
            if change == nil || !isImmediate { found.add(.renewed, at, index) }
        }
    }

    private func addQuality(_ index: Int, to found: inout Happenings) {
        let period = period(index)
        if isPaid(index), period.priceMilliunits == nil {
            found.add(.unpriced, period.purchasedAt, index)
        }
        if plans[index].isInferred { found.add(.inferred, period.purchasedAt, index) }
        if period.flags.contains("gap_unknown") {
            found.add(.gapUnknown, period.purchasedAt, index)
        }
    }

    private func addLoss(_ index: Int, to found: inout Happenings) {
        let period = period(index)
        guard let end = period.retries.last?.upperBound, let expiresAt = period.expiresAt else {
            return
        }
        let days: Int64 = period.installment == nil ? 60 : 90
        // Ended by time, not by the next period or by the customer.
        if end >= expiresAt.adding(days: days) { found.add(.lostInRetry, end, index) }
    }

    private func addPreferences(to found: inout Happenings) {
        var willRenew = true
        var product: String?
        for intent in line.intents {
            let current = line.periods.lastIndex { $0.purchasedAt <= intent.signedAt }
            let bought = current.map { period($0).product }
            let before = (willRenew, product ?? bought)
            willRenew = intent.willRenew ?? willRenew
            product = intent.nextProduct ?? product
            if before != (willRenew, product ?? bought) {
                found.add(.preferenceChanged, intent.signedAt, current)
            }
        }
    }

    /// The money of a period: what a family member or somebody assigned has is not.
    private func addMoney(_ index: Int, to found: inout Happenings) {
        let period = period(index)
        guard period.periodClass != .family, period.periodClass != .other else { return }
        for payment in period.payments where payment.priceMilliunits != nil {
            found.add(.paid, payment.purchasedAt, index, amount: payment.priceMilliunits)
        }
        for back in period.moneyBack {
            found.add(
                .refunded, back.at, index, amount: back.priceMilliunits, share: back.share)
            if let at = back.reversedAt {
                found.add(.reversed, at, index, amount: back.priceMilliunits, share: back.share)
            } else {
                // What is refunded now is taken out of the day on which it was paid.
                let paidAt = period.payments.first { $0.transaction == back.transaction }?
                    .purchasedAt
                found.add(
                    .takenOut, paidAt ?? period.purchasedAt, index,
                    amount: back.priceMilliunits, share: back.share)
            }
        }
        guard period.priceMilliunits != 0 else { return }
        found.add(.refundable, period.purchasedAt, index)
        if period.moneyBack.contains(where: { $0.reversedAt == nil }) {
            found.add(.refundableWasRefunded, period.purchasedAt, index)
        }
    }
}

/// Happenings in the making: facts of one instant and period share one, but for second amounts.
struct Happenings {
    private struct Place: Hashable {
        let at: Instant
        let period: Int?
        let known: Range<Instant>

        static func precedes(_ left: Place, _ right: Place) -> Bool {
            (left.at, left.period ?? -1, left.known.lowerBound, left.known.upperBound)
                < (right.at, right.period ?? -1, right.known.lowerBound, right.known.upperBound)
        }
    }

    private var shared: [Place: Happening] = [:]
    private var alone: [Happening] = []

    var all: [Happening] {
        shared.sorted { Place.precedes($0.key, $1.key) }.map(\.value) + alone
    }

    mutating func add(
        _ fact: Fact, _ at: Instant, _ period: Int?,
        known: Range<Instant> = .distantPast..<Instant.distantFuture, amount: Int64? = nil,
        share: Int64? = nil
    ) {
        add(marks: fact.mark, at, period, known: known, amount: amount, share: share)
    }

    mutating func add(
        marks: Int64, _ at: Instant, _ period: Int?,
        known: Range<Instant> = .distantPast..<Instant.distantFuture, amount: Int64? = nil,
        share: Int64? = nil
    ) {
        let place = Place(at: at, period: period, known: known)
        let added = Happening(
            marks: marks, at: at, knownFrom: known.lowerBound, knownUntil: known.upperBound,
            period: period, amount: amount, share: share)
        switch (shared[place], Fact.withAmounts & marks) {
        case (nil, _): shared[place] = added
        case (var met?, 0):
            met.marks |= marks
            shared[place] = met
        case (var met?, _) where met.marks & Fact.withAmounts == 0:
            met.marks |= marks
            met.amount = amount
            met.share = share
            shared[place] = met
        default: alone.append(added)
        }
    }
}

extension Fact {
    /// Bits of the facts that have an amount.
    static let withAmounts = [Fact.extended, .paid, .refunded, .reversed, .takenOut]
        .reduce(Int64(0)) { $0 | $1.mark }
}
