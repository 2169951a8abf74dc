import Crypto
import Domain

/// One purchase in a receipt, its members as Apple writes them.
struct ReceiptRow: Sendable {
    /// All that the rows of one transaction say in one answer.
    let json: JSON
    /// Whether no row of it told the current state: `in_app` tells that of the receipt's making.
    let isPartial: Bool

    /// What it says as a transaction.
    ///
    /// - Source: Apple, the members of `latest_receipt_info` and `in_app`.
    func stated(_ asked: Asked) throws(Hold) -> Stated<TransactionStatement> {
        let reading = try Reading(json)
        let transaction = try reading.required("transaction_id")
        guard let purchasedAt = try reading.receiptDate("purchase_date") else {
            throw Hold(.unparsable, "purchase_date is missing")
        }
        var statement = TransactionStatement(
            transaction: transaction,
            original: try reading.identifier("original_transaction_id") ?? transaction,
            bundle: asked.bundle, product: try reading.required("product_id"),
            purchasedAt: purchasedAt, signedAt: asked.at, environment: asked.environment)
        statement.isPartial = isPartial
        statement.originallyPurchasedAt = try reading.receiptDate("original_purchase_date")
        statement.expiresAt = try reading.receiptDate("expires_date")
        statement.revokedAt = try reading.receiptDate("cancellation_date")
        statement.revocationReason = try reading.integer("cancellation_reason")
        statement.isUpgraded = try reading.truth("is_upgraded")
        statement.webOrderLineItem = try reading.identifier("web_order_line_item_id")
        statement.group = try reading.identifier("subscription_group_identifier")
        statement.quantity = try reading.integer("quantity")
        statement.ownership = try reading.text("in_app_ownership_type")
        statement.appAccountToken = try reading.identifier("app_account_token")?.lowercased()
        try Self.readOffer(reading, into: &statement)
        for (name, at) in [
            ("purchase_date", purchasedAt), ("expires_date", statement.expiresAt),
            ("cancellation_date", statement.revokedAt),
            ("original_purchase_date", statement.originallyPurchasedAt),
        ] {
            if let at, !at.isInRange {
                throw Hold(.outOfRange, "\(name) is not between 1970 and 9999")
            }
        }
        return Stated(statement, asked.fingerprint(of: json, named: isPartial ? "in_app" : "row"))
    }

    private static func readOffer(
        _ reading: Reading, into statement: inout TransactionStatement
    ) throws(Hold) {
        let isTrial = try reading.truth("is_trial_period") == true
        let isIntro = try reading.truth("is_in_intro_offer_period") == true
        if let offer = try reading.text("promotional_offer_id") {
            statement.offerType = 2
            statement.offerIdentifier = offer
        } else if let offer = try reading.text("offer_code_ref_name") {
            statement.offerType = 3
            statement.offerIdentifier = offer
        } else if isTrial || isIntro {
            statement.offerType = 1
        }
        if isTrial { statement.offerDiscountType = "FREE_TRIAL" }
    }
}

/// What Apple expects of a line's next renewal, as an answer writes it.
struct ReceiptRenewal: Sendable {
    let json: JSON

    /// What it says as a renewal info.
    ///
    /// - Source: Apple, the members of `pending_renewal_info`.
    func stated(_ asked: Asked) throws(Hold) -> Stated<RenewalStatement> {
        let reading = try Reading(json)
        var statement = RenewalStatement(
            original: try reading.required("original_transaction_id"), signedAt: asked.at,
            environment: asked.environment)
        statement.product = try reading.text("product_id")
        statement.renewsProduct = try reading.text("auto_renew_product_id")
        statement.willRenew = try reading.truth("auto_renew_status")
        statement.expirationIntent = try reading.integer("expiration_intent")
        statement.isInBillingRetry = try reading.truth("is_in_billing_retry_period")
        statement.graceExpiresAt = try reading.receiptDate("grace_period_expires_date")?.ifInRange
        let consent = try reading.integer("price_consent_status")
        statement.priceIncreaseStatus = try reading.integer("price_increase_status")
        statement.priceIncreaseStatus = statement.priceIncreaseStatus ?? consent
        if let offer = try reading.text("promotional_offer_id") {
            statement.offerType = 2
            statement.offerIdentifier = offer
        } else if let offer = try reading.text("offer_code_ref_name") {
            statement.offerType = 3
            statement.offerIdentifier = offer
        }
        return Stated(statement, asked.fingerprint(of: json, named: "renewal"))
    }
}

/// What an answer as a whole says of each of its parts.
struct Asked: Sendable {
    let bundle: String
    let environment: Environment
    /// What it says was so then: it takes the place of a signing.
    let at: Instant

    /// The identity of a part: the same words asked for at another time are another statement.
    func fingerprint(of part: JSON, named name: String) -> Fingerprint {
        let whole = JSON(members: [
            name: part, "bundle_id": .string(bundle), "environment": .string(environment.name),
            "asked": .instant(at),
        ])
        return Fingerprint(SHA256.digest(of: whole.canonicalBytes()))
    }
}
