import Synchronization

/// A number that rises and falls.
public final class Gauge: Sendable {
    /// The bit pattern of a `Double`, since that is what can be swapped atomically.
    private let bits = Atomic<UInt64>(0)

    init() {}

    /// Replaces the value.
    public func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    /// Adds to the value; a negative number takes away.
    public func add(_ number: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let next = (Double(bitPattern: old) + number).bitPattern
            let (exchanged, original) = bits.weakCompareExchange(
                expected: old, desired: next, ordering: .relaxed)
            if exchanged { return }
            old = original
        }
    }

    /// The value as it is now.
    public var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
}
