extension Instant: CustomStringConvertible {
    /// The instant in UTC with three decimals, such as `2025-06-11T00:00:00.000Z`.
    ///
    /// - Source: RFC 3339.
    public var description: String {
        let days = milliseconds.flooredQuotient(Instant.millisecondsPerDay)
        let rest = milliseconds.flooredRemainder(Instant.millisecondsPerDay)
        let (year, month, day) = CivilDate.date(daysSince1970: days)
        guard (0...9_999).contains(year) else {
            let digits = String(year.magnitude)
            let zeros = String(repeating: "0", count: max(0, 4 - digits.count))
            return (year < 0 ? "-" : "") + zeros + digits
                + Instant.text(of: (0, month, day), rest).dropFirst(4)
        }
        return Instant.text(of: (year, month, day), rest)
    }

    private static func text(of date: (Int64, Int64, Int64), _ rest: Int64) -> String {
        let parts: [(Int64, Int, UInt8)] = [
            (date.0, 4, 0x2D), (date.1, 2, 0x2D), (date.2, 2, 0x54), (rest / 3_600_000, 2, 0x3A),
            (rest / 60_000 % 60, 2, 0x3A), (rest / 1000 % 60, 2, 0x2E), (rest % 1000, 3, 0x5A),
        ]
        return String(unsafeUninitializedCapacity: 24) { bytes in
            var place = 0
            for (value, width, mark) in parts {
                var left = value
                for digit in stride(from: width - 1, through: 0, by: -1) {
                    bytes[place + digit] = UInt8(0x30 + left % 10)
                    left /= 10
                }
                bytes[place + width] = mark
                place += width + 1
            }
            return place
        }
    }

    /// The instant that a text names.
    ///
    /// - Shape: RFC 3339 with `Z` or an offset, fractions cut to milliseconds; or a bare date,
    ///   which is its midnight in UTC. `nil` for anything else, and for days that do not exist.
    public init?(_ text: String) {
        var scanner = Scanner(text)
        guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2),
            scanner.take("-"), let day = scanner.number(2),
            let days = CivilDate.daysSince1970(year: year, month: month, day: day)
        else { return nil }
        let midnight = days * Instant.millisecondsPerDay
        if scanner.isAtEnd {
            self.init(milliseconds: midnight)
            return
        }
        guard scanner.take("T") || scanner.take("t") || scanner.take(" "),
            let hour = scanner.number(2), hour < 24, scanner.take(":"),
            let minute = scanner.number(2), minute < 60
        else { return nil }
        var second: Int64 = 0
        var fraction: Int64 = 0
        if scanner.take(":") {
            guard let found = scanner.number(2), found < 60 else { return nil }
            second = found
            if scanner.take(".") {
                guard let found = scanner.fraction() else { return nil }
                fraction = found
            }
        }
        guard let offset = scanner.offsetMinutes(), scanner.isAtEnd else { return nil }
        let ofDay = ((hour * 60 + minute - offset) * 60 + second) * 1000 + fraction
        self.init(milliseconds: midnight + ofDay)
    }
}

/// The proleptic Gregorian calendar, in whole days.
enum CivilDate {
    /// Year, month and day of a day counted from 1970-01-01.
    static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Counted from a 1 March, so that the leap day ends a year; eras have 400 years.
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    /// Days from 1970-01-01 to a date; `nil` when the date does not exist.
    static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64? {
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        let marchYear = month <= 2 ? year - 1 : year
        let era = marchYear.flooredQuotient(400)
        let yearOfEra = marchYear - era * 400
        let marchMonth = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return date(daysSince1970: days) == (year, month, day) ? days : nil
    }
}

extension Int64 {
    /// The quotient rounded towards negative infinity; the divisor is positive.
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }

    /// What the floored quotient leaves: never negative.
    fileprivate func flooredRemainder(_ divisor: Int64) -> Int64 {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}

/// Reads the parts of a date's text.
private struct Scanner {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Character) -> Bool {
        guard let first = rest.first, first == character.asciiValue else { return false }
        rest.removeFirst()
        return true
    }

    mutating func number(_ width: Int) -> Int64? {
        guard rest.count >= width else { return nil }
        var value: Int64 = 0
        for _ in 0..<width {
            guard let digit = rest.first, digit &- 0x30 < 10 else { return nil }
            value = value * 10 + Int64(digit - 0x30)
            rest.removeFirst()
        }
        return value
    }

    /// Milliseconds of a fraction of a second with one to nine digits.
    mutating func fraction() -> Int64? {
        var value: Int64 = 0
        var count = 0
        while let digit = rest.first, digit &- 0x30 < 10 {
            if count < 3 { value = value * 10 + Int64(digit - 0x30) }
            count += 1
            rest.removeFirst()
        }
        guard (1...9).contains(count) else { return nil }
        for _ in min(count, 3)..<3 { value *= 10 }
        return value
    }

    mutating func offsetMinutes() -> Int64? {
        if take("Z") || take("z") { return 0 }
        let sign: Int64
        if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
        guard let hours = number(2), hours < 24, take(":"), let minutes = number(2), minutes < 60
        else { return nil }
        return sign * (hours * 60 + minutes)
    }
}
