import Domain

/// The instants that cut time into the buckets of a question, in order.
struct Thresholds {
    let instants: [Int64]

    /// The instants at which states are asked for; `nil` unless they are in order.
    init?(statesOf buckets: [MetricQuestion.Bucket]) {
        self.init(buckets.map(\.window.lowerBound.milliseconds))
    }

    /// The ends of windows; `nil` unless each begins where the one before it ends.
    init?(windowsOf buckets: [MetricQuestion.Bucket]) {
        guard let first = buckets.first else { return nil }
        for (left, right) in zip(buckets, buckets.dropFirst())
        where left.window.upperBound != right.window.lowerBound { return nil }
        self.init(
            [first.window.lowerBound.milliseconds] + buckets.map(\.window.upperBound.milliseconds))
    }

    private init?(_ instants: [Int64]) {
        // Rows hold nothing beyond this, and SQL counts from it.
        guard let first = instants.first, let last = instants.last, first > -(1 << 60),
            last < 1 << 60, zip(instants, instants.dropFirst()).allSatisfy({ $0 < $1 })
        else { return nil }
        self.instants = instants
    }
}
