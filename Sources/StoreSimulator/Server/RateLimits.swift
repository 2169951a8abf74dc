import Domain

/// How often each kind of call may be made.
///
/// - Source: Apple, Identifying rate limits: calls per second and app; a tenth of it in Sandbox.
struct RateLimits: Sendable {
    /// A kind of call.
    enum Kind: Hashable, Sendable {
        case reading, notificationHistory, consumption, changing, lookUp, refunds, mass, test

        /// Calls per second in Production.
        var rate: Double {
            switch self {
            case .reading, .notificationHistory, .consumption: 50
            case .changing: 20
            case .lookUp, .refunds: 10
            case .mass, .test: 1
            }
        }
    }

    private struct Key: Hashable {
        let kind: Kind
        let environment: Environment
    }

    /// What is left of a second's calls, and when that was.
    private struct Bucket {
        var left: Double
        var at: Instant
    }

    private var buckets: [Key: Bucket] = [:]

    /// Takes a call at a real instant; `nil` when it may be made, else when to come again.
    mutating func take(_ kind: Kind, _ environment: Environment, at now: Instant) -> Instant? {
        let key = Key(kind: kind, environment: environment)
        let rate = environment == .production ? kind.rate : kind.rate / 10
        let most = max(1, rate)
        var bucket = buckets[key] ?? Bucket(left: most, at: now)
        let passed = Double(max(0, now.milliseconds - bucket.at.milliseconds)) / 1_000
        bucket.left = min(most, bucket.left + passed * rate)
        bucket.at = now
        defer { buckets[key] = bucket }
        guard bucket.left < 1 else {
            bucket.left -= 1
            return nil
        }
        return now.adding(milliseconds: Int64(((1 - bucket.left) / rate * 1_000).rounded(.up)))
    }
}
