import Synchronization

/// Counts refused requests by address, so that an attacker cannot make the daemon work for ever.
final class RefusalLimiter: Sendable {
    private struct Allowance {
        var left: Double
        var at: ContinuousClock.Instant
    }

    private let allowances = Mutex<[String: Allowance]>([:])
    private let burst: Double
    private let perSecond: Double
    private static let addressLimit = 10_000

    /// So many refusals at once, and so many more each second.
    init(burst: Int = 20_000, perSecond: Int = 200) {
        self.burst = Double(burst)
        self.perSecond = Double(perSecond)
    }

    /// Notes a refused request.
    ///
    /// - Returns: false when the address has used up its allowance.
    func note(_ address: String) -> Bool {
        let now = ContinuousClock.now
        return allowances.withLock { allowances in
            if allowances.count > RefusalLimiter.addressLimit { allowances = [:] }
            var allowance = allowances[address] ?? Allowance(left: burst, at: now)
            let (seconds, attoseconds) = allowance.at.duration(to: now).components
            let elapsed = Double(seconds) + Double(attoseconds) / 1e18
            allowance.left = min(burst, allowance.left + elapsed * perSecond)
            allowance.at = now
            let isAllowed = allowance.left >= 1
            if isAllowed { allowance.left -= 1 }
            allowances[address] = allowance
            return isAllowed
        }
    }
}
