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
    /// Takes lines of one standing in.
    mutating func take(_ crowd: Crowd, _ bucket: MetricQuestion.Bucket) {
        let standing = crowd.standing
        let count = ExactSum(crowd.count)
        switch question.metric {
        case .subscriptionStatus:
            guard let outlook = standing.outlook else { return }
            add(standing.traits, bucket, to: outlook.rawValue, sum: count)
        case .churnRate: add(standing.traits, bucket, to: "base", sum: count)
        case .mrr, .arr:
            if crowd.unpriced > 0 {
                add(standing.traits, bucket, to: "unpriced", sum: ExactSum(crowd.unpriced))
            }
            guard crowd.count > crowd.unpriced else { return }
            var sum = ExactSum()
            sum.add(
                question.metric == .arr ? crowd.price * 12 : crowd.price,
                times: standing.multiplier(question.profile))
            add(standing.traits, bucket, sum: sum)
        default: add(standing.traits, bucket, sum: count)
        }
    }

    /// Takes in happenings of the same facts.
    mutating func take(
        _ happened: HappeningSum, _ traits: Traits, _ bucket: MetricQuestion.Bucket
    ) {
        for counting in question.metric.countings(question.basis)
        where counting.fact.mark & happened.marks != 0 {
            var sum = ExactSum()
            switch counting.measure {
            case .one: sum.add(happened.count)
            case .minusOne: sum.add(-happened.count)
            case .amount where happened.amounts > 0: sum.add(happened.amount)
            case .share where happened.amounts > 0:
                sum.add(happened.shares, times: Fraction(Int64(1), 100_000))
            case .amount, .share: continue
            }
            add(traits, bucket, to: counting.member, sum: sum)
        }
    }

    /// Takes in how lines changed from one end of a window to the other.
    mutating func take(_ turn: Turn, _ bucket: MetricQuestion.Bucket) {
        let count = ExactSum(turn.count)
        switch (question.metric, turn.before, turn.after) {
        case (.reactivated, nil, let after?):
            if turn.wasPaid { add(after.traits, bucket, sum: count) }
        case (.churned, let before?, nil) where before.isEnded:
            add(before.traits, bucket, sum: count, reason: before.reason)
        case (.churnRate, let before?, nil) where before.isEnded:
            add(before.traits, bucket, to: "churned", sum: count)
        case (.mrrMovement, nil, let after?):
            add(after, turn.count, to: turn.wasPaid ? "reactivation" : "new", bucket)
        case (.mrrMovement, let before?, nil): add(before, turn.count, to: "churn", bucket)
        case (.mrrMovement, let before?, let after?):
            guard before.traits.currency == after.traits.currency else {
                // Another currency: what ends in one begins in the other.
                add(before, turn.count, to: "contraction", bucket)
                add(after, turn.count, to: "expansion", bucket)
                return
            }
            var change = part(of: after, turn.count) ?? ExactSum()
            change.add(part(of: before, turn.count) ?? ExactSum(), sign: -1)
            guard !change.isZero else { return }
            let isLess = change.isNegative
            add(
                after.traits, bucket, to: isLess ? "contraction" : "expansion", sum: change,
                sign: isLess ? -1 : 1)
        default: break
        }
    }

    private mutating func add(
        _ standing: Standing, _ count: Int64, to member: String, _ bucket: MetricQuestion.Bucket
    ) {
        guard let part = part(of: standing, count) else { return }
        add(standing.traits, bucket, to: member, sum: part)
    }

    /// What so many lines of a standing count for in a month; `nil` without a price.
    private func part(of standing: Standing, _ count: Int64) -> ExactSum? {
        guard let price = standing.price else { return nil }
        var sum = ExactSum()
        sum.add(Int128(price) * Int128(count), times: standing.multiplier(question.profile))
        return sum
    }
}

extension Standing {
    /// What a price is multiplied by to be a month's.
    func multiplier(_ profile: Profile) -> Fraction {
        traits.plan.map { Plan(name: $0).multiplier(profile) } ?? .one
    }
}
