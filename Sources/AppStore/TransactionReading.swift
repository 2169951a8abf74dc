import Domain

extension Draft<TransactionStatement> {
    /// Reads the payload of a signed transaction.
    ///
    /// - Source: Apple, `JWSTransactionDecodedPayload`.
    init(transaction jws: VerifiedJWS, fallbackSignedAt: Instant) throws(Hold) {
        let reading = try Reading(jws.json)
        let transaction = try reading.required("transactionId")
        let product = try reading.required("productId")
        guard let purchasedAt = try reading.instant("purchaseDate") else {
            throw Hold(.unparsable, "purchaseDate is missing")
        }
        signedAt = try reading.instant("signedDate")
        environment = try reading.identifier("environment").map(Environment.init)
        var statement = TransactionStatement(
            transaction: transaction,
            original: try reading.identifier("originalTransactionId") ?? transaction,
            // A missing bundle id is no app's, and is judged with the app.
            bundle: try reading.identifier("bundleId") ?? "", product: product,
            purchasedAt: purchasedAt, signedAt: signedAt ?? fallbackSignedAt,
            environment: environment ?? Environment(""))
        try Self.readPurchase(reading, into: &statement)
        try Self.readOffer(reading, into: &statement)
        try Self.readPlan(reading, into: &statement)
        content = statement
        dates = [
            ("purchaseDate", purchasedAt), ("expiresDate", statement.expiresAt),
            ("revocationDate", statement.revokedAt),
            ("originalPurchaseDate", statement.originallyPurchasedAt),
            ("signedDate", statement.signedAt),
        ]
        fingerprint = Fingerprint(jws.payloadDigest)
        isNonCanonical = jws.isNonCanonical
    }

    private static func readPurchase(
        _ reading: Reading, into statement: inout TransactionStatement
    ) throws(Hold) {
        statement.webOrderLineItem = try reading.identifier("webOrderLineItemId")
        statement.group = try reading.identifier("subscriptionGroupIdentifier")
        statement.originallyPurchasedAt = try reading.instant("originalPurchaseDate")
        statement.expiresAt = try reading.instant("expiresDate")
        statement.quantity = try reading.integer("quantity")
        statement.type = try reading.text("type")
        statement.ownership = try reading.text("inAppOwnershipType")
        statement.appAccountToken = try reading.identifier("appAccountToken")?.lowercased()
        statement.revokedAt = try reading.instant("revocationDate")
        statement.revocationReason = try reading.integer("revocationReason")
        statement.revocationType = try reading.text("revocationType")
        statement.revocationPercentage = try reading.integer("revocationPercentage")
        statement.isUpgraded = try reading.truth("isUpgraded")
        statement.reason = try reading.text("transactionReason")
        statement.previousOriginal = try reading.identifier("previousOriginalTransactionId")
    }

    private static func readOffer(
        _ reading: Reading, into statement: inout TransactionStatement
    ) throws(Hold) {
        statement.offerType = try reading.integer("offerType")
        statement.offerIdentifier = try reading.text("offerIdentifier")
        statement.offerDiscountType = try reading.text("offerDiscountType")
        statement.offerPeriod = try reading.text("offerPeriod")
        statement.storefront = try reading.text("storefront")
        statement.priceMilliunits = try reading.integer("price")
        statement.currency = try reading.text("currency")
    }

    /// What is bought beyond one period for one person: a commitment, seats, a developer's items.
    private static func readPlan(
        _ reading: Reading, into statement: inout TransactionStatement
    ) throws(Hold) {
        statement.billingPlan = try reading.text("billingPlanType")
        let commitment = try reading.object("commitmentInfo")
        statement.commitmentExpiresAt = try commitment?.instant("commitmentExpiresDate")?.ifInRange
        statement.billingPeriodNumber = try commitment?.integer("billingPeriodNumber")
        statement.totalBillingPeriods = try commitment?.integer("totalBillingPeriods")
        statement.additionalReason = try reading.text("additionalTransactionReason")
        statement.advancedCommerce = try reading.kept("advancedCommerceInfo")
        guard let seats = try reading.object("multiSeatInfo") else { return }
        var tiers: [SeatStatement.Tier] = []
        for tier in try seats.objects("priceTiers") {
            guard let price = try tier.integer("price"),
                let quantity = try tier.integer("quantity")
            else { throw Hold(.unparsable, "multiSeatInfo.priceTiers lacks price or quantity") }
            tiers.append(SeatStatement.Tier(priceMilliunits: price, quantity: quantity))
        }
        statement.seats = SeatStatement(
            tiers: tiers, invitationManagement: try seats.text("invitationManagement"),
            revokedQuantity: try seats.integer("revokedSeatQuantity"))
    }
}
