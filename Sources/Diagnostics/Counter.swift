import Synchronization

/// A number that only grows.
public final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    init() {}

    /// Adds so many, none or more.
    public func add(_ number: Int = 1) {
        precondition(number >= 0, "a counter never falls")
        count.wrappingAdd(number, ordering: .relaxed)
    }

    /// What was added since the process started.
    public var value: Int { count.load(ordering: .relaxed) }
}
