import Domain

/// Two sides of one sum that must be equal, as an answer's own numbers make them.
public struct Identity: Sendable, Hashable {
    /// What is summed: `active_paid` or `mrr`.
    public var name: String
    /// The part of time, when time is told apart.
    public var label: String?
    /// The currency of money.
    public var currency: String?
    /// Its terms by their names, rounded where they are money.
    public var terms: [Term]
    /// Whether both sides are equal, exactly.
    public var holds: Bool

    /// One term.
    public struct Term: Sendable, Hashable {
        /// Its name.
        public var name: String
        /// The number.
        public var number: Int64
    }
}

/// What was there before and after, and what became of it.
struct Balance: Sendable {
    var before = ExactSum()
    var after = ExactSum()
    var new: Int64 = 0
    var reactivated: Int64 = 0
    var churned: Int64 = 0
    /// Lines that were there and are followed by a gap of which nothing is known.
    var unknown: Int64 = 0
    /// Lines that came and went within the window.
    var blips: Int64 = 0

    struct Key: Hashable {
        var label: String?
        var currency: String?
    }
}

extension Measurement {
    /// Counts a line on both sides of the identity that a metric must keep.
    mutating func balance(
        _ line: MeasuredLine, in window: Range<Instant>, _ bucket: MetricQuestion.Bucket
    ) {
        let before = line.paidSpan(at: window.lowerBound)?.period
        let after = line.paidSpan(at: window.upperBound)?.period
        if question.metric == .mrrMovement {
            if let before, let sum = part(of: line, before) {
                balances[balanceKey(line, before, bucket), default: Balance()].before.add(sum)
            }
            if let after, let sum = part(of: line, after) {
                balances[balanceKey(line, after, bucket), default: Balance()].after.add(sum)
            }
            return
        }
        let key = Balance.Key(label: bucket.label)
        var balance = balances[key] ?? Balance()
        if before != nil { balance.before.add(1) }
        if after != nil { balance.after.add(1) }
        switch (before, after) {
        case (nil, nil): if line.isBlip(in: window) { balance.blips += 1 }
        case (nil, _):
            if line.wasPaid(before: window.lowerBound) {
                balance.reactivated += 1
            } else {
                balance.new += 1
            }
        case (let before?, nil):
            if line.isEnded(after: before) { balance.churned += 1 } else { balance.unknown += 1 }
        case (_, _): break
        }
        balances[key] = balance
    }

    private func balanceKey(
        _ line: MeasuredLine, _ index: Int, _ bucket: MetricQuestion.Bucket
    ) -> Balance.Key {
        Balance.Key(
            label: bucket.label, currency: question.currency ?? line.period(index).currency)
    }

    /// The identities that the answer must keep, with their terms; empty for metrics without one.
    public var identities: [Identity] {
        let ordered = balances.sorted {
            ($0.key.label ?? "", $0.key.currency ?? "")
                < ($1.key.label ?? "", $1.key.currency ?? "")
        }
        let movements = question.metric == .mrrMovement ? self.movements : [:]
        return ordered.map { key, balance in
            question.metric == .mrrMovement
                ? balance.identity(of: key, movement: movements[key] ?? ExactSum())
                : balance.identity(of: key)
        }
    }

    /// How many lines came and went within the window, of all its parts; `nil` where none can.
    public var blips: Int64? {
        question.metric.hasBlips ? balances.values.reduce(0) { $0 + $1.blips } : nil
    }

    /// The movements of all rows, signed and summed by part of time and currency.
    private var movements: [Balance.Key: ExactSum] {
        var found: [Balance.Key: ExactSum] = [:]
        for (key, sums) in rows {
            let label = question.timeDimension.flatMap { key.parts[$0] ?? nil }
            let currency = question.currency ?? (key.parts[.currency] ?? nil)
            for (member, sum) in sums {
                let isLess = member == "contraction" || member == "churn"
                found[Balance.Key(label: label, currency: currency), default: ExactSum()]
                    .add(sum, sign: isLess ? -1 : 1)
            }
        }
        return found
    }
}

extension Balance {
    fileprivate func identity(of key: Key) -> Identity {
        var right = before
        right.add(new + reactivated - churned - unknown)
        return Identity(
            name: "active_paid", label: key.label, currency: nil,
            terms: [
                Identity.Term(name: "before", number: before.rounded),
                Identity.Term(name: "new", number: new),
                Identity.Term(name: "reactivated", number: reactivated),
                Identity.Term(name: "churned", number: churned),
                Identity.Term(name: "unknown", number: unknown),
                Identity.Term(name: "after", number: after.rounded),
                Identity.Term(name: "blips", number: blips),
            ], holds: Balance.isEqual(after, right))
    }

    fileprivate func identity(of key: Key, movement: ExactSum) -> Identity {
        var right = before
        right.add(movement)
        return Identity(
            name: "mrr", label: key.label, currency: key.currency,
            terms: [
                Identity.Term(name: "before", number: before.rounded),
                Identity.Term(name: "movement", number: movement.rounded),
                Identity.Term(name: "after", number: after.rounded),
            ], holds: Balance.isEqual(after, right))
    }

    private static func isEqual(_ left: ExactSum, _ right: ExactSum) -> Bool {
        var difference = left
        difference.add(right, sign: -1)
        return difference.isZero
    }
}

extension MeasuredLine {
    /// Whether it was paid within a window though at neither end of it.
    func isBlip(in window: Range<Instant>) -> Bool {
        paidSpan(at: window.lowerBound) == nil && paidSpan(at: window.upperBound) == nil
            && blipSpan(in: window) != nil
    }

    /// The last paid span within a window, of a line that is paid at neither end.
    func blipSpan(in window: Range<Instant>) -> Span? {
        spans.last {
            isPaid($0.period) && window.lowerBound < $0.from && $0.from < window.upperBound
        }
    }
}
