import Domain

extension MeasuredLine {
    /// A trial's start and end, and what it has become by each instant of knowledge.
    func addTrial(_ trial: Int, to found: inout Happenings) {
        let start = period(trial).purchasedAt
        found.add(.trialBegan, start, trial)
        let conversion = conversion(of: trial)
        if let conversion, isInTime(conversion, trial) {
            found.add(.trialConverts, start, trial)
            found.add(.trialConverted, period(conversion).purchasedAt, trial)
            return
        }
        for (known, fate) in fates(of: trial) {
            if fate == .pending {
                found.add(.trialIsPending, start, trial, known: known)
                continue
            }
            found.add(.trialIsAbandoned, start, trial, known: known)
            if conversion != nil { found.add(.trialConvertsLate, start, trial, known: known) }
            found.add(.trialLapsed, end(of: trial), trial, known: known)
        }
    }

    /// What a trial that did not convert in time has become, by the instant of knowledge.
    private func fates(of trial: Int) -> [(known: Range<Instant>, fate: Fate)] {
        let end = end(of: trial)
        let retries = period(trial).retries
        let cuts = Set(retries.flatMap { [$0.lowerBound, $0.upperBound] } + [end]).sorted()
        var found: [(known: Range<Instant>, fate: Fate)] = []
        var from = Instant.distantPast
        for until in cuts + [.distantFuture] where from < until {
            let isPending = from < end || retries.contains { $0.contains(from) }
            let fate = isPending ? Fate.pending : .abandoned
            if let last = found.last, last.fate == fate {
                found[found.count - 1].known = last.known.lowerBound..<until
            } else {
                found.append((from..<until, fate))
            }
            from = until
        }
        return found
    }
}
