import Domain
import Glibc

/// This machine's clock: the one place where the time comes from.
enum SystemClock {
    /// The time now, to the millisecond.
    static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
