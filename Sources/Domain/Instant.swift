/// A moment in the world, to the millisecond.
///
/// - Units: milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
public struct Instant: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970, possibly negative.
    public let milliseconds: Int64

    /// The instant so many milliseconds after 1970 began.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public static func < (left: Instant, right: Instant) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
