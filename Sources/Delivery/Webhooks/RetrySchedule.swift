public import Domain

/// When a delivery is tried again, and when it is given up.
public enum RetrySchedule {
    /// The first delay; each one after it is twice as long. Units: milliseconds.
    private static let first: Int64 = 5_000
    /// No delay is longer. Units: milliseconds.
    private static let longest: Int64 = 6 * 3_600_000
    /// How long a delivery is tried. Units: days.
    private static let patience: Int64 = 3
    /// The longest wait that a server may ask for. Units: seconds.
    private static let longestAsked: Int64 = 3_600

    /// The instant of the next attempt; `nil` when three days are over by then.
    ///
    /// - Parameters:
    ///   - attempts: how many have failed, 1 or more.
    ///   - began: when the first one was made.
    ///   - asked: what the server's `Retry-After` says.
    ///   - chance: from 0 to 1: up to a tenth of the delay is added, so that many do not come
    ///     back at once.
    public static func next(
        after attempts: Int64, began: Instant, now: Instant, asked: String? = nil, chance: Double
    ) -> Instant? {
        let doublings = min(max(attempts - 1, 0), 20)
        var delay = min(first << doublings, longest)
        delay += Int64(Double(delay) * 0.1 * min(max(chance, 0), 1))
        if let seconds = asked.flatMap({ Int64($0) }), seconds > 0 {
            delay = max(delay, min(seconds, longestAsked) * 1_000)
        }
        let end = began.adding(days: patience)
        // What would come just after the end is tried at the end, once.
        let next = min(now.adding(milliseconds: delay), end)
        return next > now ? next : nil
    }
}
