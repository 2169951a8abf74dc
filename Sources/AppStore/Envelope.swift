import Domain

/// What a notification says around the signed texts that it carries.
///
/// - Source: Apple, `responseBodyV2DecodedPayload`.
struct Envelope {
    let uuid: String
    let type: String
    let subtype: String?
    let bundle: String?
    let appAppleId: Int64?
    let environment: Environment?
    let status: Int64?
    let consumptionReason: String?
    let details: JSON?
    /// The signed transaction, as text.
    let transaction: String?
    /// The signed renewal info, as text.
    let renewal: String?
    /// The signed app transaction, as text.
    let appTransaction: String?

    /// Reads a payload, of whichever of Apple's four kinds.
    init(_ payload: JSON?) throws(Hold) {
        let reading = try Reading(payload)
        uuid = try reading.required("notificationUUID")
        type = try reading.required("notificationType")
        subtype = try reading.text("subtype")
        let data = try reading.object("data")
        let summary = try reading.object("summary")
        let token = try reading.object("externalPurchaseToken")
        let appData = try reading.object("appData")
        guard let body = data ?? summary ?? token ?? appData else {
            throw Hold(.unparsable, "none of data, summary, externalPurchaseToken, appData")
        }
        bundle = try body.identifier("bundleId")
        appAppleId = try body.integer("appAppleId")
        status = try data?.integer("status")
        consumptionReason = try data?.text("consumptionRequestReason")
        transaction = try data?.text("signedTransactionInfo")
        renewal = try data?.text("signedRenewalInfo")
        appTransaction = try appData?.text("signedAppTransactionInfo")
        var environment = try body.identifier("environment").map(Environment.init)
        if let token, data == nil, summary == nil {
            let id = try token.required("externalPurchaseId")
            environment = id.hasPrefix("SANDBOX") ? .sandbox : .production
        }
        self.environment = environment
        details =
            summary?.excerpt([
                "requestIdentifier", "productId", "storefrontCountryCodes", "succeededCount",
                "failedCount",
            ])
            // The token's id stands for a customer, so it stays in the evidence.
            ?? token?.excerpt(["tokenCreationDate", "tokenType", "tokenExpirationDate"])
    }

    /// Whether the type is one that Apple has documented.
    var isKnownType: Bool { Envelope.knownTypes.contains(type) }

    /// Every type that Apple has documented; MIGRATE is how a changelog spells one of them.
    static let knownTypes: Set<String> = [
        "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS",
        "DID_FAIL_TO_RENEW", "DID_RENEW", "EXPIRED", "EXTERNAL_PURCHASE_TOKEN",
        "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATE", "MIGRATION", "OFFER_REDEEMED",
        "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED",
        "REFUND_REVERSED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT", "REVOKE",
        "SUBSCRIBED", "TEST",
    ]
}
