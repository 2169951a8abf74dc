import Glibc

/// When a log line was written.
///
/// - Units: seconds and milliseconds since 1970-01-01T00:00:00Z.
public struct WallTime: Sendable, Equatable {
    /// Whole seconds since 1970.
    public var seconds: Int64
    /// Milliseconds beyond them, 0 to 999.
    public var milliseconds: Int

    /// The time so many seconds and milliseconds after 1970 began.
    public init(seconds: Int64, milliseconds: Int) {
        self.seconds = seconds
        self.milliseconds = milliseconds
    }

    /// The time by the machine's clock.
    @Sendable public static func now() -> WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: Int64(time.tv_sec), milliseconds: Int(time.tv_nsec) / 1_000_000)
    }

    /// RFC 3339 in UTC, with three decimals.
    public var text: String {
        var whole = time_t(seconds)
        var parts = tm()
        gmtime_r(&whole, &parts)
        let date = [
            padded(Int(parts.tm_year) + 1900, 4), padded(Int(parts.tm_mon) + 1, 2),
            padded(Int(parts.tm_mday), 2),
        ].joined(separator: "-")
        let time = [Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec)]
            .map { padded($0, 2) }.joined(separator: ":")
        return "\(date)T\(time).\(padded(milliseconds, 3))Z"
    }

    private func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
