import Domain

extension Measurement {
    /// What a line is at an instant.
    mutating func measure(
        _ line: MeasuredLine, at instant: Instant, _ bucket: MetricQuestion.Bucket
    ) {
        switch question.metric {
        case .activeCustomers:
            guard let standing = line.standing(at: instant), standing.kind == .paid,
                let owner = owner(of: line, at: instant)
            else { return }
            count(owner, standing.traits, bucket)
        case .unattributedLines:
            guard let start = line.line.start, start <= instant,
                owner(of: line, at: instant) == nil
            else { return }
            let last = line.line.periods.lastIndex { $0.from <= instant }
            add(line.traits(of: last), bucket)
        default:
            if let standing = line.standing(at: instant) { take(Crowd(standing), bucket) }
        }
    }

    /// Takes lines of one standing in.
    mutating func take(_ crowd: Crowd, _ bucket: MetricQuestion.Bucket) {
        let standing = crowd.standing
        let count = Int128(crowd.count)
        switch (question.metric, standing.kind) {
        case (.activePaid, .paid), (.activeTrials, .trial), (.activeFree, .free),
            (.activeFamily, .family), (.inBillingRetry, .retry):
            add(standing.traits, bucket, amount: count)
        case (.inGrace, .paid), (.inGrace, .trial):
            if standing.isInGrace { add(standing.traits, bucket, amount: count) }
        case (.subscriptionStatus, .paid):
            guard let outlook = standing.outlook else { return }
            add(standing.traits, bucket, to: outlook.rawValue, amount: count)
        case (.churnRate, .paid): add(standing.traits, bucket, to: "base", amount: count)
        case (.mrr, .paid), (.arr, .paid):
            if crowd.unpriced > 0 {
                add(standing.traits, bucket, to: "unpriced", amount: Int128(crowd.unpriced))
            }
            guard crowd.count > crowd.unpriced else { return }
            add(
                standing.traits, bucket,
                amount: question.metric == .arr ? crowd.price * 12 : crowd.price,
                times: standing.multiplier(question.profile))
        default: return
        }
    }

    /// Who owns a line at an instant, merges followed.
    func owner(of line: MeasuredLine, at instant: Instant) -> CustomerNumber? {
        line.line.tenures(people.links, settings).last { $0.holds(at: instant) }
            .map { people.customers.read($0.customer, at: instant) }
    }
}

extension Standing {
    /// What a price is multiplied by to be a month's.
    func multiplier(_ profile: Profile) -> Fraction {
        traits.plan.map { Plan(name: $0).multiplier(profile) } ?? .one
    }
}
