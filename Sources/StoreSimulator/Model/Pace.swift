import Domain

/// A length of time as ISO 8601 writes it: months, days and a rest.
struct Span: Sendable, Hashable {
    var months: Int64 = 0
    var days: Int64 = 0
    var milliseconds: Int64 = 0

    /// Reads `P1M`, `P2W`, `P1M10D`, `PT12H`.
    init?(_ text: String) {
        var rest = text[...]
        guard rest.popFirst() == "P", !rest.isEmpty else { return nil }
        var inTime = false
        while !rest.isEmpty {
            if rest.first == "T" {
                rest.removeFirst()
                inTime = true
            }
            let digits = rest.prefix { $0.isNumber }
            guard let number = Int64(digits), number <= 100_000 else { return nil }
            rest = rest.dropFirst(digits.count)
            switch (rest.popFirst(), inTime) {
            case ("Y", false): months += 12 * number
            case ("M", false): months += number
            case ("W", false): days += 7 * number
            case ("D", false): days += number
            case ("H", true): milliseconds += number * 3_600_000
            case ("M", true): milliseconds += number * 60_000
            case ("S", true): milliseconds += number * 1_000
            default: return nil
            }
        }
    }

    /// So many days of 24 hours.
    static func days(_ days: Int64) -> Span {
        var span = Span()
        span.days = days
        return span
    }

    private init() {}
}

/// How long plans last: as in life, or shorter, as in Apple's Sandbox.
struct Pace: Sendable, Hashable {
    /// How long a month lasts where time is short; `nil` is as in life. Units: milliseconds.
    var month: Int64?

    /// The calendar of life.
    static let life = Pace(month: nil)

    /// An instant moved on by a span.
    ///
    /// - Parameter anchorDay: the day of the month that months aim at, clamped to the month's last.
    func adding(_ span: Span, to instant: Instant, anchorDay: Int? = nil) -> Instant {
        if let month {
            // A day is a thirtieth of a month, and the rest shrinks alike.
            let days = span.days * month / 30
            let rest = Double(span.milliseconds) * Double(month) / (30 * 86_400_000)
            return instant.adding(milliseconds: span.months * month + days + Int64(rest))
        }
        var moved = instant
        if span.months > 0 { moved = Self.adding(months: span.months, to: moved, anchorDay) }
        return moved.adding(days: span.days).adding(milliseconds: span.milliseconds)
    }

    /// How long so many days last. Units: milliseconds.
    func duration(days: Int64) -> Int64 {
        month.map { days * $0 / 30 } ?? days * Instant.millisecondsPerDay
    }

    /// The day of the month.
    static func day(of instant: Instant) -> Int {
        Int(instant.description.dropFirst(8).prefix(2)) ?? 1
    }

    private static func adding(months: Int64, to instant: Instant, _ anchorDay: Int?) -> Instant {
        let text = instant.description
        guard let year = Int64(text.prefix(4)), let month = Int64(text.dropFirst(5).prefix(2))
        else { return instant }
        let count = year * 12 + month - 1 + months
        let wanted = anchorDay ?? day(of: instant)
        // The last day of a month is found by asking which exist.
        for day in stride(from: wanted, through: max(1, wanted - 3), by: -1) {
            let date =
                "\(padded(count / 12, 4))-\(padded(count % 12 + 1, 2))-\(padded(Int64(day), 2))"
            if let found = Instant(date + text.dropFirst(10)) { return found }
        }
        return instant
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
