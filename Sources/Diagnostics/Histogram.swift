import Synchronization

/// How values are spread over fixed buckets.
public final class Histogram: Sendable {
    /// Bounds for how long a request or a statement takes: 0.5 ms to 10 s.
    ///
    /// - Units: seconds.
    public static let latencySeconds: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    /// Bounds for how many things one step handled: 1 to 10,000.
    public static let counts: [Double] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000,
    ]

    /// What was observed so far.
    struct Snapshot: Sendable, Equatable {
        /// How many values fell into each bucket alone, the last one without bound.
        var counts: [Int]
        var sum: Double
    }

    let buckets: [Double]
    private let state: Mutex<Snapshot>

    init(buckets: [Double]) {
        precondition(
            zip(buckets, buckets.dropFirst()).allSatisfy { $0 < $1 }, "bounds of buckets rise")
        self.buckets = buckets
        state = Mutex(Snapshot(counts: Array(repeating: 0, count: buckets.count + 1), sum: 0))
    }

    /// Counts one value.
    public func observe(_ value: Double) {
        let index = buckets.firstIndex { value <= $0 } ?? buckets.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    /// Counts one span of time, in seconds.
    public func observe(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        observe(Double(seconds) + Double(attoseconds) / 1e18)
    }

    var snapshot: Snapshot { state.withLock { $0 } }
}
