/// What one signed copy of a line's renewal info says.
///
/// - Source: Apple, `JWSRenewalInfoDecodedPayload`.
public struct RenewalStatement: Sendable, Hashable {
    /// The line.
    public var original: String
    /// When Apple signed this copy; the time of receipt when it does not say.
    public var signedAt: Instant
    /// The world it belongs to.
    public var environment: Environment
    /// The product of the latest period.
    public var product: String?
    /// The product that will renew.
    public var renewsProduct: String?
    /// Whether it is set to renew.
    public var willRenew: Bool?
    /// Why it ended: 1 customer, 2 billing, 3 price consent, 4 product gone, 5 other, or later ones.
    public var expirationIntent: Int64?
    /// Whether Apple is still trying to collect.
    public var isInBillingRetry: Bool?
    /// The end of grace.
    public var graceExpiresAt: Instant?
    /// 0 asked and not answered, 1 consented or merely informed.
    public var priceIncreaseStatus: Int64?
    /// The next renewal's offer type.
    public var offerType: Int64?
    /// The next renewal's offer.
    public var offerIdentifier: String?
    /// The end of the latest period, extensions included.
    public var renewsAt: Instant?
    /// The next renewal's price. Units: milliunits of `currency`.
    public var renewalPriceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String?
    /// The start of the latest run that ignores short gaps.
    public var recentStartAt: Instant?
    /// How many seats will renew.
    public var renewalQuantity: Int64?
    /// The plan of the next renewal.
    public var renewalBillingPlan: String?
    /// Whether the commitment as a whole will renew.
    public var commitmentWillRenew: Bool?
    /// The product as which the commitment will renew.
    public var commitmentRenewsProduct: String?
    /// When the commitment renews.
    public var commitmentRenewsAt: Instant?
    /// What Apple says of a subscription whose items the developer names, as signed.
    public var advancedCommerce: JSON?
    /// The token that the next renewal will carry, as its number.
    public var token: CustomerNumber?
    /// The token itself, until the edge has replaced it by its number; never recorded.
    public var appAccountToken: String?
    /// Caveats of this copy.
    public var flags: [String] = []

    /// A copy that says only what every copy must.
    public init(original: String, signedAt: Instant, environment: Environment) {
        self.original = original
        self.signedAt = signedAt
        self.environment = environment
    }

    /// The stream of its line.
    public var stream: StreamID { .line(environment, original) }
}
