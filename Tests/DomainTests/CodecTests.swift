import Domain
import TestLives
import Testing

@Suite("A recorded body")
struct CodecTests {
    /// A body as some edition wrote it, and what it must say for ever.
    struct Golden: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: String
        let content: Event.Content
    }

    @Test("that was once written is still read", arguments: golden)
    func stillRead(_ golden: Golden) throws {
        let json = try JSON.parse(golden.body)
        #expect(try Event.Content(body: json) == golden.content)
        #expect(
            String(decoding: golden.content.body.canonicalBytes(), as: UTF8.self) == golden.body)
    }

    /// Every form that is recorded.
    private enum Form: String, CaseIterable {
        case notice, transaction, renewal, confirmation, tokenLink, binding, presentation
        case grant, grantEnd, merge, unmerge, settings, catalog, rates

        /// The form of a content; a new case needs a form, and with it an example below.
        init?(_ content: Event.Content) {
            switch content {
            case .notice: self = .notice
            case .transaction: self = .transaction
            case .renewal: self = .renewal
            case .confirmation: self = .confirmation
            case .tokenLink: self = .tokenLink
            case .binding: self = .binding
            case .presentation: self = .presentation
            case .grant: self = .grant
            case .grantEnd: self = .grantEnd
            case .merge: self = .merge
            case .unmerge: self = .unmerge
            case .settings: self = .settings
            case .catalog: self = .catalog
            case .rates: self = .rates
            case .unrecognized, .unreadable: return nil
            }
        }
    }

    @Test("has an example here, whatever its form, and begins with the form's name")
    func everyForm() {
        for form in Form.allCases {
            let bodies = CodecTests.golden.filter { Form($0.content) == form }.map(\.body)
            #expect(!bodies.isEmpty, "\(form) has no example")
            for body in bodies { #expect(body.hasPrefix("{\"\(form.rawValue)\":")) }
        }
    }

    @Test("of a later edition is kept as it is")
    func unrecognized() throws {
        for text in [#"{"omen":{"a":1}}"#, #"{"notice":1,"other":2}"#, "[]", "7"] {
            let json = try JSON.parse(text)
            #expect(try Event.Content(body: json) == .unrecognized(json))
            #expect(Event.Content.unrecognized(json).body == json)
        }
    }

    @Test("that lacks what it must have, or has it of another kind, is refused by name")
    func refused() throws {
        let refused = [
            (#"{"binding":{"from":5}}"#, "customer"),
            (#"{"binding":{"customer":1,"from":"5"}}"#, "from"),
            (#"{"presentation":{"customer":1}}"#, "at"),
            (#"{"tokenLink":{"token":1.5,"customer":1}}"#, "token"),
            (#"{"confirmation":{"statement":"00"}}"#, "signedDate"),
            (#"{"settings":{"ownership":"mine"}}"#, "ownership"),
            (#"{"catalog":{}}"#, "products"),
            (#"{"catalog":{"products":{"a":{"kind":"x","entitlements":[1]}}}}"#, "entitlements"),
            (#"{"renewal":{"originalTransactionId":1}}"#, "originalTransactionId"),
            (#"{"transaction":[]}"#, "transactionId"),
            (
                #"{"transaction":{"transactionId":"1","originalTransactionId":"1","bundleId":"b","#
                    + #""productId":"p","purchaseDate":1,"signedDate":1,"environment":"Sandbox","#
                    + #""multiSeatInfo":{"priceTiers":[{"price":1}]}}}"#, "quantity"
            ),
            (#"{"grant":{"id":"a","entitlement":"pro","from":1}}"#, "reason"),
            (#"{"grantEnd":{"id":"a"}}"#, "at"),
            (#"{"merge":{"at":1}}"#, "into"),
            (#"{"rates":{"day":"2025-02-30"}}"#, "day"),
            (#"{"rates":{"day":"2025-02-03","values":{"USD":1}}}"#, "values"),
            (#"{"rates":{"day":"2025-02-03","values":{"USD":"1e3"}}}"#, "values"),
            (#"{"unmerge":{"into":1,"at":"1"}}"#, "at"),
        ]
        for (text, member) in refused {
            let json = try JSON.parse(text)
            #expect(throws: CodecError.unreadable(member: member)) {
                try Event.Content(body: json)
            }
        }
    }

    @Test("of a random statement reads back as it was")
    func roundTrip() throws {
        var random = SplitMix64(seed: 11)
        for _ in 0..<cases(2000, long: 100_000) {
            let contents = [
                Event.Content.transaction(randomTransaction(&random)),
                .renewal(randomRenewal(&random)), .notice(randomNotice(&random)),
            ]
            for content in contents {
                let json = try JSON.parse(content.body.canonicalBytes())
                #expect(try Event.Content(body: json) == content)
            }
        }
    }

    static let golden: [Golden] = [
        Golden(
            testDescription: "transaction",
            body: #"{"transaction":{"bundleId":"com.example.app","currency":"USD","#
                + #""environment":"Production","expiresDate":1751328000000,"#
                + #""inAppOwnershipType":"PURCHASED","isUpgraded":false,"#
                + #""originalTransactionId":"1001","price":9990,"productId":"pro.monthly","#
                + #""purchaseDate":1748736000000,"revocationDate":1749556680000,"#
                + #""revocationPercentage":100000,"revocationType":"REFUND_FULL","#
                + #""signedDate":1749556800000,"token":7,"transactionId":"1002","#
                + #""transactionReason":"RENEWAL","type":"Auto-Renewable Subscription","#
                + #""webOrderLineItemId":"5002"}}"#,
            content: .transaction(goldenTransaction)),
        Golden(
            testDescription: "transaction of seats",
            body: #"{"transaction":{"additionalTransactionReason":"SEAT_ADDITION","#
                + #""bundleId":"com.example.app","environment":"Production","multiSeatInfo":"#
                + #"{"invitationManagement":"APPLE","priceTiers":[{"price":5000,"quantity":2},"#
                + #"{"price":4000,"quantity":1}],"revokedSeatQuantity":1},"#
                + #""originalTransactionId":"1001","productId":"pro.monthly","#
                + #""purchaseDate":1748736000000,"quantity":3,"signedDate":1748736005000,"#
                + #""transactionId":"1002"}}"#,
            content: .transaction(goldenSeats)),
        Golden(
            testDescription: "transaction of a commitment",
            body:
                #"{"transaction":{"advancedCommerceInfo":{"items":[{"SKU":"a"}],"taxRate":"0.2"},"#
                + #""billingPeriodNumber":2,"billingPlanType":"MONTHLY","#
                + #""bundleId":"com.example.app","commitmentExpiresDate":1780272000000,"#
                + #""environment":"Production","originalTransactionId":"1001","#
                + #""previousOriginalTransactionId":"900","productId":"pro.monthly","#
                + #""purchaseDate":1748736000000,"signedDate":1748736005000,"#
                + #""totalBillingPeriods":12,"transactionId":"1002"}}"#,
            content: .transaction(goldenCommitment)),
        Golden(
            testDescription: "renewal of seats in a commitment",
            body: #"{"renewal":{"advancedCommerceInfo":{"items":[]},"#
                + #""commitmentAutoRenewProductId":"basic.monthly","#
                + #""commitmentAutoRenewStatus":false,"commitmentRenewalDate":1780272000000,"#
                + #""environment":"Production","originalTransactionId":"1001","#
                + #""renewalQuantity":5,"signedDate":1748736005000}}"#,
            content: .renewal(goldenCommitmentRenewal)),
        Golden(
            testDescription: "renewal",
            body: #"{"renewal":{"autoRenewProductId":"pro.monthly","autoRenewStatus":true,"#
                + #""environment":"Sandbox","expirationIntent":2,"flags":["clock_skew"],"#
                + #""gracePeriodExpiresDate":1752710400000,"isInBillingRetryPeriod":true,"#
                + #""originalTransactionId":"1001","signedDate":1751328300000}}"#,
            content: .renewal(goldenRenewal)),
        Golden(
            testDescription: "notice",
            body: #"{"notice":{"bundleId":"com.example.app","details":{"succeededCount":120},"#
                + #""environment":"Production","notificationType":"DID_RENEW","#
                + #""notificationUUID":"u-1","originalTransactionId":"1001","repeats":["ab"],"#
                + #""signedDate":1751328300000,"status":1,"transactionId":"1002"}}"#,
            content: .notice(goldenNotice)),
        Golden(
            testDescription: "confirmation",
            body: #"{"confirmation":{"signedDate":5,"statement":"ab"}}"#,
            content: .confirmation(
                Confirmation(
                    statement: Fingerprint(hex: "ab"), signedAt: Instant(milliseconds: 5)))),
        Golden(
            testDescription: "token link", body: #"{"tokenLink":{"customer":2,"token":1}}"#,
            content: .tokenLink(
                TokenLink(token: CustomerNumber(1), customer: CustomerNumber(2)))),
        Golden(
            testDescription: "binding", body: #"{"binding":{"customer":2,"from":-5}}"#,
            content: .binding(
                LineBinding(customer: CustomerNumber(2), from: Instant(milliseconds: -5)))),
        Golden(
            testDescription: "binding from the start", body: #"{"binding":{"customer":2}}"#,
            content: .binding(LineBinding(customer: CustomerNumber(2), from: nil))),
        Golden(
            testDescription: "presentation", body: #"{"presentation":{"at":9,"customer":2}}"#,
            content: .presentation(
                Presentation(customer: CustomerNumber(2), at: Instant(milliseconds: 9)))),
        Golden(
            testDescription: "settings",
            body: #"{"settings":{"gracePeriodDays":{"com.example.app":16},"#
                + #""ownership":"lastPresenter","stackPasses":true,"validFrom":3}}"#,
            content: .settings(
                SettingsChange(
                    ownership: .lastPresenter, stackPasses: true,
                    graceDays: ["com.example.app": 16], validFrom: Instant(milliseconds: 3)))),
        Golden(
            testDescription: "catalogue",
            body: #"{"catalog":{"alwaysFor":["pass"],"products":{"pass":{"accessDuration":"P90D","#
                + #""entitlements":["pro"],"kind":"nonRenewing"},"pro":{"entitlements":["pro","#
                + #""plus"],"group":"G1","kind":"autoRenewable","level":1,"plan":"P1M"}}}}"#,
            content: .catalog(goldenCatalog)),
        Golden(
            testDescription: "catalogue from an instant on",
            body: #"{"catalog":{"products":{},"validFrom":3}}"#,
            content: .catalog(CatalogChange(products: [:], validFrom: Instant(milliseconds: 3)))),
        Golden(
            testDescription: "rates",
            body: #"{"rates":{"base":"EUR","day":"2025-06-10","publisher":"ECB","#
                + #""values":{"JPY":"165.4","USD":"1.1429"}}}"#,
            content: .rates(
                RatesSet(
                    day: Day("2025-06-10")!, base: "EUR", publisher: "ECB",
                    values: ["USD": ExactDecimal("1.1429")!, "JPY": ExactDecimal("165.40")!]))),
        Golden(
            testDescription: "grant",
            body: #"{"grant":{"entitlement":"pro","from":1,"id":"grant_a","reason":"apology","#
                + #""until":2}}"#,
            content: .grant(goldenGrant(until: Instant(milliseconds: 2)))),
        Golden(
            testDescription: "grant without end",
            body: #"{"grant":{"entitlement":"pro","from":1,"id":"grant_a","reason":"apology"}}"#,
            content: .grant(goldenGrant(until: nil))),
        Golden(
            testDescription: "grant's end", body: #"{"grantEnd":{"at":4,"id":"grant_a"}}"#,
            content: .grantEnd(GrantEnd(id: "grant_a", at: Instant(milliseconds: 4)))),
        Golden(
            testDescription: "merge", body: #"{"merge":{"at":4,"into":2}}"#,
            content: .merge(Merge(into: CustomerNumber(2), at: Instant(milliseconds: 4)))),
        Golden(
            testDescription: "unmerge", body: #"{"unmerge":{"at":5,"into":2}}"#,
            content: .unmerge(Merge(into: CustomerNumber(2), at: Instant(milliseconds: 5)))),
    ]

    private static func goldenGrant(until: Instant?) -> Grant {
        Grant(
            id: "grant_a", entitlement: "pro", from: Instant(milliseconds: 1), until: until,
            reason: "apology")
    }

    private static var goldenTransaction: TransactionStatement {
        var statement = TransactionStatement(
            transaction: "1002", original: "1001", bundle: "com.example.app",
            product: "pro.monthly", purchasedAt: at("2025-06-01"),
            signedAt: at("2025-06-10T12:00Z"), environment: .production)
        statement.webOrderLineItem = "5002"
        statement.expiresAt = at("2025-07-01")
        statement.type = "Auto-Renewable Subscription"
        statement.ownership = "PURCHASED"
        statement.token = CustomerNumber(7)
        statement.revokedAt = at("2025-06-10T11:58Z")
        statement.revocationType = "REFUND_FULL"
        statement.revocationPercentage = 100_000
        statement.isUpgraded = false
        statement.reason = "RENEWAL"
        statement.priceMilliunits = 9990
        statement.currency = "USD"
        return statement
    }

    private static var goldenPlain: TransactionStatement {
        TransactionStatement(
            transaction: "1002", original: "1001", bundle: "com.example.app",
            product: "pro.monthly", purchasedAt: at("2025-06-01"),
            signedAt: at("2025-06-01T00:00:05Z"), environment: .production)
    }

    private static var goldenSeats: TransactionStatement {
        var statement = goldenPlain
        statement.quantity = 3
        statement.additionalReason = "SEAT_ADDITION"
        statement.seats = SeatStatement(
            tiers: [
                SeatStatement.Tier(priceMilliunits: 5000, quantity: 2),
                SeatStatement.Tier(priceMilliunits: 4000, quantity: 1),
            ], invitationManagement: "APPLE", revokedQuantity: 1)
        return statement
    }

    private static var goldenCommitment: TransactionStatement {
        var statement = goldenPlain
        statement.billingPlan = "MONTHLY"
        statement.billingPeriodNumber = 2
        statement.totalBillingPeriods = 12
        statement.commitmentExpiresAt = at("2026-06-01")
        statement.previousOriginal = "900"
        let item = JSON.object([JSON.Member("SKU", .string("a"))])
        statement.advancedCommerce = .object([
            JSON.Member("items", .array([item])), JSON.Member("taxRate", .string("0.2")),
        ])
        return statement
    }

    private static var goldenCommitmentRenewal: RenewalStatement {
        var statement = RenewalStatement(
            original: "1001", signedAt: at("2025-06-01T00:00:05Z"), environment: .production)
        statement.commitmentWillRenew = false
        statement.commitmentRenewsProduct = "basic.monthly"
        statement.commitmentRenewsAt = at("2026-06-01")
        statement.renewalQuantity = 5
        statement.advancedCommerce = .object([JSON.Member("items", .array([]))])
        return statement
    }

    private static var goldenRenewal: RenewalStatement {
        var statement = RenewalStatement(
            original: "1001", signedAt: at("2025-07-01T00:05Z"), environment: .sandbox)
        statement.renewsProduct = "pro.monthly"
        statement.willRenew = true
        statement.expirationIntent = 2
        statement.isInBillingRetry = true
        statement.graceExpiresAt = at("2025-07-17")
        statement.flags = ["clock_skew"]
        return statement
    }

    private static var goldenNotice: Notice {
        var notice = Notice(
            uuid: "u-1", type: "DID_RENEW", signedAt: at("2025-07-01T00:05Z"),
            environment: .production, bundle: "com.example.app")
        notice.original = "1001"
        notice.transaction = "1002"
        notice.status = 1
        notice.details = .object([JSON.Member("succeededCount", .integer(120))])
        notice.repeats = [Fingerprint(hex: "ab")]
        return notice
    }

    private static let goldenCatalog = CatalogChange(
        products: [
            "pro": Product(
                kind: "autoRenewable", group: "G1", level: 1, plan: "P1M",
                entitlements: ["pro", "plus"]),
            "pass": Product(
                kind: "nonRenewing", accessDuration: "P90D", entitlements: ["pro"]),
        ], alwaysFor: ["pass"])
}

extension CodecTests {
    private func text(_ random: inout SplitMix64) -> String {
        let letters = Array("aZ09é漢🎈\"\\/\u{0}\u{1f}\u{7f}\u{2028}\n\t ")
        return String((0..<random.below(9)).map { _ in letters[random.below(letters.count)] })
    }

    private func textIfAny(_ random: inout SplitMix64) -> String? {
        random.once(in: 2) ? text(&random) : nil
    }

    private func whole(_ random: inout SplitMix64) -> Int64? {
        switch random.below(5) {
        case 0: nil
        case 1: .min
        case 2: .max
        case 3: 0
        default: Int64.random(in: -1_000_000...1_000_000, using: &random)
        }
    }

    private func instant(_ random: inout SplitMix64) -> Instant? {
        whole(&random).map(Instant.init(milliseconds:))
    }

    private func randomTransaction(_ random: inout SplitMix64) -> TransactionStatement {
        var statement = TransactionStatement(
            transaction: text(&random), original: text(&random), bundle: text(&random),
            product: text(&random), purchasedAt: instant(&random) ?? .distantPast,
            signedAt: instant(&random) ?? .distantFuture,
            environment: Environment(text(&random)))
        statement.webOrderLineItem = textIfAny(&random)
        statement.group = textIfAny(&random)
        statement.originallyPurchasedAt = instant(&random)
        statement.expiresAt = instant(&random)
        statement.quantity = whole(&random)
        statement.type = textIfAny(&random)
        statement.ownership = textIfAny(&random)
        statement.token = whole(&random).map(CustomerNumber.init)
        statement.revokedAt = instant(&random)
        statement.revocationReason = whole(&random)
        statement.revocationType = textIfAny(&random)
        statement.revocationPercentage = whole(&random)
        statement.isUpgraded = random.once(in: 3) ? nil : random.once(in: 2)
        statement.offerType = whole(&random)
        statement.offerIdentifier = textIfAny(&random)
        statement.offerDiscountType = textIfAny(&random)
        statement.offerPeriod = textIfAny(&random)
        statement.storefront = textIfAny(&random)
        statement.reason = textIfAny(&random)
        statement.priceMilliunits = whole(&random)
        statement.currency = textIfAny(&random)
        statement.billingPlan = textIfAny(&random)
        statement.commitmentExpiresAt = instant(&random)
        statement.billingPeriodNumber = whole(&random)
        statement.totalBillingPeriods = whole(&random)
        statement.additionalReason = textIfAny(&random)
        statement.seats = random.once(in: 2) ? randomSeats(&random) : nil
        statement.advancedCommerce = textIfAny(&random).map { .array([.null, .string($0)]) }
        statement.previousOriginal = textIfAny(&random)
        statement.flags = random.once(in: 2) ? [text(&random), text(&random)] : []
        return statement
    }

    private func randomSeats(_ random: inout SplitMix64) -> SeatStatement {
        var seats = SeatStatement(
            invitationManagement: textIfAny(&random), revokedQuantity: whole(&random))
        for _ in 0..<random.below(3) {
            seats.tiers.append(
                SeatStatement.Tier(
                    priceMilliunits: whole(&random) ?? 1, quantity: whole(&random) ?? 2))
        }
        return seats
    }

    private func randomRenewal(_ random: inout SplitMix64) -> RenewalStatement {
        var statement = RenewalStatement(
            original: text(&random), signedAt: instant(&random) ?? .distantPast,
            environment: Environment(text(&random)))
        statement.product = textIfAny(&random)
        statement.renewsProduct = textIfAny(&random)
        statement.willRenew = random.once(in: 3) ? nil : random.once(in: 2)
        statement.expirationIntent = whole(&random)
        statement.isInBillingRetry = random.once(in: 3) ? nil : random.once(in: 2)
        statement.graceExpiresAt = instant(&random)
        statement.priceIncreaseStatus = whole(&random)
        statement.offerType = whole(&random)
        statement.offerIdentifier = textIfAny(&random)
        statement.renewsAt = instant(&random)
        statement.renewalPriceMilliunits = whole(&random)
        statement.currency = textIfAny(&random)
        statement.recentStartAt = instant(&random)
        statement.renewalBillingPlan = textIfAny(&random)
        statement.commitmentWillRenew = random.once(in: 3) ? nil : random.once(in: 2)
        statement.commitmentRenewsProduct = textIfAny(&random)
        statement.commitmentRenewsAt = instant(&random)
        statement.renewalQuantity = whole(&random)
        statement.advancedCommerce = textIfAny(&random).map { .string($0) }
        statement.token = whole(&random).map(CustomerNumber.init)
        statement.flags = random.once(in: 2) ? [text(&random)] : []
        return statement
    }

    private func randomNotice(_ random: inout SplitMix64) -> Notice {
        var notice = Notice(
            uuid: text(&random), type: text(&random), signedAt: instant(&random) ?? .distantPast,
            environment: Environment(text(&random)), bundle: text(&random))
        notice.subtype = textIfAny(&random)
        notice.original = textIfAny(&random)
        notice.transaction = textIfAny(&random)
        notice.renewalSignedAt = instant(&random)
        notice.renewsAt = instant(&random)
        notice.status = whole(&random)
        notice.consumptionReason = textIfAny(&random)
        notice.details = textIfAny(&random).map { .array([.null, .string($0)]) }
        notice.repeats = random.once(in: 2) ? [Fingerprint(hex: text(&random))] : []
        notice.flags = random.once(in: 2) ? [text(&random)] : []
        return notice
    }
}
