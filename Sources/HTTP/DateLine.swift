internal import Glibc

/// The `Date` field, made once a second.
struct DateLine {
    private var second = time_t(-1)
    private var line: [UInt8] = []

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The field's line for now, with its end.
    mutating func current() -> [UInt8] {
        let now = time(nil)
        if now != second {
            second = now
            line = Self.line(at: now)
        }
        return line
    }

    /// - Units: seconds since 1970.
    /// - Source: RFC 9110, 5.6.7, IMF-fixdate.
    static func line(at second: time_t) -> [UInt8] {
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let date =
            "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)])"
        let time = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        return Array("Date: \(date) \(Int(parts.tm_year) + 1_900) \(time) GMT\r\n".utf8)
    }
}
