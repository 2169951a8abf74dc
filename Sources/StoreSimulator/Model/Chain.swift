import Domain

/// One chain of purchases: an original transaction and what followed from it.
struct Chain: Sendable {
    /// The original transaction's id.
    let id: String
    let person: Int
    let group: String?
    /// By their place among all transactions, in the order of purchase.
    var transactions: [Int] = []
    var autoRenews = true
    var nextProduct: String
    var expirationIntent: Int64?
    /// Whether the store tries to collect; `nil` where renewal info does not say.
    var isInRetry: Bool?
    var graceUntil: Instant?
    /// When access by grace began and ended, by the store's own account.
    var graces: [(from: Instant, until: Instant)] = []
    var priceIncrease: PriceIncrease?
    /// Where the current period ends, extensions included.
    var renewsAt: Instant
    /// When the latest run of periods began.
    var runBegan: Instant
    var anchorDay: Int
    /// Whether nothing happens by itself any more.
    var isOver = false
    /// Raised whenever what was planned for the chain is void.
    var epoch = 0
    /// The chains of family members that follow this one.
    var members: [Int] = []
    /// The chain that this one follows, of a family member.
    var sharedFrom: Int?
    var extensions: [Instant] = []
    /// The token that was set for what follows.
    var token: String?
    /// When something about it was last signed.
    var stamp = Instant(milliseconds: 0)

    /// Consent to a higher price.
    struct PriceIncrease: Sendable {
        var price: Int64
        var hasConsent: Bool
        var needsConsent: Bool
    }
}
