import Domain

/// A statement that was read, before its environment and dates are settled.
struct Draft<Content: Sendable & Hashable> {
    let content: Content
    /// The environment that the payload itself states.
    let environment: Environment?
    /// When the payload itself says it was signed.
    let signedAt: Instant?
    /// Dates that decide answers and so must be in range, by Apple's name.
    let dates: [(name: String, at: Instant?)]
    let fingerprint: Fingerprint
    let isNonCanonical: Bool

    /// Refuses what was signed too far ahead of receipt.
    func judgeSigning(receivedAt: Instant) throws(Hold) {
        if let signedAt { try Draft.judgeSigning(signedAt, receivedAt: receivedAt) }
    }

    /// Refuses dates that are no moments of a store's life.
    func judgeDates() throws(Hold) {
        for date in dates {
            if let at = date.at, !at.isInRange {
                throw Hold(.outOfRange, "\(date.name) is not between 1970 and 9999")
            }
        }
    }

    static func judgeSigning(_ signedAt: Instant, receivedAt: Instant) throws(Hold) {
        let ahead = signedAt.milliseconds.subtractingReportingOverflow(receivedAt.milliseconds)
        if ahead.overflow ? signedAt > receivedAt : ahead.partialValue > 86_400_000 {
            throw Hold(.futureSigned, "signedDate is more than 24 hours ahead of receipt")
        }
    }
}

extension Draft<TransactionStatement> {
    /// The statement, once its environment is known.
    func settled(
        _ environment: Environment, receivedAt: Instant
    ) -> Stated<TransactionStatement> {
        var statement = content
        statement.environment = environment
        statement.flags = Caveats.flags(
            signedAt: signedAt, receivedAt: receivedAt, isNonCanonical: isNonCanonical)
        return Stated(statement, fingerprint)
    }
}

extension Draft<RenewalStatement> {
    /// The statement, once its environment is known.
    func settled(_ environment: Environment, receivedAt: Instant) -> Stated<RenewalStatement> {
        var statement = content
        statement.environment = environment
        statement.flags = Caveats.flags(
            signedAt: signedAt, receivedAt: receivedAt, isNonCanonical: isNonCanonical)
        return Stated(statement, fingerprint)
    }
}

extension Instant {
    /// Whether it lies after 1970 began and before the year 10000.
    var isInRange: Bool { milliseconds > 0 && milliseconds <= 253_402_300_799_999 }

    /// Itself, unless it is out of range.
    var ifInRange: Instant? { isInRange ? self : nil }
}

/// The caveats of one signed payload.
enum Caveats {
    static func flags(
        signedAt: Instant?, receivedAt: Instant, isNonCanonical: Bool
    ) -> [String] {
        var flags: [String] = []
        if let signedAt {
            if signedAt > receivedAt { flags.append("clock_skew") }
        } else {
            flags.append("no_signed_date")
        }
        if isNonCanonical { flags.append("non_canonical") }
        return flags
    }
}
