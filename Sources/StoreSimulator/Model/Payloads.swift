import Domain

// What is signed, as Apple spells it.
extension World {
    /// The status of a subscription.
    ///
    /// - Source: Apple, `status`: 1 active, 2 expired, 3 retry, 4 grace, 5 revoked.
    func status(_ chain: Int, at instant: Instant) -> Int64 {
        let chain = chains[chain]
        if let latest = chain.transactions.last, transactions[latest].revocation != nil { return 5 }
        if chain.graceUntil != nil { return 4 }
        if chain.isInRetry == true { return 3 }
        return chain.isOver ? 2 : 1
    }

    /// - Source: Apple, `JWSTransactionDecodedPayload`.
    func payload(of transaction: Transaction, signedAt: Instant) -> JSON {
        let person = people[transaction.person]
        let product = transaction.product
        let isRenewable = product.kind == .autoRenewable
        return JSON(members: [
            "transactionId": .string(transaction.id),
            "originalTransactionId": .string(chains[transaction.chain].id),
            "webOrderLineItemId": .text(transaction.webOrderLineItem),
            "bundleId": .string(app.bundleId), "productId": .string(product.id),
            "subscriptionGroupIdentifier": isRenewable ? .text(product.group) : nil,
            "purchaseDate": .instant(transaction.purchasedAt),
            "originalPurchaseDate": .instant(transaction.originallyPurchasedAt),
            "expiresDate": .instant(transaction.expiresAt),
            "quantity": .integer(transaction.quantity), "type": .string(product.kind.signed),
            "appAccountToken": .text(transaction.token),
            "inAppOwnershipType": .string(transaction.ownership),
            "signedDate": .instant(signedAt),
            "revocationReason": .whole(transaction.revocation?.reason),
            "revocationDate": .instant(transaction.revocation?.at),
            "revocationType": .text(transaction.revocation?.type),
            "revocationPercentage": .whole(transaction.revocation?.percentage),
            "isUpgraded": transaction.isUpgraded ? .bool(true) : nil,
            "offerType": .whole(transaction.offer?.type),
            "offerIdentifier": .text(transaction.offer?.identifier),
            "offerDiscountType": .text(transaction.offer?.discount),
            "offerPeriod": .text(transaction.offer?.period),
            "environment": .string(person.environment.name),
            "storefront": .string(person.storefront),
            "storefrontId": .string(person.storefrontId),
            "transactionReason": .string(transaction.reason),
            "price": .integer(transaction.price), "currency": .string(person.currency),
            "appTransactionId": .string(person.appTransactionId),
        ])
    }

    /// - Source: Apple, `JWSRenewalInfoDecodedPayload`.
    func renewalPayload(of place: Int, signedAt: Instant) -> JSON {
        let chain = chains[place]
        let person = people[chain.person]
        let price = chain.priceIncrease?.price ?? products[chain.nextProduct]?.price
        return JSON(members: [
            "originalTransactionId": .string(chain.id),
            "productId": .string(product(place).id),
            "autoRenewProductId": .string(chain.nextProduct),
            "autoRenewStatus": .integer(chain.autoRenews ? 1 : 0),
            "expirationIntent": .whole(chain.expirationIntent),
            "isInBillingRetryPeriod": .truth(chain.isInRetry),
            "gracePeriodExpiresDate": .instant(chain.graceUntil),
            "priceIncreaseStatus": chain.priceIncrease.map { .integer($0.hasConsent ? 1 : 0) },
            "signedDate": .instant(signedAt),
            "environment": .string(person.environment.name),
            "recentSubscriptionStartDate": .instant(chain.runBegan),
            "renewalDate": .instant(chain.renewsAt),
            "renewalPrice": chain.autoRenews ? .whole(price) : nil,
            "currency": chain.autoRenews ? .string(person.currency) : nil,
            "appAccountToken": .text(transactions[latest(place)].token),
            "appTransactionId": .string(person.appTransactionId),
        ])
    }

    /// - Source: Apple, `JWSAppTransactionDecodedPayload`.
    func appPayload(of person: Int) -> JSON {
        let person = people[person]
        let isProduction = person.environment == .production
        return JSON(members: [
            "receiptType": .string(person.environment.name),
            "appAppleId": isProduction ? .integer(app.appAppleId) : nil,
            "bundleId": .string(app.bundleId), "applicationVersion": .string("1"),
            "versionExternalIdentifier": isProduction ? .integer(1) : nil,
            "receiptCreationDate": .instant(now),
            "originalPurchaseDate": .instant(now),
            "originalApplicationVersion": .string(isProduction ? "1" : "1.0"),
            "appTransactionId": .string(person.appTransactionId),
            "originalPlatform": .string("iOS"),
        ])
    }
}
