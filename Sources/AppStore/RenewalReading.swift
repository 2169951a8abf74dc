import Domain

extension Draft<RenewalStatement> {
    /// Reads the payload of a signed renewal info.
    ///
    /// - Source: Apple, `JWSRenewalInfoDecodedPayload`.
    init(renewal jws: VerifiedJWS, fallbackSignedAt: Instant) throws(Hold) {
        let reading = try Reading(jws.json)
        let original = try reading.required("originalTransactionId")
        signedAt = try reading.instant("signedDate")
        environment = try reading.identifier("environment").map(Environment.init)
        var statement = RenewalStatement(
            original: original, signedAt: signedAt ?? fallbackSignedAt,
            environment: environment ?? Environment(""))
        try Self.readIntent(reading, into: &statement)
        try Self.readNextPeriod(reading, into: &statement)
        content = statement
        dates = [
            ("gracePeriodExpiresDate", statement.graceExpiresAt),
            ("renewalDate", statement.renewsAt), ("signedDate", statement.signedAt),
        ]
        fingerprint = Fingerprint(jws.payloadDigest)
        isNonCanonical = jws.isNonCanonical
    }

    private static func readIntent(
        _ reading: Reading, into statement: inout RenewalStatement
    ) throws(Hold) {
        statement.product = try reading.text("productId")
        statement.renewsProduct = try reading.text("autoRenewProductId")
        statement.willRenew = try reading.truth("autoRenewStatus")
        statement.expirationIntent = try reading.integer("expirationIntent")
        statement.isInBillingRetry = try reading.truth("isInBillingRetryPeriod")
        statement.graceExpiresAt = try reading.instant("gracePeriodExpiresDate")
        statement.priceIncreaseStatus = try reading.integer("priceIncreaseStatus")
        statement.recentStartAt = try reading.instant("recentSubscriptionStartDate")?.ifInRange
    }

    private static func readNextPeriod(
        _ reading: Reading, into statement: inout RenewalStatement
    ) throws(Hold) {
        statement.offerType = try reading.integer("offerType")
        statement.offerIdentifier = try reading.text("offerIdentifier")
        statement.renewsAt = try reading.instant("renewalDate")
        statement.renewalPriceMilliunits = try reading.integer("renewalPrice")
        statement.currency = try reading.text("currency")
        statement.renewalQuantity = try reading.integer("renewalQuantity")
        statement.renewalBillingPlan = try reading.text("renewalBillingPlanType")
        statement.appAccountToken = try reading.identifier("appAccountToken")?.lowercased()
        statement.advancedCommerce = try reading.kept("advancedCommerceInfo")
        let commitment = try reading.object("commitmentInfo")
        statement.commitmentWillRenew = try commitment?.truth("commitmentAutoRenewStatus")
        statement.commitmentRenewsProduct = try commitment?.text("commitmentAutoRenewProductId")
        statement.commitmentRenewsAt = try commitment?.instant("commitmentRenewalDate")?.ifInRange
    }
}
