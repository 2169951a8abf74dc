/// So many beginnings a second, and a few at once after a rest.
///
/// - Shape: pure; the time is given, on any clock that never goes back.
public struct Pace: Sendable, Hashable {
    /// The time between two beginnings.
    public let interval: Duration
    /// How much earlier than its turn one may begin after a rest.
    private let ahead: Duration
    /// When the next one would begin if all came evenly.
    private var next = Duration.zero

    /// A pace of so many a second, as many of them at once after a rest.
    public init(perSecond rate: Double, atOnce burst: Int) {
        precondition(rate > 0 && burst > 0, "a pace lets somebody begin")
        interval = .seconds(1 / rate)
        ahead = interval * (burst - 1)
    }

    /// Takes the next turn; how long to wait for it.
    public mutating func turn(at now: Duration) -> Duration {
        let begin = max(now, next - ahead)
        next = max(next, begin) + interval
        return begin - now
    }
}
