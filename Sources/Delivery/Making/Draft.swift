import Domain

/// An outgoing event that has no number yet.
struct Draft: Sendable {
    var position: Position
    var kind: Kind
    var stream: StreamID
    var environment: Environment?
    /// Whose entitlements it tells.
    var customer: CustomerNumber?
    /// Whom the thing went to, or came from.
    var counterpart: CustomerNumber?
    /// Whether it came from there.
    var isGain = false
    var occurredAt: Instant
    /// Whether time alone made it.
    var isTimed = false
    /// As the interface writes it, without number and names.
    var body: JSON
}
