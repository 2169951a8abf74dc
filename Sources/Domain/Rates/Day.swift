/// A day of the UTC calendar.
public struct Day: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Days from 1970-01-01, possibly negative.
    public let number: Int64

    /// The day so many days after 1970-01-01.
    public init(_ number: Int64) { self.number = number }

    /// The day that an instant belongs to.
    public init(of instant: Instant) {
        let whole = instant.milliseconds / Instant.millisecondsPerDay
        number = whole - (instant.milliseconds % Instant.millisecondsPerDay < 0 ? 1 : 0)
    }

    /// The day of this date.
    ///
    /// - Shape: `nil` when the date does not exist.
    public init?(year: Int64, month: Int64, day: Int64) {
        guard let number = CivilDate.daysSince1970(year: year, month: month, day: day) else {
            return nil
        }
        self.number = number
    }

    /// The day that a text names.
    ///
    /// - Shape: `YYYY-MM-DD`; `nil` for anything else.
    public init?(_ text: String) {
        guard text.utf8.count == 10, let midnight = Instant(text) else { return nil }
        self.init(of: midnight)
    }

    /// Its midnight.
    public var start: Instant { Instant.epoch.adding(days: number) }

    /// The year it is in.
    public var year: Int64 { CivilDate.date(daysSince1970: number).year }

    /// So many days later.
    public func adding(_ days: Int64) -> Day { Day(number + days) }

    /// Whether the left day comes first.
    public static func < (left: Day, right: Day) -> Bool { left.number < right.number }

    /// The date as `YYYY-MM-DD`.
    public var description: String { String(start.description.prefix(10)) }
}

extension Instant {
    fileprivate static let epoch = Instant(milliseconds: 0)
}
