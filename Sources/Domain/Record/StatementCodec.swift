// Statements on the record carry Apple's member names, so that an entry reads like its evidence.

extension TransactionStatement {
    /// The recorded form: never the account token itself.
    var body: JSON {
        JSON(members: [
            "transactionId": .string(transaction),
            "originalTransactionId": .string(original),
            "bundleId": .string(bundle),
            "productId": .string(product),
            "purchaseDate": .instant(purchasedAt),
            "signedDate": .instant(signedAt),
            "environment": .string(environment.name),
            "webOrderLineItemId": .text(webOrderLineItem),
            "subscriptionGroupIdentifier": .text(group),
            "originalPurchaseDate": .instant(originallyPurchasedAt),
            "expiresDate": .instant(expiresAt),
            "quantity": .whole(quantity),
            "multiSeatInfo": seats?.body,
            "additionalTransactionReason": .text(additionalReason),
            "type": .text(type),
            "inAppOwnershipType": .text(ownership),
            "token": .whole(token?.number),
            "revocationDate": .instant(revokedAt),
            "revocationReason": .whole(revocationReason),
            "revocationType": .text(revocationType),
            "revocationPercentage": .whole(revocationPercentage),
            "isUpgraded": .truth(isUpgraded),
            "offerType": .whole(offerType),
            "offerIdentifier": .text(offerIdentifier),
            "offerDiscountType": .text(offerDiscountType),
            "offerPeriod": .text(offerPeriod),
            "storefront": .text(storefront),
            "transactionReason": .text(reason),
            "price": .whole(priceMilliunits),
            "currency": .text(currency),
            "billingPlanType": .text(billingPlan),
            "commitmentExpiresDate": .instant(commitmentExpiresAt),
            "billingPeriodNumber": .whole(billingPeriodNumber),
            "totalBillingPeriods": .whole(totalBillingPeriods),
            "advancedCommerceInfo": advancedCommerce,
            "previousOriginalTransactionId": .text(previousOriginal),
            "partial": .truth(isPartial ? true : nil),
            "flags": .flags(flags),
        ])
    }

    /// Reads a recorded form.
    init(body: JSON) throws(CodecError) {
        let read = BodyReader(body)
        self.init(
            transaction: try read.text("transactionId"),
            original: try read.text("originalTransactionId"),
            bundle: try read.text("bundleId"),
            product: try read.text("productId"),
            purchasedAt: try read.instant("purchaseDate"),
            signedAt: try read.instant("signedDate"),
            environment: Environment(try read.text("environment")))
        webOrderLineItem = try read.textIfAny("webOrderLineItemId")
        group = try read.textIfAny("subscriptionGroupIdentifier")
        originallyPurchasedAt = try read.instantIfAny("originalPurchaseDate")
        expiresAt = try read.instantIfAny("expiresDate")
        quantity = try read.wholeIfAny("quantity")
        seats = try SeatStatement(body: body["multiSeatInfo"])
        additionalReason = try read.textIfAny("additionalTransactionReason")
        type = try read.textIfAny("type")
        ownership = try read.textIfAny("inAppOwnershipType")
        token = try read.customerIfAny("token")
        revokedAt = try read.instantIfAny("revocationDate")
        revocationReason = try read.wholeIfAny("revocationReason")
        revocationType = try read.textIfAny("revocationType")
        revocationPercentage = try read.wholeIfAny("revocationPercentage")
        isUpgraded = try read.truthIfAny("isUpgraded")
        try readOffer(read)
    }

    private mutating func readOffer(_ read: BodyReader) throws(CodecError) {
        offerType = try read.wholeIfAny("offerType")
        offerIdentifier = try read.textIfAny("offerIdentifier")
        offerDiscountType = try read.textIfAny("offerDiscountType")
        offerPeriod = try read.textIfAny("offerPeriod")
        storefront = try read.textIfAny("storefront")
        reason = try read.textIfAny("transactionReason")
        priceMilliunits = try read.wholeIfAny("price")
        currency = try read.textIfAny("currency")
        billingPlan = try read.textIfAny("billingPlanType")
        commitmentExpiresAt = try read.instantIfAny("commitmentExpiresDate")
        billingPeriodNumber = try read.wholeIfAny("billingPeriodNumber")
        totalBillingPeriods = try read.wholeIfAny("totalBillingPeriods")
        advancedCommerce = read.json["advancedCommerceInfo"]
        previousOriginal = try read.textIfAny("previousOriginalTransactionId")
        isPartial = try read.truthIfAny("partial") ?? false
        flags = try read.texts("flags")
    }
}

extension SeatStatement {
    fileprivate var body: JSON {
        JSON(members: [
            "priceTiers": tiers.isEmpty
                ? nil
                : .array(
                    tiers.map {
                        JSON(members: [
                            "price": .integer($0.priceMilliunits),
                            "quantity": .integer($0.quantity),
                        ])
                    }),
            "invitationManagement": .text(invitationManagement),
            "revokedSeatQuantity": .whole(revokedQuantity),
        ])
    }

    fileprivate init?(body: JSON?) throws(CodecError) {
        guard let body else { return nil }
        let read = BodyReader(body)
        self.init(
            invitationManagement: try read.textIfAny("invitationManagement"),
            revokedQuantity: try read.wholeIfAny("revokedSeatQuantity"))
        for element in body["priceTiers"]?.elements ?? [] {
            let tier = BodyReader(element)
            tiers.append(
                Tier(
                    priceMilliunits: try tier.whole("price"),
                    quantity: try tier.whole("quantity")))
        }
    }
}

extension RenewalStatement {
    /// The recorded form: never the account token itself.
    var body: JSON {
        JSON(members: [
            "originalTransactionId": .string(original),
            "signedDate": .instant(signedAt),
            "environment": .string(environment.name),
            "productId": .text(product),
            "autoRenewProductId": .text(renewsProduct),
            "autoRenewStatus": .truth(willRenew),
            "expirationIntent": .whole(expirationIntent),
            "isInBillingRetryPeriod": .truth(isInBillingRetry),
            "gracePeriodExpiresDate": .instant(graceExpiresAt),
            "priceIncreaseStatus": .whole(priceIncreaseStatus),
            "offerType": .whole(offerType),
            "offerIdentifier": .text(offerIdentifier),
            "renewalDate": .instant(renewsAt),
            "renewalPrice": .whole(renewalPriceMilliunits),
            "currency": .text(currency),
            "recentSubscriptionStartDate": .instant(recentStartAt),
            "renewalQuantity": .whole(renewalQuantity),
            "renewalBillingPlanType": .text(renewalBillingPlan),
            "commitmentAutoRenewStatus": .truth(commitmentWillRenew),
            "commitmentAutoRenewProductId": .text(commitmentRenewsProduct),
            "commitmentRenewalDate": .instant(commitmentRenewsAt),
            "advancedCommerceInfo": advancedCommerce,
            "token": .whole(token?.number),
            "flags": .flags(flags),
        ])
    }

    /// Reads a recorded form.
    init(body: JSON) throws(CodecError) {
        let read = BodyReader(body)
        self.init(
            original: try read.text("originalTransactionId"),
            signedAt: try read.instant("signedDate"),
            environment: Environment(try read.text("environment")))
        product = try read.textIfAny("productId")
        renewsProduct = try read.textIfAny("autoRenewProductId")
        willRenew = try read.truthIfAny("autoRenewStatus")
        expirationIntent = try read.wholeIfAny("expirationIntent")
        isInBillingRetry = try read.truthIfAny("isInBillingRetryPeriod")
        graceExpiresAt = try read.instantIfAny("gracePeriodExpiresDate")
        priceIncreaseStatus = try read.wholeIfAny("priceIncreaseStatus")
        offerType = try read.wholeIfAny("offerType")
        offerIdentifier = try read.textIfAny("offerIdentifier")
        renewsAt = try read.instantIfAny("renewalDate")
        renewalPriceMilliunits = try read.wholeIfAny("renewalPrice")
        currency = try read.textIfAny("currency")
        recentStartAt = try read.instantIfAny("recentSubscriptionStartDate")
        renewalQuantity = try read.wholeIfAny("renewalQuantity")
        renewalBillingPlan = try read.textIfAny("renewalBillingPlanType")
        commitmentWillRenew = try read.truthIfAny("commitmentAutoRenewStatus")
        commitmentRenewsProduct = try read.textIfAny("commitmentAutoRenewProductId")
        commitmentRenewsAt = try read.instantIfAny("commitmentRenewalDate")
        advancedCommerce = body["advancedCommerceInfo"]
        token = try read.customerIfAny("token")
        flags = try read.texts("flags")
    }
}

extension Notice {
    /// The recorded form.
    var body: JSON {
        JSON(members: [
            "notificationUUID": .string(uuid),
            "notificationType": .string(type),
            "subtype": .text(subtype),
            "signedDate": .instant(signedAt),
            "environment": .string(environment.name),
            "bundleId": .string(bundle),
            "originalTransactionId": .text(original),
            "transactionId": .text(transaction),
            "renewalSignedDate": .instant(renewalSignedAt),
            "renewalDate": .instant(renewsAt),
            "status": .whole(status),
            "consumptionRequestReason": .text(consumptionReason),
            "details": details,
            "repeats": .flags(repeats.map(\.hex)),
            "flags": .flags(flags),
        ])
    }

    /// Reads a recorded form.
    init(body: JSON) throws(CodecError) {
        let read = BodyReader(body)
        self.init(
            uuid: try read.text("notificationUUID"),
            type: try read.text("notificationType"),
            signedAt: try read.instant("signedDate"),
            environment: Environment(try read.text("environment")),
            bundle: try read.text("bundleId"))
        subtype = try read.textIfAny("subtype")
        original = try read.textIfAny("originalTransactionId")
        transaction = try read.textIfAny("transactionId")
        renewalSignedAt = try read.instantIfAny("renewalSignedDate")
        renewsAt = try read.instantIfAny("renewalDate")
        status = try read.wholeIfAny("status")
        consumptionReason = try read.textIfAny("consumptionRequestReason")
        details = body["details"]
        repeats = try read.texts("repeats").map(Fingerprint.init(hex:))
        flags = try read.texts("flags")
    }
}
