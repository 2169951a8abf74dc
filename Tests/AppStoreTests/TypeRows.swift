import Domain

// The table is read beside Apple's documentation of `notificationType` and `subtype`. The line
// begins on May 1 with a month of pro.monthly for 9.990 and is renewed once, on June 1.

extension TypeRow {
    static let all =
        start + choices + plans + prices + failures + ends + refunds + services + others
}

/// Start and renewal.
extension TypeRow {
    private static let initial = "active pro.monthly from 2025-05-01 until 2025-06-01"

    static let start = [
        TypeRow(
            after: [], bought[0], at: "2025-05-15", [.notified, .purchased, .renewalChanged],
            "\(initial), renews as pro.monthly, paid 9990"),
        TypeRow(
            "a free trial", after: [],
            Message(
                "SUBSCRIBED", "INITIAL_BUY", "2025-05-01T00:00:05Z",
                first([
                    "price": .integer(0), "offerType": .integer(1),
                    "offerDiscountType": .string("FREE_TRIAL"),
                ]), renewal("2025-06-01"), status: 1),
            at: "2025-05-15", [.notified, .purchased, .renewalChanged],
            "trial pro.monthly from 2025-05-01 until 2025-06-01, renews as pro.monthly, paid 0"),
        TypeRow(
            "a family member", after: [], family[0], at: "2025-05-15",
            [.notified, .purchased, .renewalChanged],
            "\(initial), renews as pro.monthly, paid 0"),
        TypeRow(
            after: bought + [
                may("EXPIRED", "VOLUNTARY", "2025-06-01T00:02Z", ended(1), status: 2)
            ],
            Message(
                "SUBSCRIBED", "RESUBSCRIBE", "2025-08-15T00:00:05Z",
                month(
                    "1003", "2025-08-15", "2025-09-15", ["transactionReason": .string("PURCHASE")]),
                renewal("2025-09-15"), status: 1),
            at: "2025-08-20", [.notified, .purchased, .renewalChanged],
            "active pro.monthly from 2025-08-15 until 2025-09-15, renews as pro.monthly, "
                + "paid 19980"),
        TypeRow(
            after: bought, renewed[1], at: "2025-06-15", [.notified, .renewed, .amended],
            "active pro.monthly from 2025-05-01 until 2025-07-01, renews as pro.monthly, "
                + "paid 19980"),
        TypeRow(
            "charged ahead", after: bought,
            Message(
                "DID_RENEW", nil, "2025-05-31T14:00Z", second(), renewal("2025-07-01"), status: 1),
            at: "2025-05-31T15:00Z", [.notified, .renewed, .amended],
            "active pro.monthly from 2025-05-01 until 2025-07-01, renews as pro.monthly, "
                + "paid 19980"),
        TypeRow(
            "a downgrade takes effect", after: lowering,
            Message(
                "DID_RENEW", nil, "2025-07-01T00:00:05Z",
                month(
                    "1003", "2025-07-01", "2026-07-01",
                    ["productId": .string("basic.yearly"), "price": .integer(39_990)]),
                renewal(
                    "2026-07-01",
                    toBasic.merging(["productId": .string("basic.yearly")]) { _, new in new }),
                status: 1),
            at: "2025-07-15", [.notified, .renewed, .amended],
            "active basic.yearly from 2025-05-01 until 2026-07-01, renews as basic.yearly, "
                + "paid 59970"),
        TypeRow(
            after: failing,
            Message(
                "DID_RENEW", "BILLING_RECOVERY", "2025-06-20T00:00:05Z",
                month("1002", "2025-06-20", "2025-07-20"), renewal("2025-07-20"), status: 1),
            at: "2025-06-25", [.notified, .recovered, .amended],
            "active pro.monthly from 2025-06-20 until 2025-07-20, renews as pro.monthly, "
                + "paid 19980"),
        TypeRow(
            "within grace", after: forgiven,
            Message(
                "DID_RENEW", "BILLING_RECOVERY", "2025-06-05T10:00:05Z",
                month("1002", "2025-06-05T10:00Z", "2025-07-01"), renewal("2025-07-01"), status: 1),
            at: "2025-06-25", [.notified, .recovered, .amended],
            "active pro.monthly from 2025-05-01 until 2025-07-01, renews as pro.monthly, "
                + "paid 19980"),
        TypeRow(
            after: [],
            Message("ONE_TIME_CHARGE", nil, "2025-06-02", thing("coins.100", "Consumable", 990)),
            at: "2025-06-15", line: "3001", [.notified, .purchased], "active coins.100, paid 990"),
        TypeRow(
            "a lifetime", after: [],
            Message(
                "ONE_TIME_CHARGE", nil, "2025-06-02",
                thing("pro.lifetime", "Non-Consumable", 99_990)),
            at: "2025-06-15", line: "3001", [.notified, .purchased],
            "active pro.lifetime from 2025-06-02, paid 99990"),
        TypeRow(
            "a pass", after: [],
            Message(
                "ONE_TIME_CHARGE", nil, "2025-06-02",
                thing("pass.90d", "Non-Renewing Subscription", 19_990)),
            at: "2025-06-15", line: "3001", [.notified, .purchased],
            "active pass.90d from 2025-06-02 until 2025-08-31, paid 19990"),
    ]
}

/// Offers redeemed, and renewal switched off and on.
extension TypeRow {
    private static let current = "active pro.monthly from 2025-05-01 until 2025-07-01"
    private static let offer: [String: JSON] = [
        "offerType": .integer(3), "offerIdentifier": .string("SPRING"),
    ]

    static let choices = [
        TypeRow(
            after: renewed,
            Message(
                "OFFER_REDEEMED", nil, "2025-06-11", second(offer), renewal("2025-07-01", offer),
                status: 1),
            at: "2025-06-15", [.notified, .amended, .renewalChanged],
            "\(current), renews as pro.monthly, paid 19980"),
        TypeRow(
            after: renewed,
            Message(
                "OFFER_REDEEMED", "UPGRADE", "2025-06-11T00:00:05Z", higher(offer),
                renewal("2025-07-11", toPlus), status: 1),
            at: "2025-06-15", [.notified, .upgraded, .renewalChanged],
            "active plus.monthly from 2025-05-01 until 2025-07-11, renews as plus.monthly, "
                + "paid 34970"),
        TypeRow(
            after: renewed, june("OFFER_REDEEMED", "DOWNGRADE", toBasic), at: "2025-06-15",
            [.notified, .confirmed, .renewalChanged],
            "\(current), renews as basic.yearly, paid 19980"),
        TypeRow(
            "in an archive", after: [],
            Message(
                "OFFER_REDEEMED", "INITIAL_BUY", "2025-05-01T00:00:05Z", first(offer),
                renewal("2025-06-01"), status: 1),
            at: "2025-05-15", [.notified, .purchased, .renewalChanged],
            "active pro.monthly from 2025-05-01 until 2025-06-01, renews as pro.monthly, "
                + "paid 9990"),
        TypeRow(
            "in an archive",
            after: bought + [
                may("EXPIRED", "VOLUNTARY", "2025-06-01T00:02Z", ended(1), status: 2)
            ],
            Message(
                "OFFER_REDEEMED", "RESUBSCRIBE", "2025-08-15T00:00:05Z",
                month(
                    "1003", "2025-08-15", "2025-09-15",
                    offer.merging(["transactionReason": .string("PURCHASE")]) { _, new in new }),
                renewal("2025-09-15"), status: 1),
            at: "2025-08-20", [.notified, .purchased, .renewalChanged],
            "active pro.monthly from 2025-08-15 until 2025-09-15, renews as pro.monthly, "
                + "paid 19980"),
        TypeRow(
            after: renewed, june("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", off),
            at: "2025-06-15", [.notified, .confirmed, .renewalChanged],
            "\(current), ends, paid 19980"),
        TypeRow(
            "in a commitment", after: [committed(number: 1, renews: 1, "2025-05-01T00:00:05Z")],
            committed(number: 1, renews: 0, "2025-05-11"), at: "2025-05-15",
            [.notified, .confirmed, .renewalChanged],
            "active pro.monthly from 2025-05-01 until 2025-06-01, renews as pro.monthly, "
                + "bound until 2026-05-01 only, paid 9990"),
        TypeRow(
            after: switchedOff, june("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"),
            at: "2025-06-15", [.notified, .confirmed, .renewalChanged],
            "\(current), renews as pro.monthly, paid 19980"),
        TypeRow(
            after: asked,
            june(
                "DID_CHANGE_RENEWAL_STATUS", nil,
                off.merging(["priceIncreaseStatus": .integer(0)]) { _, new in new }),
            at: "2025-06-15", [.notified, .confirmed, .renewalChanged],
            "\(current), ends, paid 19980"),
    ]

    private static func committed(number: Int64, renews: Int64, _ signed: String) -> Message {
        let commitment = JSON.object([
            .init("billingPeriodNumber", .integer(number)),
            .init("totalBillingPeriods", .integer(12)),
            .init("commitmentExpiresDate", moment("2026-05-01")),
            .init("commitmentPrice", .integer(119_880)),
        ])
        let next = JSON.object([
            .init("commitmentAutoRenewStatus", .integer(renews)),
            .init("commitmentRenewalDate", moment("2026-05-01")),
        ])
        return Message(
            renews == 1 ? "SUBSCRIBED" : "DID_CHANGE_RENEWAL_STATUS",
            renews == 1 ? "INITIAL_BUY" : "AUTO_RENEW_DISABLED", signed,
            first(["billingPlanType": .string("MONTHLY"), "commitmentInfo": commitment]),
            renewal("2025-06-01", ["commitmentInfo": next]), status: 1)
    }
}

/// Another plan or number of seats.
extension TypeRow {
    static let plans = [
        TypeRow(
            after: renewed,
            Message(
                "DID_CHANGE_RENEWAL_PREF", "UPGRADE", "2025-06-11T00:00:05Z", higher(),
                renewal("2025-07-11", toPlus), status: 1),
            at: "2025-06-15", [.notified, .upgraded, .renewalChanged],
            "active plus.monthly from 2025-05-01 until 2025-07-11, renews as plus.monthly, "
                + "paid 34970"),
        TypeRow(
            after: renewed, june("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", toBasic),
            at: "2025-06-15", [.notified, .confirmed, .renewalChanged],
            "\(current), renews as basic.yearly, paid 19980"),
        TypeRow(
            after: lowering, june("DID_CHANGE_RENEWAL_PREF"), at: "2025-06-15",
            [.notified, .confirmed, .renewalChanged],
            "\(current), renews as pro.monthly, paid 19980"),
        TypeRow(
            after: seats,
            Message(
                "DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY", "2025-05-11T00:00:05Z",
                month(
                    "1002", "2025-05-11", "2025-06-01",
                    [
                        "webOrderLineItemId": .string("w1001"), "quantity": .integer(2),
                        "price": .integer(3000), "transactionReason": .string("PURCHASE"),
                        "additionalTransactionReason": .string("SEAT_ADDITION"),
                    ]), renewal("2025-06-01", ["renewalQuantity": .integer(7)]), status: 1),
            at: "2025-05-15", [.notified, .purchased, .renewalChanged],
            "active pro.monthly from 2025-05-01 until 2025-06-01, renews as pro.monthly, "
                + "7 seats, paid 29000"),
        TypeRow(
            after: seats,
            Message(
                "DID_CHANGE_RENEWAL_PREF", "DECREASE_QUANTITY", "2025-05-11", first(fiveSeats),
                renewal("2025-06-01", ["renewalQuantity": .integer(3)]), status: 1),
            at: "2025-05-15", [.notified, .confirmed, .renewalChanged],
            "active pro.monthly from 2025-05-01 until 2025-06-01, renews as pro.monthly, "
                + "5 seats, paid 23000"),
    ]

    static let prices = [
        TypeRow(
            after: renewed,
            june(
                "PRICE_INCREASE", "PENDING",
                ["priceIncreaseStatus": .integer(0), "renewalPrice": .integer(12_990)]),
            at: "2025-06-15", [.notified, .confirmed, .renewalChanged],
            "\(current), renews as pro.monthly, paid 19980"),
        TypeRow(
            after: asked,
            june(
                "PRICE_INCREASE", "ACCEPTED",
                ["priceIncreaseStatus": .integer(1), "renewalPrice": .integer(12_990)]),
            at: "2025-06-15", [.notified, .confirmed, .renewalChanged],
            "\(current), renews as pro.monthly, paid 19980"),
    ]
}

/// Failure and end.
extension TypeRow {
    static let failures = [
        TypeRow(
            after: bought, forgiven[1], at: "2025-06-10", [.notified, .confirmed, .billingFailed],
            "grace pro.monthly from 2025-05-01 until 2025-06-17, renews as pro.monthly, "
                + "paid 9990"),
        TypeRow(
            after: bought, failing[1], at: "2025-06-10", [.notified, .confirmed, .billingFailed],
            "retry pro.monthly from 2025-05-01 until 2025-06-01, renews as pro.monthly, "
                + "paid 9990"),
        TypeRow(
            after: forgiven,
            may("GRACE_PERIOD_EXPIRED", nil, "2025-06-17T00:05Z", retry, status: 3),
            at: "2025-06-20", [.notified, .confirmed, .amended],
            "retry pro.monthly from 2025-05-01 until 2025-06-17, renews as pro.monthly, "
                + "paid 9990"),
        TypeRow(
            "before its date", after: forgiven,
            may("GRACE_PERIOD_EXPIRED", nil, "2025-06-14", retry, status: 3), at: "2025-06-15",
            [.notified, .confirmed, .amended],
            "retry pro.monthly from 2025-05-01 until 2025-06-14, renews as pro.monthly, "
                + "paid 9990"),
    ]

    private static func end(_ subtype: String?, _ intent: Int64?, after before: [Message])
        -> TypeRow
    {
        TypeRow(
            after: before,
            may(
                "EXPIRED", subtype,
                subtype == "BILLING_RETRY" ? "2025-07-31T00:05Z" : "2025-06-01T00:02Z",
                ended(intent), status: 2),
            at: "2025-08-05", [.notified, .confirmed, .lapsed],
            "expired pro.monthly from 2025-05-01 until 2025-06-01, ends, paid 9990")
    }

    static let ends = [
        end(
            "VOLUNTARY", 1,
            after: bought + [
                may(
                    "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", "2025-05-20", off,
                    status: 1)
            ]),
        end("BILLING_RETRY", 2, after: failing),
        end(
            "PRICE_INCREASE", 3,
            after: bought + [
                may(
                    "PRICE_INCREASE", "PENDING", "2025-05-20", ["priceIncreaseStatus": .integer(0)],
                    status: 1)
            ]),
        end("PRODUCT_NOT_FOR_SALE", 4, after: bought),
        end(nil, 5, after: bought),
        end(nil, nil, after: bought),
    ]
}

/// Refunds and revocations.
extension TypeRow {
    static let refunds = [
        TypeRow(
            after: renewed, june("CONSUMPTION_REQUEST"), at: "2025-06-15",
            [.notified, .confirmed, .confirmed], "\(current), renews as pro.monthly, paid 19980"),
        TypeRow(
            after: renewed, returned[2], at: "2025-06-15", [.notified, .revoked, .renewalChanged],
            "revoked pro.monthly from 2025-05-01 until 2025-06-10, ends, paid 19980, "
                + "returned 9990"),
        TypeRow(
            "of a part", after: renewed,
            Message(
                "REFUND", nil, "2025-06-10T12:00Z",
                second(
                    refunded(
                        "2025-06-10",
                        [
                            "revocationType": .string("REFUND_PRORATED"),
                            "revocationPercentage": .integer(40_000),
                        ])), renewal("2025-07-01", off), status: 5),
            at: "2025-06-15", [.notified, .revoked, .renewalChanged],
            "revoked pro.monthly from 2025-05-01 until 2025-06-10, ends, paid 19980, "
                + "returned 3996"),
        TypeRow(
            "of an earlier period", after: renewed,
            Message(
                "REFUND", nil, "2025-06-10T12:00Z", first(refunded("2025-06-10")),
                renewal("2025-07-01"), status: 1),
            at: "2025-06-15", [.notified, .revoked, .confirmed],
            "\(current), renews as pro.monthly, paid 19980, returned 9990"),
        TypeRow(
            "of a consumable",
            after: [
                Message("ONE_TIME_CHARGE", nil, "2025-06-02", thing("coins.100", "Consumable", 990))
            ],
            Message(
                "REFUND", nil, "2025-06-10T12:00Z",
                thing("coins.100", "Consumable", 990, refunded("2025-06-10"))),
            at: "2025-06-15", line: "3001", [.notified, .revoked],
            "revoked coins.100, paid 990, returned 990"),
        TypeRow(
            after: seats,
            Message(
                "REFUND", "SEATS", "2025-05-10",
                first(
                    fiveSeats.merging([
                        "multiSeatInfo": fiveSeatsInfo(["revokedSeatQuantity": .integer(2)])
                    ]) { _, new in new }),
                renewal("2025-06-01", ["renewalQuantity": .integer(5)]), status: 1),
            at: "2025-05-15", [.notified, .amended, .confirmed],
            "active pro.monthly from 2025-05-01 until 2025-06-01, renews as pro.monthly, "
                + "3 seats, paid 23000"),
        TypeRow(
            after: renewed, june("REFUND_DECLINED"), at: "2025-06-15",
            [.notified, .confirmed, .confirmed], "\(current), renews as pro.monthly, paid 19980"),
        TypeRow(
            after: returned, june("REFUND_REVERSED", nil, off, day: 20), at: "2025-06-15",
            [.notified, .reversed, .confirmed], "\(current), ends, paid 19980"),
        TypeRow(
            "of a family member", after: family,
            Message(
                "REVOKE", nil, "2025-05-10T00:40Z",
                first([
                    "inAppOwnershipType": .string("FAMILY_SHARED"),
                    "revocationDate": moment("2025-05-10"), "revocationReason": .integer(0),
                    "revocationType": .string("FAMILY_REVOKE"),
                ]), renewal("2025-06-01", off), status: 5),
            at: "2025-05-15", [.notified, .revoked, .renewalChanged],
            "revoked pro.monthly from 2025-05-01 until 2025-05-10, ends, paid 0"),
    ]
}

/// Extensions, and what concerns no line.
extension TypeRow {
    private static let untouched = "\(current), renews as pro.monthly, paid 19980"

    private static func token(_ subtype: String) -> TypeRow {
        TypeRow(
            after: renewed,
            Message(
                "EXTERNAL_PURCHASE_TOKEN", subtype, "2025-06-11",
                instead: (
                    "externalPurchaseToken",
                    [
                        "externalPurchaseId": .string("7c2d"),
                        "tokenCreationDate": moment("2025-06-11"),
                    ]
                )), at: "2025-06-15", [.notified], untouched)
    }

    static let services = [
        TypeRow(
            after: renewed,
            Message(
                "RENEWAL_EXTENDED", nil, "2025-06-20",
                second(["expiresDate": moment("2025-07-16")]),
                renewal("2025-07-16"), status: 1),
            at: "2025-06-25", [.notified, .extended, .amended],
            "active pro.monthly from 2025-05-01 until 2025-07-16, renews as pro.monthly, "
                + "paid 19980"),
        TypeRow(
            "by the renewal date alone", after: renewed,
            Message(
                "RENEWAL_EXTENDED", nil, "2025-06-20", second(), renewal("2025-07-16"), status: 1),
            at: "2025-06-25", [.notified, .confirmed, .amended],
            "active pro.monthly from 2025-05-01 until 2025-07-16, renews as pro.monthly, "
                + "paid 19980"),
        TypeRow(
            after: renewed,
            Message(
                "RENEWAL_EXTENSION", "SUMMARY", "2025-06-20",
                instead: (
                    "summary",
                    [
                        "requestIdentifier": .string("r1"), "productId": .string("pro.monthly"),
                        "succeededCount": .integer(120), "failedCount": .integer(3),
                    ]
                )), at: "2025-06-25", [.notified], untouched),
        TypeRow(
            after: renewed, june("RENEWAL_EXTENSION", "FAILURE"), at: "2025-06-15",
            [.notified, .confirmed, .confirmed], untouched),
        token("CREATED"), token("ACTIVE_TOKEN_REMINDER"), token("UNREPORTED"),
        TypeRow(
            after: renewed,
            Message("RESCIND_CONSENT", nil, "2025-06-11", instead: ("appData", [:])),
            at: "2025-06-15", [.notified], untouched),
        TypeRow(
            after: renewed, Message("TEST", nil, "2025-06-11"), at: "2025-06-15", [.notified],
            untouched),
    ]

    private static func items(_ changes: JSON.Member...) -> [String: JSON] {
        let item = JSON.object([.init("SKU", .string("a"))] + changes)
        return ["advancedCommerceInfo": .object([.init("items", .array([item]))])]
    }

    private static func migration(_ type: String) -> TypeRow {
        let line: [String: JSON] = ["originalTransactionId": .string("2001")]
        return TypeRow(
            after: renewed,
            Message(
                type, nil, "2025-06-11",
                second(
                    line.merging([
                        "transactionId": .string("2001"),
                        "previousOriginalTransactionId": .string("1001"),
                        "price": .integer(0), "transactionReason": .string("PURCHASE"),
                    ]) { _, new in new }), renewal("2025-07-01", line), status: 1),
            at: "2025-06-15", line: "2001", [.notified, .purchased, .renewalChanged],
            "active pro.monthly from 2025-06-01 until 2025-07-01, renews as pro.monthly, paid 0")
    }

    static let others = [
        TypeRow(
            after: renewed,
            Message(
                "METADATA_UPDATE", nil, "2025-06-11",
                second(items(.init("displayName", .string("More")))),
                renewal("2025-07-01", items(.init("displayName", .string("More")))), status: 1),
            at: "2025-06-15", [.notified, .amended, .amended], untouched),
        migration("MIGRATION"), migration("MIGRATE"),
        TypeRow(
            after: renewed,
            june(
                "PRICE_CHANGE", nil,
                items(
                    .init(
                        "priceIncreaseInfo",
                        .object([
                            .init("price", .integer(12_990)), .init("status", .string("PENDING")),
                        ])))),
            at: "2025-06-15", [.notified, .confirmed, .amended], untouched),
        TypeRow(
            "of a future year", after: renewed,
            Message(
                "NEW_TYPE", "NEW_SUBTYPE", "2025-07-01T00:00:05Z",
                month("1003", "2025-07-01", "2025-08-01"), renewal("2025-08-01", off), status: 9),
            at: "2025-07-15", [.notified, .renewed, .renewalChanged],
            "active pro.monthly from 2025-05-01 until 2025-08-01, ends, paid 29970"),
    ]
}
