import Synchronization

/// Turns how many there are by now into how many more there are.
final class Counted: Sendable {
    private let last = Mutex<Int64>(0)

    /// How many more than the last time; never negative.
    func news(_ count: Int64) -> Int64 {
        last.withLock { last in
            let more = max(0, count - last)
            last += more
            return more
        }
    }
}
