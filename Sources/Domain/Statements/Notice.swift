/// What a notification says of itself, around the statements it carries.
///
/// - Source: Apple, `responseBodyV2DecodedPayload`.
public struct Notice: Sendable, Hashable {
    /// Apple's `notificationUUID`: the notification's identity within its environment.
    public var uuid: String
    /// Apple's `notificationType`, raw.
    public var type: String
    /// Apple's `subtype`, raw.
    public var subtype: String?
    /// When Apple signed it; the time of receipt when it does not say.
    public var signedAt: Instant
    /// The world it belongs to.
    public var environment: Environment
    /// The app's bundle id.
    public var bundle: String
    /// The line that it is about; `nil` for tests, summaries and tokens.
    public var original: String?
    /// The transaction that it carries.
    public var transaction: String?
    /// When the renewal info that it carries was signed.
    public var renewalSignedAt: Instant?
    /// The `renewalDate` of the renewal info that it carries.
    public var renewsAt: Instant?
    /// Apple's subscription status at signing, 1 to 5 or later ones.
    public var status: Int64?
    /// Apple's `consumptionRequestReason`.
    public var consumptionReason: String?
    /// Members of `summary` or `externalPurchaseToken` that name no person.
    public var details: JSON?
    /// Statements that it carries and that a lighter source had stated before: it lends them its
    /// weight (R3).
    public var repeats: [Fingerprint] = []
    /// Caveats: `unknown_type`, `clock_skew`, `no_signed_date`, `non_canonical`.
    public var flags: [String] = []

    /// A notice that says only what every one must.
    public init(
        uuid: String, type: String, signedAt: Instant, environment: Environment, bundle: String
    ) {
        self.uuid = uuid
        self.type = type
        self.signedAt = signedAt
        self.environment = environment
        self.bundle = bundle
    }

    /// The line's stream, or the app's stream for what belongs to no line.
    public var stream: StreamID {
        if let original {
            .line(environment, original)
        } else {
            .notices(environment, bundle: bundle)
        }
    }
}
