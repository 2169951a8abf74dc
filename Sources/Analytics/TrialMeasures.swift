import Domain

extension Measurement {
    /// What became of the trials of a line.
    mutating func measureTrials(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        let trials = line.subscriptions.filter { line.period($0).periodClass == .trial }
        switch question.metric {
        case .trialsStarted:
            guard let first = trials.first, window.contains(line.period(first).purchasedAt) else {
                return
            }
            add(line, first, bucket)
        case .trialConversion:
            for trial in trials where window.contains(line.period(trial).purchasedAt) {
                add(line, trial, bucket, to: "trials")
                let fate = line.fate(of: trial, knownAt: question.knownAt)
                add(line, trial, bucket, to: fate.rawValue)
                if fate == .abandoned, line.conversion(of: trial) != nil {
                    add(line, trial, bucket, to: "late_conversion")
                }
            }
        default:
            for trial in trials {
                if window.contains(line.period(trial).purchasedAt) {
                    add(line, trial, bucket, to: "started")
                    add(line, trial, bucket)
                }
                guard let (member, at) = line.ending(of: trial, knownAt: question.knownAt),
                    window.contains(at)
                else { continue }
                add(line, trial, bucket, to: member)
                add(line, trial, bucket, amount: -1)
            }
        }
    }
}

extension MeasuredLine {
    enum Fate: String { case converted, pending, abandoned }

    private static let conversionDays: Int64 = 60

    /// The first period that was paid for after a trial.
    func conversion(of trial: Int) -> Int? { paid.first { $0 > trial } }

    /// What became of a trial by an instant of knowledge.
    func fate(of trial: Int, knownAt instant: Instant) -> Fate {
        if isInTime(conversion(of: trial), trial) { return .converted }
        if instant < end(of: trial) { return .pending }
        let isTried = period(trial).retries.contains { $0.contains(instant) }
        return isTried ? .pending : .abandoned
    }

    /// How and when a trial ended; `nil` while it has not.
    func ending(of trial: Int, knownAt instant: Instant) -> (member: String, at: Instant)? {
        if let conversion = conversion(of: trial), isInTime(conversion, trial) {
            return ("converted", period(conversion).purchasedAt)
        }
        guard fate(of: trial, knownAt: instant) == .abandoned else { return nil }
        return ("lapsed", end(of: trial))
    }

    func isInTime(_ conversion: Int?, _ trial: Int) -> Bool {
        guard let conversion, let end = period(trial).until else { return false }
        return period(conversion).purchasedAt <= end.adding(days: MeasuredLine.conversionDays)
    }
}
