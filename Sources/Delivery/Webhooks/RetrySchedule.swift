public import Domain

/// When a delivery is tried again, and when it is given up.
public enum RetrySchedule {
    /// The first delay; each one after it is twice as long. Units: milliseconds.
    private static let first: Int64 = 5_000
    /// No delay is longer. Units: milliseconds.
    private static let longest: Int64 = 6 * 3_600_000
    /// How long a delivery is tried. Units: days.
    private static let patience: Int64 = 3
    /// The longest wait that a server may ask for. Units: milliseconds.
    private static let longestAsked: Int64 = 3_600_000

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
        if let wait = asked.flatMap({ RetrySchedule.wait($0, now: now) }) {
            delay = max(delay, min(wait, longestAsked))
        }
        let end = began.adding(days: patience)
        // What would come just after the end is tried at the end, once.
        let next = min(now.adding(milliseconds: delay), end)
        return next > now ? next : nil
    }

    /// How long a `Retry-After` asks to wait. Units: milliseconds.
    ///
    /// - Source: RFC 9110: seconds, or a date such as `Wed, 21 Oct 2026 07:28:00 GMT`.
    private static func wait(_ field: String, now: Instant) -> Int64? {
        if let seconds = Int64(field) {
            return seconds.multipliedReportingOverflow(by: 1_000).overflow
                ? longestAsked : seconds * 1_000
        }
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let parts = field.split(separator: " ").map(String.init)
        guard parts.count == 6, let month = months.firstIndex(of: parts[2]) else { return nil }
        let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        let date = Instant("\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
        return date.map { $0.milliseconds - now.milliseconds }
    }
}
