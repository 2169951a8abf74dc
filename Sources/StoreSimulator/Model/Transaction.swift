import Domain

/// One of Apple's transactions, with what the store itself knows of it.
struct Transaction: Sendable {
    let id: String
    let chain: Int
    let person: Int
    let webOrderLineItem: String?
    let order: String
    let product: Product
    let purchasedAt: Instant
    let originallyPurchasedAt: Instant
    var expiresAt: Instant?
    var quantity: Int64 = 1
    var token: String?
    var ownership = "PURCHASED"
    let reason: String
    var price: Int64
    var offer: Offer?
    var revocation: Revocation?
    var isUpgraded = false
    /// Where the access that it gives ends, by the store's own account.
    var accessUntil: Instant
    /// What `accessUntil` was before it was revoked.
    var accessBefore: Instant?
    /// The number of its latest change among all changes.
    var modification: Int64 = 0
}

/// Money back, or access taken back.
struct Revocation: Sendable {
    var at: Instant
    var reason: Int64
    /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
    var type: String
    /// In thousandths of a percent; for refunds only.
    var percentage: Int64?
}

/// An offer as a transaction names it.
struct Offer: Sendable {
    var type: Int64
    var identifier: String?
    var discount: String
    var period: String?
}
