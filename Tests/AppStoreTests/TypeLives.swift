import Domain

// What the rows of the table are made of: members of signed data, and lives so far.

/// Parts of what messages say.
extension TypeRow {
    /// A paid month of pro.monthly.
    static func month(
        _ id: String, _ from: String, _ until: String, _ changes: [String: JSON] = [:]
    ) -> [String: JSON] {
        let members: [String: JSON] = [
            "transactionId": .string(id), "originalTransactionId": .string("1001"),
            "webOrderLineItemId": .string("w" + id), "bundleId": .string("com.example.app"),
            "productId": .string("pro.monthly"), "purchaseDate": moment(from),
            "expiresDate": moment(until), "type": .string("Auto-Renewable Subscription"),
            "inAppOwnershipType": .string("PURCHASED"), "price": .integer(9990),
            "currency": .string("USD"), "quantity": .integer(1),
            "transactionReason": .string(id == "1001" ? "PURCHASE" : "RENEWAL"),
        ]
        return members.merging(changes) { _, new in new }
    }

    static func first(_ changes: [String: JSON] = [:]) -> [String: JSON] {
        month("1001", "2025-05-01", "2025-06-01", changes)
    }

    static func second(_ changes: [String: JSON] = [:]) -> [String: JSON] {
        month("1002", "2025-06-01", "2025-07-01", changes)
    }

    /// A period of plus.monthly, bought in the middle of June.
    static func higher(_ changes: [String: JSON] = [:]) -> [String: JSON] {
        let members: [String: JSON] = [
            "productId": .string("plus.monthly"), "price": .integer(14_990),
            "transactionReason": .string("PURCHASE"),
        ]
        return month(
            "1003", "2025-06-11", "2025-07-11", members.merging(changes) { _, new in new })
    }

    /// A purchase that is no subscription.
    static func thing(
        _ product: String, _ type: String, _ price: Int64, _ changes: [String: JSON] = [:]
    ) -> [String: JSON] {
        let members: [String: JSON] = [
            "transactionId": .string("3001"), "originalTransactionId": .string("3001"),
            "bundleId": .string("com.example.app"), "productId": .string(product),
            "purchaseDate": moment("2025-06-02"), "type": .string(type),
            "inAppOwnershipType": .string("PURCHASED"), "price": .integer(price),
            "currency": .string("USD"), "transactionReason": .string("PURCHASE"),
        ]
        return members.merging(changes) { _, new in new }
    }

    static func moment(_ text: String) -> JSON {
        .integer(Instant(text)?.milliseconds ?? 0)
    }

    /// A renewal info: set to renew, unless changed.
    static func renewal(_ until: String, _ changes: [String: JSON] = [:])
        -> [String: JSON]
    {
        let members: [String: JSON] = [
            "originalTransactionId": .string("1001"), "productId": .string("pro.monthly"),
            "autoRenewProductId": .string("pro.monthly"), "autoRenewStatus": .integer(1),
            "renewalDate": moment(until),
        ]
        return members.merging(changes) { _, new in new }
    }

    static let off: [String: JSON] = ["autoRenewStatus": .integer(0)]
    static let toPlus: [String: JSON] = [
        "productId": .string("plus.monthly"), "autoRenewProductId": .string("plus.monthly"),
    ]
    static let toBasic: [String: JSON] = ["autoRenewProductId": .string("basic.yearly")]
    static let retry: [String: JSON] = [
        "isInBillingRetryPeriod": .bool(true), "expirationIntent": .integer(2),
    ]
    static let grace = retry.merging(
        ["gracePeriodExpiresDate": moment("2025-06-17")]) { _, new in new }

    static func ended(_ intent: Int64?) -> [String: JSON] {
        var members = off
        members["isInBillingRetryPeriod"] = .bool(false)
        members["expirationIntent"] = .whole(intent)
        return members
    }

    static func refunded(_ on: String, _ changes: [String: JSON] = [:])
        -> [String: JSON]
    {
        let members: [String: JSON] = [
            "revocationDate": moment(on), "revocationReason": .integer(0),
            "revocationType": .string("REFUND_FULL"), "revocationPercentage": .integer(100_000),
        ]
        return members.merging(changes) { _, new in new }
    }
}

/// Lives so far.
extension TypeRow {
    static let bought = [
        Message(
            "SUBSCRIBED", "INITIAL_BUY", "2025-05-01T00:00:05Z", first(), renewal("2025-06-01"),
            status: 1)
    ]
    static let renewed =
        bought + [
            Message(
                "DID_RENEW", nil, "2025-06-01T00:00:05Z", second(), renewal("2025-07-01"),
                status: 1)
        ]
    static let switchedOff =
        renewed + [june("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", off, day: 5)]
    static let lowering =
        renewed + [june("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", toBasic, day: 5)]
    static let asked =
        renewed + [june("PRICE_INCREASE", "PENDING", ["priceIncreaseStatus": .integer(0)], day: 5)]
    static let failing =
        bought + [
            Message(
                "DID_FAIL_TO_RENEW", nil, "2025-06-01T00:05Z", first(),
                renewal("2025-06-01", retry),
                status: 3)
        ]
    static let forgiven =
        bought + [
            Message(
                "DID_FAIL_TO_RENEW", "GRACE_PERIOD", "2025-06-01T00:05Z", first(),
                renewal("2025-06-01", grace), status: 4)
        ]
    static let returned =
        renewed + [
            Message(
                "REFUND", nil, "2025-06-10T12:00Z", second(refunded("2025-06-10")),
                renewal("2025-07-01", off), status: 5)
        ]
    static let family = [
        Message(
            "SUBSCRIBED", "INITIAL_BUY", "2025-05-01T00:00:05Z",
            first(["inAppOwnershipType": .string("FAMILY_SHARED")]), renewal("2025-06-01"),
            status: 1)
    ]
    static let seats = [
        Message(
            "SUBSCRIBED", "INITIAL_BUY", "2025-05-01T00:00:05Z", first(fiveSeats),
            renewal("2025-06-01", ["renewalQuantity": .integer(5)]), status: 1)
    ]
    static let fiveSeats: [String: JSON] = [
        "quantity": .integer(5), "price": .integer(4600), "multiSeatInfo": fiveSeatsInfo([:]),
    ]

    static func fiveSeatsInfo(_ changes: [String: JSON]) -> JSON {
        let tiers = [(5000, 3), (4000, 2)].map { price, quantity in
            JSON.object([
                .init("price", .integer(Int64(price))),
                .init("quantity", .integer(Int64(quantity))),
            ])
        }
        let members: [String: JSON] = [
            "priceTiers": .array(tiers), "invitationManagement": .string("DEVELOPER"),
        ]
        return .object(
            members.merging(changes) { _, new in new }.map { JSON.Member($0.key, $0.value) })
    }

    /// A notification about June's period, with a changed renewal info.
    static func june(
        _ type: String, _ subtype: String? = nil, _ changes: [String: JSON] = [:], day: Int = 11
    ) -> Message {
        Message(
            type, subtype, "2025-06-\(day < 10 ? "0" : "")\(day)", second(),
            renewal("2025-07-01", changes), status: 1)
    }

    /// The word that May's period has ended, or another one about it.
    static func may(
        _ type: String, _ subtype: String?, _ signed: String, _ changes: [String: JSON],
        status: Int64
    ) -> Message {
        Message(type, subtype, signed, first(), renewal("2025-06-01", changes), status: status)
    }
}
