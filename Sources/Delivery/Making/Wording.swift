public import Domain

/// How outgoing events write what the other interfaces write, too.
public struct Wording: Sendable {
    let entry: @Sendable (Entry) -> JSON
    let entitlement: @Sendable (Entitlement) -> JSON

    /// The words of the interface.
    ///
    /// - Parameters:
    ///   - entry: an entry as an object.
    ///   - entitlement: a verdict as an object.
    public init(
        entry: @escaping @Sendable (Entry) -> JSON,
        entitlement: @escaping @Sendable (Entitlement) -> JSON
    ) {
        self.entry = entry
        self.entitlement = entitlement
    }
}
