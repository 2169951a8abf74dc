import AppStore
import Crypto
import Domain
import Testing

@Suite("A signed transaction")
struct StatementTests {
    private func statement(
        _ changes: [String: String?], _ sample: Sample
    ) throws -> TransactionStatement? {
        sample.state(try sample.transaction(changes)).observation?.transaction?.content
    }

    @Test("is read member by member")
    func whole() throws {
        let sample = try Sample()
        var expected = TransactionStatement(
            transaction: "1002", original: "1001", bundle: "com.example.app",
            product: "pro.monthly", purchasedAt: Instant(milliseconds: 1_749_900_000_000),
            signedAt: Instant(milliseconds: 1_749_999_990_000), environment: .sandbox)
        expected.webOrderLineItem = "9002"
        expected.originallyPurchasedAt = Instant(milliseconds: 1_740_000_000_000)
        expected.expiresAt = Instant(milliseconds: 1_752_500_000_000)
        expected.quantity = 1
        expected.type = "Auto-Renewable Subscription"
        expected.ownership = "PURCHASED"
        expected.reason = "RENEWAL"
        expected.priceMilliunits = 9_990
        expected.currency = "USD"
        expected.appAccountToken = Sample.token.lowercased()
        #expect(try statement([:], sample) == expected)
        #expect(
            sample.state(try sample.transaction()).observation?.transaction?.fingerprint.hex
                == SHA256.digest(of: Sample.transactionPayload()).description)
    }

    @Test("says of a refund, an offer and a commitment what Apple says")
    func optionalMembers() throws {
        let sample = try Sample()
        let found = try #require(
            try statement(
                [
                    "revocationDate": "1750000000000", "revocationReason": "0",
                    "revocationType": "\"REFUND_PRORATED\"", "revocationPercentage": "40000",
                    "isUpgraded": "true", "offerType": "1", "offerDiscountType": "\"FREE_TRIAL\"",
                    "offerPeriod": "\"P1W\"", "storefront": "\"USA\"",
                    "subscriptionGroupIdentifier": "\"G\"",
                    "previousOriginalTransactionId": "\"900\"", "billingPlanType": "\"MONTHLY\"",
                    "commitmentInfo":
                        "{\"commitmentExpiresDate\":1780000000000,\"billingPeriodNumber\":3,"
                        + "\"totalBillingPeriods\":12}",
                ], sample))
        #expect(found.revokedAt == Instant(milliseconds: 1_750_000_000_000))
        #expect(found.revocationReason == 0 && found.revocationType == "REFUND_PRORATED")
        #expect(found.revocationPercentage == 40_000 && found.isUpgraded == true)
        #expect(found.offerType == 1 && found.offerDiscountType == "FREE_TRIAL")
        #expect(found.offerPeriod == "P1W" && found.storefront == "USA" && found.group == "G")
        #expect(found.previousOriginal == "900" && found.billingPlan == "MONTHLY")
        #expect(found.commitmentExpiresAt == Instant(milliseconds: 1_780_000_000_000))
        #expect(found.billingPeriodNumber == 3 && found.totalBillingPeriods == 12)
    }

    @Test("says of seats what Apple says")
    func seats() throws {
        let sample = try Sample()
        let found = try #require(
            try statement(
                [
                    "quantity": "3", "additionalTransactionReason": "\"SEAT_ADDITION\"",
                    "multiSeatInfo":
                        "{\"priceTiers\":[{\"price\":5000,\"quantity\":2},"
                        + "{\"price\":\"4000\",\"quantity\":1}],"
                        + "\"invitationManagement\":\"APPLE\",\"revokedSeatQuantity\":1}",
                ], sample))
        #expect(found.quantity == 3 && found.additionalReason == "SEAT_ADDITION")
        #expect(
            found.seats
                == SeatStatement(
                    tiers: [
                        SeatStatement.Tier(priceMilliunits: 5000, quantity: 2),
                        SeatStatement.Tier(priceMilliunits: 4000, quantity: 1),
                    ], invitationManagement: "APPLE", revokedQuantity: 1))
        #expect(try statement(["multiSeatInfo": "{}"], sample)?.seats == SeatStatement())
    }

    @Test("keeps what a developer's own items say as it is, with whole numbers alone")
    func advancedCommerce() throws {
        let sample = try Sample()
        let info =
            "{\"items\":[{\"SKU\":\"a\",\"refunds\":[{\"refundAmount\":990}]}],\"rate\":0.20}"
        let found = try statement(["advancedCommerceInfo": info], sample)?.advancedCommerce
        let kept = try JSON.parse(info.replacing("0.20", with: "\"0.20\""))
        #expect(found == kept)
        let turned =
            "{\"rate\":0.20,\"items\":[{\"refunds\":[{\"refundAmount\":990}],\"SKU\":\"a\"}]}"
        #expect(try statement(["advancedCommerceInfo": turned], sample)?.advancedCommerce == kept)
        let deep = String(repeating: "{\"a\":", count: 16) + "1" + String(repeating: "}", count: 16)
        for wrong in ["[]", "{\"a\":\"\\u0000\"}", "{\"\\u0000\":1}", deep] {
            let outcome = sample.state(try sample.transaction(["advancedCommerceInfo": wrong]))
            guard case .held(.unparsable, let detail, _) = outcome else {
                Issue.record("\(wrong) gave \(outcome.reason ?? "belief")")
                continue
            }
            #expect(detail.hasPrefix("advancedCommerceInfo"))
        }
    }

    @Test("may write numbers as text, text as numbers, and fractions of milliseconds")
    func tolerance() throws {
        let sample = try Sample()
        let plain = try #require(try statement([:], sample))
        for changes in [
            ["purchaseDate": "\"1749900000000\""], ["purchaseDate": "1749900000000.9997"],
            ["purchaseDate": "\"1749900000000.5\""], ["purchaseDate": "1.7499e12"],
            ["transactionId": "1002"], ["originalTransactionId": "1001"], ["price": "\"9990\""],
            ["quantity": "1.0"], ["offerType": "null"], ["isUpgraded": "null"], ["new": "{}"],
            ["offerIdentifier": "\"\""], ["appAccountToken": "\"\(Sample.token.uppercased())\""],
        ] as [[String: String?]] {
            #expect(try statement(changes, sample) == plain)
        }
        let long = "123456789012345678"
        #expect(try statement(["transactionId": long], sample)?.transaction == long)
        #expect(try statement(["transactionId": "\"\(long)\""], sample)?.transaction == long)
        let longer = "98765432109876543210"
        #expect(try statement(["webOrderLineItemId": longer], sample)?.webOrderLineItem == longer)
        #expect(try statement(["isUpgraded": "\"false\""], sample)?.isUpgraded == false)
        #expect(try statement(["type": "\"New Type\""], sample)?.type == "New Type")
        #expect(try statement(["offerType": "99"], sample)?.offerType == 99)
    }

    @Test("is its line's first when it names no original")
    func original() throws {
        let sample = try Sample()
        for value in [nil, "null", "\"\""] {
            #expect(try statement(["originalTransactionId": value], sample)?.original == "1002")
        }
    }

    @Test("is held when a member it needs is missing, or one has a type that says nothing")
    func unparsable() throws {
        let sample = try Sample()
        for (changes, member) in [
            (["transactionId": nil], "transactionId"), (["productId": "\"\""], "productId"),
            (["purchaseDate": nil], "purchaseDate"), (["purchaseDate": "true"], "purchaseDate"),
            (["purchaseDate": "\"soon\""], "purchaseDate"), (["price": "{}"], "price"),
            (["price": "1.5"], "price"), (["transactionId": "[1]"], "transactionId"),
            (["transactionId": "1.5"], "transactionId"),
            (["isUpgraded": "\"maybe\""], "isUpgraded"),
            (["signedDate": "\"x\""], "signedDate"), (["commitmentInfo": "1"], "commitmentInfo"),
            (["storefront": "\"\\u0000\""], "storefront"),
            (["transactionId": "\"1/2\""], "transactionId"),
            (["appAccountToken": "\"\(String(repeating: "7", count: 256))\""], "appAccountToken"),
            (["commitmentInfo": "{\"billingPeriodNumber\":[]}"], "commitmentInfo.billingPeriod"),
            (["multiSeatInfo": "1"], "multiSeatInfo"),
            (["multiSeatInfo": "{\"priceTiers\":1}"], "multiSeatInfo.priceTiers"),
            (["multiSeatInfo": "{\"priceTiers\":[1]}"], "multiSeatInfo.priceTiers[0]"),
            (["multiSeatInfo": "{\"priceTiers\":[{\"price\":1}]}"], "multiSeatInfo.priceTiers"),
            (
                ["multiSeatInfo": "{\"priceTiers\":[{\"price\":[],\"quantity\":1}]}"],
                "multiSeatInfo.priceTiers[0].price"
            ),
        ] as [([String: String?], String)] {
            let outcome = sample.state(try sample.transaction(changes))
            guard case .held(.unparsable, let detail, _) = outcome else {
                Issue.record("\(changes) gave \(outcome.reason ?? "belief")")
                continue
            }
            #expect(detail.hasPrefix(member))
        }
    }

    @Test("is held when a date is none of a store's life")
    func outOfRange() throws {
        let sample = try Sample()
        for name in ["purchaseDate", "expiresDate", "revocationDate"] {
            for value in ["0", "-1", "253402300800000", "99999999999999999999", "-1e300"] {
                let outcome = sample.state(try sample.transaction([name: value]))
                #expect(outcome.reason == "out_of_range", "\(name) \(value)")
            }
            #expect(sample.state(try sample.transaction([name: "253402300799999"])).reason == nil)
            #expect(sample.state(try sample.transaction([name: "1"])).reason == nil)
        }
    }

    @Test("alone is of its own environment, of its answer's, or of the only one listed")
    func environment() throws {
        let sample = try Sample()
        let bare = try sample.transaction(["environment": nil])
        #expect(sample.state(bare).reason == "environment_unknown")
        let answered = sample.interpreter.transaction(
            Array(bare.utf8), receivedAt: Sample.receivedAt, source: .serverAPI,
            environment: .production)
        #expect(answered.observation?.transaction?.content.environment == .production)
        let one = try Sample(sample.store, environments: [.sandbox])
        #expect(one.state(bare).observation?.transaction?.content.environment == .sandbox)
        let listed = try Sample(sample.store, environments: [.production])
        #expect(
            listed.state(try sample.transaction()).reason == "environment_not_allowed")
    }

    @Test("of another app, or of none, is held")
    func app() throws {
        let sample = try Sample()
        for bundle in [nil, "\"com.example.other\"", "\"COM.EXAMPLE.APP\""] {
            #expect(
                sample.state(try sample.transaction(["bundleId": bundle])).reason == "wrong_app")
        }
    }

    @Test("carries its caveats")
    func flags() throws {
        let sample = try Sample()
        #expect(try statement(["signedDate": nil], sample)?.flags == ["no_signed_date"])
        #expect(try statement(["signedDate": nil], sample)?.signedAt == Sample.receivedAt)
        #expect(try statement(["signedDate": "1750000000001"], sample)?.flags == ["clock_skew"])
        let text = try sample.transaction() + "\n"
        #expect(
            sample.state(text).observation?.transaction?.content.flags == ["non_canonical"])
        #expect(
            sample.state(try sample.transaction(["signedDate": "1750086400001"])).reason
                == "future_signed")
    }

    @Test("and a signed renewal info are not taken for each other")
    func kinds() throws {
        let sample = try Sample()
        let renewal = Array(try sample.renewal().utf8)
        let known = sample.interpreter.renewalInfo(renewal, receivedAt: Sample.receivedAt)
        #expect(known.observation?.renewal?.content.original == "1001")
        #expect(
            sample.interpreter.transaction(renewal, receivedAt: Sample.receivedAt).reason
                == "unparsable")
        #expect(sample.notify(try sample.renewal()).reason == "unparsable")
        let nameless = try sample.renewal(["originalTransactionId": nil])
        #expect(
            sample.interpreter.renewalInfo(
                Array(nameless.utf8), receivedAt: Sample.receivedAt
            ).reason == "unparsable")
    }
}
