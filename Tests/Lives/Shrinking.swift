import Domain

/// The part of a list that is left when nothing more can be left out of it while it fails.
///
/// Halves are left out first, then ever smaller parts, at last one thing at a time.
/// - Shape: in the order of the list; the list itself when every part of it holds.
public func shrunk<Thing>(_ things: [Thing], whileFails fails: ([Thing]) -> Bool) -> [Thing] {
    var left = things
    var size = max(left.count / 2, 1)
    while !left.isEmpty {
        let before = left.count
        var start = 0
        while start < left.count {
            var fewer = left
            fewer.removeSubrange(start..<min(start + size, left.count))
            if fails(fewer) { left = fewer } else { start += size }
        }
        if size == 1, left.count == before { break }
        size = max(size / 2, 1)
    }
    return left
}

/// What must be true of every life, with random choices of its own.
public typealias Law = ([Observation], inout SplitMix64) -> Bool

/// The lives for which a law does not hold, and what is left of the first one.
public struct Broken: CustomStringConvertible {
    /// Their seeds.
    public let seeds: [UInt64]
    /// The smallest part of the first one's observations for which the law does not hold either.
    public let smallest: [Observation]

    /// How often a shrunk list is tried, since its random choices are others than the whole one's.
    private static let tries: UInt64 = 20

    /// Tries a law on the lives of the first so many seeds; `nil` when it holds for all of them.
    public init?(_ count: Int, _ law: Law) {
        func holds(_ observations: [Observation], _ seed: UInt64) -> Bool {
            var random = SplitMix64(seed: ~seed)
            return law(observations, &random)
        }
        let seeds = (0..<UInt64(count)).filter {
            !holds(RandomLife(seed: $0).observations, $0)
        }
        guard let first = seeds.first else { return nil }
        self.seeds = seeds
        smallest = shrunk(RandomLife(seed: first).observations) { fewer in
            (0..<Broken.tries).contains { !holds(fewer, first &+ $0) }
        }
    }

    /// The seeds and the smallest list, an observation a line.
    public var description: String {
        let shown = seeds.prefix(20).map(String.init).joined(separator: ", ")
        return "broken by \(seeds.count) seeds (\(shown)); seed \(seeds[0]) comes down to\n"
            + smallest.map { "  \($0.told)" }.joined(separator: "\n")
    }
}

extension Observation {
    /// The observation in one line, each part as the record would hold it.
    public var told: String {
        func part(_ content: Event.Content, _ fingerprint: Fingerprint? = nil) -> String {
            (fingerprint.map { "\($0.hex.prefix(8)) " } ?? "")
                + String(decoding: content.body.canonicalBytes(), as: UTF8.self)
        }
        let parts = [
            notice.map { part(.notice($0)) },
            transaction.map { part(.transaction($0.content), $0.fingerprint) },
            renewal.map { part(.renewal($0.content), $0.fingerprint) },
        ]
        return "\(source.rawValue): " + parts.compactMap(\.self).joined(separator: " ")
    }
}
