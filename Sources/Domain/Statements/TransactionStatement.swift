/// What one signed copy of a transaction says.
///
/// Members that the copy does not carry are `nil`; enumerations keep their raw value.
/// - Source: Apple, `JWSTransactionDecodedPayload`; names are ours where Apple's mislead.
public struct TransactionStatement: Sendable, Hashable {
    /// This transaction; several may stand for one period.
    public var transaction: String
    /// The line: the chain's first transaction.
    public var original: String
    /// The app's bundle id.
    public var bundle: String
    /// The product as App Store Connect names it.
    public var product: String
    /// When it was charged; the start of the period.
    public var purchasedAt: Instant
    /// When Apple signed this copy; the time of receipt when it does not say.
    public var signedAt: Instant
    /// The world it belongs to, always known once believed.
    public var environment: Environment
    /// One paid period, the same on all devices and copies.
    public var webOrderLineItem: String?
    /// The subscription group.
    public var group: String?
    /// The purchase date of the line's first transaction.
    public var originallyPurchasedAt: Instant?
    /// The end of the period that was paid.
    public var expiresAt: Instant?
    /// Above 1 for consumables and seats only.
    public var quantity: Int64?
    /// The seats that it bought.
    public var seats: SeatStatement?
    /// SEAT_ADDITION when seats were added during the period, raw.
    public var additionalReason: String?
    /// Apple's product type, raw.
    public var type: String?
    /// PURCHASED, FAMILY_SHARED, ASSIGNED or a value not known yet.
    public var ownership: String?
    /// Whose purchase it is: the number that stands for the account token.
    public var token: CustomerNumber?
    /// The account token itself, until the edge has replaced it by its number; never recorded.
    public var appAccountToken: String?
    /// When access was taken back.
    public var revokedAt: Instant?
    /// Apple's reason, raw.
    public var revocationReason: Int64?
    /// REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE, …, raw.
    public var revocationType: String?
    /// The refunded share. Units: thousandths of a percent; 100000 is all.
    public var revocationPercentage: Int64?
    /// Whether the customer moved to another product before the period ended.
    public var isUpgraded: Bool?
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back, or later ones.
    public var offerType: Int64?
    /// The offer's name.
    public var offerIdentifier: String?
    /// FREE_TRIAL, PAY_AS_YOU_GO, PAY_UP_FRONT, ONE_TIME, raw.
    public var offerDiscountType: String?
    /// ISO 8601 duration of the offer.
    public var offerPeriod: String?
    /// Country of the store account, ISO 3166-1 alpha-3.
    public var storefront: String?
    /// PURCHASE or RENEWAL.
    public var reason: String?
    /// What the customer paid; for one seat on average, where seats were bought.
    ///
    /// - Units: milliunits of `currency`; 0 in a free trial.
    public var priceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String?
    /// BILLED_UPFRONT or MONTHLY.
    public var billingPlan: String?
    /// The end of a commitment that is paid monthly.
    public var commitmentExpiresAt: Instant?
    /// Which payment of the commitment this is, from 1.
    public var billingPeriodNumber: Int64?
    /// How many payments the commitment has.
    public var totalBillingPeriods: Int64?
    /// What Apple says of a purchase whose items the developer names, as signed.
    public var advancedCommerce: JSON?
    /// The chain that this one continues.
    public var previousOriginal: String?
    /// Whether what the copy leaves out of revocation and upgrade is left open, not denied: a row
    /// of the receipt that the app sent says what was true when the receipt was made.
    public var isPartial = false
    /// Caveats of this copy: `clock_skew`, `no_signed_date`, `non_canonical`.
    public var flags: [String] = []

    /// A copy that says only what every copy must.
    public init(
        transaction: String, original: String, bundle: String, product: String,
        purchasedAt: Instant, signedAt: Instant, environment: Environment
    ) {
        self.transaction = transaction
        self.original = original
        self.bundle = bundle
        self.product = product
        self.purchasedAt = purchasedAt
        self.signedAt = signedAt
        self.environment = environment
    }

    /// The stream of its line.
    public var stream: StreamID { .line(environment, original) }
}
