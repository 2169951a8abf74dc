import Domain

/// Lines that were the same before and are the same after, or one.
struct Turn: Sendable {
    /// As what they counted when the window began; `nil` as nothing paid.
    var before: Standing?
    /// As what they counted when it ended.
    var after: Standing?
    /// Whether they had been paid for before the window.
    var wasPaid: Bool
    var count: Int64 = 1
}

extension Measurement {
    /// What happened to a line in a window.
    mutating func measure(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        switch question.metric {
        case .reactivated, .churned, .churnRate, .mrrMovement:
            let before = line.paid(at: window.lowerBound)
            if question.metric == .churnRate, let before { take(Crowd(before), bucket) }
            let wasPaid = line.firstPaidAt.map { $0 < window.lowerBound } ?? false
            let after = line.paid(at: window.upperBound)
            take(Turn(before: before, after: after, wasPaid: wasPaid), bucket)
        default: break
        }
    }

    /// Takes in what happened to a line.
    mutating func take(_ happenings: [Happening], of line: MeasuredLine) {
        for happening in happenings
        where happening.marks & mask != 0 && happening.isKnown(by: question.knownAt) {
            for bucket in question.buckets where bucket.window.contains(happening.at) {
                take(HappeningSum(happening), line.traits(of: happening.period), bucket)
            }
        }
    }

    /// Takes in happenings of the same facts.
    mutating func take(
        _ sum: HappeningSum, _ traits: Traits, _ bucket: MetricQuestion.Bucket
    ) {
        for counting in countings where counting.fact.mark & sum.marks != 0 {
            switch counting.measure {
            case .one: add(traits, bucket, to: counting.member, amount: Int128(sum.count))
            case .minusOne: add(traits, bucket, to: counting.member, amount: -Int128(sum.count))
            case .amount where sum.amounts > 0:
                add(traits, bucket, to: counting.member, amount: sum.amount)
            case .share where sum.amounts > 0:
                add(
                    traits, bucket, to: counting.member, amount: sum.shares,
                    times: Fraction(Int64(1), 100_000))
            case .amount, .share: continue
            }
        }
    }

    /// Takes in how lines changed from one end of a window to the other.
    mutating func take(_ turn: Turn, _ bucket: MetricQuestion.Bucket) {
        let count = Int128(turn.count)
        switch (question.metric, turn.before, turn.after) {
        case (.reactivated, nil, let after?):
            if turn.wasPaid { add(after.traits, bucket, amount: count) }
        case (.churned, let before?, nil) where before.isEnded:
            add(before.traits, bucket, amount: count, reason: before.reason)
        case (.churnRate, let before?, nil) where before.isEnded:
            add(before.traits, bucket, to: "churned", amount: count)
        case (.mrrMovement, nil, let after?):
            add(after, bucket, to: turn.wasPaid ? "reactivation" : "new", count)
        case (.mrrMovement, let before?, nil): add(before, bucket, to: "churn", count)
        case (.mrrMovement, let before?, let after?):
            guard before.traits.currency == after.traits.currency else {
                // Another currency: what ends in one begins in the other.
                add(before, bucket, to: "contraction", count)
                add(after, bucket, to: "expansion", count)
                return
            }
            var change = ExactSum()
            change.add(after.price, count, times: after.multiplier(question.profile))
            change.add(before.price, -count, times: before.multiplier(question.profile))
            guard !change.isZero else { return }
            let (isLess, size) = (change.isNegative, change.fraction)
            add(
                after.traits, bucket, to: isLess ? "contraction" : "expansion",
                amount: isLess ? -size.numerator : size.numerator,
                times: Fraction(Int128(1), size.denominator))
        default: break
        }
    }

    private mutating func add(
        _ standing: Standing, _ bucket: MetricQuestion.Bucket, to member: String, _ count: Int128
    ) {
        guard let price = standing.price else { return }
        add(
            standing.traits, bucket, to: member, amount: Int128(price) * count,
            times: standing.multiplier(question.profile))
    }
}

extension ExactSum {
    /// Adds so many times a price; one that is not known is none.
    fileprivate mutating func add(_ price: Int64?, _ count: Int128, times fraction: Fraction) {
        add(Int128(price ?? 0) * count, times: fraction)
    }
}

extension MeasuredLine {
    /// The standing at an instant when it is a paid one.
    func paid(at instant: Instant) -> Standing? {
        guard let standing = standing(at: instant), standing.kind == .paid else { return nil }
        return standing
    }
}
