import Domain
import Ledger

/// Makes the proposal that replaces the catalogue.
enum CatalogCommand {
    /// The proposal that makes these products the whole set from an instant on.
    ///
    /// - Parameter validFrom: `nil`: from now on, but always for products that no catalogue has
    ///   named yet.
    static func replace(_ products: [String: Product], validFrom: Instant?, now: Instant)
        -> Proposal
    {
        Proposal(streams: { _ in [.settings] }) { known in
            let latest = known.settings.latestCatalog
            let isSame =
                latest?.products == products
                && (validFrom == nil || validFrom == latest?.validFrom)
            guard !isSame else { return .append([]) }
            let unnamed = products.keys.filter { !known.settings.hasNamed($0) }.sorted()
            let change = CatalogChange(
                products: products, validFrom: validFrom ?? now,
                alwaysFor: validFrom == nil ? unnamed : [])
            return .append([
                Event(
                    kind: .catalogChanged, stream: .settings,
                    key: "catalog/\(known.settings.revision + 1)", occurredAt: validFrom ?? now,
                    observedAt: now, source: .command, content: .catalog(change))
            ])
        }
    }
}
