import Domain

/// When a question that got no usable answer is asked again, and when no more.
///
/// The pauses double from `first` to `longest`; each is drawn evenly from nothing to its full
/// length, so that many who failed together do not come back together.
public struct Patience: Sendable, Hashable {
    /// The most times that a question is asked, the first included.
    public var attempts: Int
    /// The longest that the first pause may be.
    public var first: Duration
    /// The longest that any drawn pause may be.
    public var longest: Duration
    /// The time from the first question in which the last one must begin.
    public var total: Duration

    /// Patience of these limits.
    public init(attempts: Int, first: Duration, longest: Duration, total: Duration) {
        precondition(attempts > 0, "who is never asked cannot answer")
        precondition(first > .zero && longest >= first, "pauses grow from something")
        self.attempts = attempts
        self.first = first
        self.longest = longest
        self.total = total
    }

    /// How long to wait before the next attempt; `nil`: there is none.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt that failed, from 1.
    ///   - start: when the first one began.
    ///   - until: when the other end wants to be asked again; one that is past is no wish.
    ///   - chance: a random number from 0 to 1.
    /// - Shape: never ends before `until`; `nil` when it would end after the time is over.
    public func pause(
        after attempt: Int, since start: Instant, now: Instant, until: Instant? = nil,
        chance: Double
    ) -> Duration? {
        precondition(attempt > 0, "attempts are counted from 1")
        guard attempt < attempts else { return nil }
        let chance = min(max(chance, 0), 1)
        var pause = ceiling(after: attempt) * chance
        if let until, until > now {
            // A little later than wished, each by another bit, so that not all come at once.
            pause = .milliseconds(until.milliseconds - now.milliseconds) + first * chance
        }
        let spent = Duration.milliseconds(max(0, now.milliseconds - start.milliseconds))
        return spent + pause <= total ? pause : nil
    }

    /// The longest pause that may follow an attempt.
    func ceiling(after attempt: Int) -> Duration {
        var ceiling = first
        for _ in 1..<attempt where ceiling < longest { ceiling = min(ceiling * 2, longest) }
        return ceiling
    }
}
