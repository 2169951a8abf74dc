import Domain

extension Measurement {
    /// Remembers what a line says of whoever has it; numbers are made of that by `settle`.
    mutating func remember(_ line: MeasuredLine) {
        guard let history = PersonHistory(line, question) else { return }
        // What is known of a purchase to come says already whose it is.
        let owner = owner(of: line, at: max(question.knownAt, line.line.start ?? .distantPast))
        let person = owner.map(Person.customer) ?? .line(line.line.stream)
        if persons[person] == nil {
            persons[person] = history
        } else {
            persons[person]?.join(history)
        }
    }

    /// Makes numbers of what was remembered of persons; after it nothing is taken in.
    public mutating func settle() {
        let remembered = persons
        persons = [:]
        for history in remembered.values {
            for bucket in question.buckets {
                switch question.metric {
                case .conversionToPaying: measureConversion(history, bucket)
                case .trialConversionByFirstSeen: measureTried(history, bucket)
                case .arpu, .arppu: measureAverage(history, bucket)
                case .realisedLTV: measureLifetime(history, bucket)
                case .cohortExplorer: measureAges(history, bucket)
                default: break
                }
            }
        }
        if question.metric == .realisedLTV { cumulate() }
    }

    private mutating func measureConversion(
        _ history: PersonHistory, _ bucket: MetricQuestion.Bucket
    ) {
        let start = history.first.at
        guard bucket.window.contains(start) else { return }
        add(history, bucket, to: "customers")
        if let paidAt = history.paidAt,
            PersonHistory.days(from: start, to: paidAt) <= question.days
        {
            add(history, bucket, to: "converted")
        } else if PersonHistory.days(from: start, to: question.knownAt) <= question.days {
            add(history, bucket, to: "pending")
        }
    }

    private mutating func measureTried(_ history: PersonHistory, _ bucket: MetricQuestion.Bucket) {
        guard bucket.window.contains(history.first.at) else { return }
        add(history, bucket, to: "customers")
        if history.hasTried { add(history, bucket, to: "trials") }
        if history.hasConverted { add(history, bucket, to: "converted") }
    }

    private mutating func measureAverage(
        _ history: PersonHistory, _ bucket: MetricQuestion.Bucket
    ) {
        let window = bucket.window
        let moved = history.movements.filter { window.contains($0.at) }
        let hasPaid = moved.contains { $0.kind == .purchase }
        if question.metric == .arppu {
            if hasPaid { add(history, bucket, to: "payers") }
        } else if hasPaid || history.covered.contains(where: { $0.overlaps(window) }) {
            add(history, bucket, to: "customers")
        }
        for movement in moved { add(history, movement, bucket, to: "net") }
    }

    /// Numbers of each age alone, to be cumulated.
    private mutating func measureLifetime(
        _ history: PersonHistory, _ bucket: MetricQuestion.Bucket
    ) {
        let start = history.first.at
        guard bucket.window.contains(start) else { return }
        add(history, bucket, age: 0, to: "customers")
        for step in 0...ages(of: bucket)
        where PersonHistory.days(from: start, to: question.knownAt) >= step * question.days {
            add(history, bucket, age: step, to: "mature")
        }
        if let paidAt = history.paidAt, let age = age(start, paidAt, in: bucket) {
            add(history, bucket, age: age, to: "payers")
        }
        for movement in history.movements {
            guard let age = age(start, movement.at, in: bucket) else { continue }
            add(history, movement, bucket, age: age, to: "net")
        }
    }

    private mutating func measureAges(_ history: PersonHistory, _ bucket: MetricQuestion.Bucket) {
        guard let start = history.paidAt, bucket.window.contains(start) else { return }
        for step in 0...ages(of: bucket) {
            let days = step * question.days
            guard PersonHistory.days(from: start, to: question.knownAt) >= days else { break }
            add(history, bucket, age: step, to: "customers")
            let begun = start.adding(days: days)
            if begun <= question.knownAt, history.paid.contains(where: { $0.contains(begun) }) {
                add(history, bucket, age: step, to: "retained")
            }
        }
        for movement in history.movements {
            let days = PersonHistory.days(from: start, to: movement.at)
            guard days >= 0, days / question.days <= ages(of: bucket) else { continue }
            let member = movement.kind == .purchase ? "revenue" : "refunds"
            add(
                history, movement, bucket, age: days / question.days, to: member,
                sign: movement.kind == .reversal ? -1 : 1)
        }
    }

    /// The number of the last age that somebody of a cohort can have reached.
    func ages(of bucket: MetricQuestion.Bucket) -> Int64 {
        let days = PersonHistory.days(from: bucket.window.lowerBound, to: question.knownAt)
        return min(max(0, days / question.days), MetricQuestion.mostAges)
    }

    /// The first age whose days, counted from 0 and including its last one, hold an instant.
    private func age(_ start: Instant, _ instant: Instant, in bucket: MetricQuestion.Bucket)
        -> Int64?
    {
        let days = max(0, PersonHistory.days(from: start, to: instant))
        let age = (days + question.days - 1) / question.days
        return age <= ages(of: bucket) ? age : nil
    }

    // MARK: Rows

    private mutating func add(
        _ history: PersonHistory, _ bucket: MetricQuestion.Bucket, age: Int64? = nil,
        to member: String
    ) {
        let key = personKey(history, bucket, age: age, currency: history.first.currency)
        add(ExactSum(1), to: member, of: key, because: history.first.origin)
    }

    private mutating func add(
        _ history: PersonHistory, _ movement: Movement, _ bucket: MetricQuestion.Bucket,
        age: Int64? = nil, to member: String, sign: Int128? = nil
    ) {
        guard let factor = factor(movement.currency, paidAt: movement.paidAt) else { return }
        let key = personKey(history, bucket, age: age, currency: movement.currency)
        add(
            ExactSum(movement.amount, times: movement.share * factor), to: member, of: key,
            sign: sign ?? (movement.kind == .refund ? -1 : 1), because: movement.origin)
    }

    private func personKey(
        _ history: PersonHistory, _ bucket: MetricQuestion.Bucket, age: Int64?, currency: String?
    ) -> RowKey {
        var key = RowKey(history.first.key)
        if question.dimensions.contains(.currency) { key.parts[.currency] = .some(currency) }
        if let time = question.timeDimension { key.parts[time] = .some(bucket.label) }
        if let age { key.parts[.age] = .some(String(age * question.days)) }
        return key
    }
}
