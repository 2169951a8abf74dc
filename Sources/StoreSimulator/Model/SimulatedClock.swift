import Domain
import Glibc

/// The store's clock: runs faster than life until it is level with it, for nothing is signed in the
/// future.
struct SimulatedClock: Sendable {
    /// Simulated seconds per real second.
    var factor: Double
    /// Where the clock stops, if anywhere.
    var end: Instant?
    private var base: Instant
    private var realBase: Int64

    /// A clock that begins at an instant; at the real one when none is given.
    init(start: Instant?, factor: Double, end: Instant? = nil) {
        let real = Self.real
        self.factor = factor
        self.end = end
        base = start ?? real
        realBase = real.milliseconds
    }

    /// The time in the store.
    var now: Instant {
        let real = Self.real
        let elapsed = Double(max(0, real.milliseconds - realBase))
        let ahead = base.adding(milliseconds: Int64(min(elapsed * factor, 4e15)))
        // A clock that was put ahead of life waits there until life has caught up.
        return max(base, min(ahead, real, end ?? .distantFuture))
    }

    /// Goes on from an instant.
    mutating func jump(to instant: Instant) {
        base = instant
        realBase = Self.real.milliseconds
    }

    /// Goes on at another speed.
    mutating func run(at factor: Double) {
        jump(to: now)
        self.factor = factor
    }

    /// How long from now until an instant. Units: real milliseconds.
    func wait(until instant: Instant) -> Int64 {
        let left = Double(instant.milliseconds - now.milliseconds)
        return Int64(max(0, min(left / max(factor, 0.001), 1e9)))
    }

    /// This machine's clock.
    static var real: Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
