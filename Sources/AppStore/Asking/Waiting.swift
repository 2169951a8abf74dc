import Domain

/// What asking needs of the world: the time, chance, and to wait.
public struct Waiting: Sendable {
    /// The time now.
    public var now: @Sendable () -> Instant
    /// A random number from 0 to 1.
    public var chance: @Sendable () -> Double
    /// Waits; ends early when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws(CancellationError) -> Void

    /// A world of these.
    public init(
        now: @escaping @Sendable () -> Instant, chance: @escaping @Sendable () -> Double,
        sleep: @escaping @Sendable (Duration) async throws(CancellationError) -> Void
    ) {
        self.now = now
        self.chance = chance
        self.sleep = sleep
    }
}
