import Domain

/// The app whose purchases are simulated.
struct StoreApp: Sendable {
    var bundleId = "com.example.app"
    var appAppleId: Int64 = 1_000_000_001
    /// What verifyReceipt wants as password; `nil` accepts any.
    var sharedSecret: String?
    /// How long access goes on after a failed renewal; 0 is no grace.
    var graceDays: Int64 = 16
}

/// Something that can be bought.
struct Product: Sendable {
    /// What kind it is, as the daemon's catalogue spells it.
    enum Kind: String, Sendable, CaseIterable {
        case autoRenewable, nonRenewing, consumable, nonConsumable

        /// As transactions spell it.
        var signed: String {
            switch self {
            case .autoRenewable: "Auto-Renewable Subscription"
            case .nonRenewing: "Non-Renewing Subscription"
            case .consumable: "Consumable"
            case .nonConsumable: "Non-Consumable"
            }
        }

        /// As the history's filter spells it.
        var filter: String {
            switch self {
            case .autoRenewable: "AUTO_RENEWABLE"
            case .nonRenewing: "NON_RENEWABLE"
            case .consumable: "CONSUMABLE"
            case .nonConsumable: "NON_CONSUMABLE"
            }
        }
    }

    var id: String
    var kind: Kind
    var group: String?
    /// 1 is the highest.
    var level: Int64 = 1
    var plan: Span?
    /// In milliunits of the customer's currency.
    var price: Int64 = 9_990
    /// The free trial of first buyers, as ISO 8601 writes it.
    var trial: String?
    /// How long a pass gives access.
    var accessDays: Int64?
    var entitlements: [String] = []

    /// Whether a plan is at most a week long, which has a shorter grace.
    var isWeekly: Bool { plan.map { $0.months == 0 && $0.days <= 7 } ?? false }
}

/// Somebody with an account at the store.
struct Person: Sendable {
    let id: String
    /// What the app passes along at purchases: `appAccountToken`.
    let token: String
    let appTransactionId: String
    let environment: Environment
    var storefront = "USA"
    var storefrontId = "143441"
    var currency = "USD"
    /// Whether purchases carry the token.
    var showsToken = true
    /// Whether the bank pays.
    var cardWorks = true
    var isDeleted = false
    /// The groups in which a trial was had.
    var triedGroups: Set<String> = []
    /// By their place among all chains.
    var chains: [Int] = []
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
