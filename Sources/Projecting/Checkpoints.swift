public import Domain
import Synchronization

/// How far the live projections of this daemon are, for whoever must not run ahead of them.
public final class Checkpoints: Sendable {
    private let places = Mutex<[String: Position]>([:])

    /// No projection has said how far it is.
    public init() {}

    /// The position that all projections have reached; `nil` until one has said so.
    public var lowest: Position? { places.withLock { $0.values.min() } }

    func note(_ projection: String, at position: Position) {
        places.withLock { $0[projection] = position }
    }
}
