/// What must happen to a line, and has not been heard of: a reason to ask once its time has come.
public struct Doubt: Sendable, Hashable {
    /// What is not known.
    public enum Kind: String, Sendable, Hashable {
        /// How it went on when the paid time, grace or billing retry was over.
        case overdue
        /// What it was upgraded to (R4).
        case successorMissing = "successor_missing"
    }

    /// What is not known.
    public var kind: Kind
    /// Since when, or from when on.
    public var from: Instant

    /// A doubt of this kind from an instant on.
    public init(kind: Kind, from: Instant) {
        self.kind = kind
        self.from = from
    }
}

extension Line {
    /// What is in doubt, now or later; `nil` when what was heard settles all.
    ///
    /// A renewal info that was signed after an end says how it went on, whatever it says.
    public var doubt: Doubt? {
        guard let last = periods.last else { return nil }
        if last.flags.contains(Doubt.Kind.successorMissing.rawValue) {
            return Doubt(kind: .successorMissing, from: last.purchasedAt)
        }
        guard last.shape == .subscription, last.ending == .expiry, let until = last.until else {
            return nil
        }
        var due = until
        if case .named(let graceEnd) = last.grace { due = max(due, graceEnd) }
        let heard = intents.last?.signedAt ?? .distantPast
        if heard < due { return Doubt(kind: .overdue, from: due) }
        if let retried = last.retries.last?.upperBound, heard < retried {
            return Doubt(kind: .overdue, from: retried)
        }
        return nil
    }
}
