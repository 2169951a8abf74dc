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

    /// Before every other instant: for what holds always.
    public static let distantPast = Instant(milliseconds: .min)
    /// After every other instant: for what has no end.
    public static let distantFuture = Instant(milliseconds: .max)
    /// The latest instant that a statement may name, 9999-12-31T23:59:59.999Z.
    public static let latestStated = Instant(milliseconds: 253_402_300_799_999)

    /// Milliseconds in a day of 24 hours.
    public static let millisecondsPerDay: Int64 = 86_400_000

    /// Whether the left instant comes first.
    public static func < (left: Instant, right: Instant) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// This instant moved by so many milliseconds, held within what can be represented.
    public func adding(milliseconds more: Int64) -> Instant {
        let (sum, over) = milliseconds.addingReportingOverflow(more)
        if over { return more > 0 ? .distantFuture : .distantPast }
        return Instant(milliseconds: sum)
    }

    /// This instant moved by so many days of 24 hours.
    public func adding(days: Int64) -> Instant {
        let (product, over) = days.multipliedReportingOverflow(by: Instant.millisecondsPerDay)
        return adding(milliseconds: over ? (days > 0 ? .max : .min) : product)
    }
}
