import Foundation

/// A small generator whose seed tells the whole sequence.
///
/// - Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The sequence of a seed.
    public init(seed: UInt64) { state = seed }

    /// The next number of the sequence.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True once in so many times.
    public mutating func once(in times: Int) -> Bool { below(times) == 0 }

    /// A number from 0 up to a small bound, which it does not reach.
    public mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

/// How many random cases a test tries: few at the gate, many when `SUBLEDGER_TEST_LONG` is set.
public func cases(_ few: Int, long many: Int) -> Int {
    ProcessInfo.processInfo.environment["SUBLEDGER_TEST_LONG"] == nil ? few : many
}
