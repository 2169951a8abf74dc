import Domain
import TestLives
import Testing

@Suite("A period")
struct PeriodTests {
    @Test("with three transactions takes each member from the newest copy that carries it")
    func aliases() {
        var history = History()
        for (id, day, price) in [("1001", 1, 10), ("1002", 2, 20), ("1003", 3, nil)] {
            history.transaction(
                id, from: "2025-05-01", until: "2025-06-01", signed: "2025-05-0\(day)"
            ) {
                $0.webOrderLineItem = "77"
                $0.priceMilliunits = price.map(Int64.init)
            }
        }
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-09") {
            $0.webOrderLineItem = "77"
            $0.priceMilliunits = nil
        }
        for _ in 0..<20 { #expect(history.told.periods.map(\.priceMilliunits) == [20]) }
    }

    @Test("begins at its first signing when a lifetime is dated ahead")
    func lifetimeAhead() {
        var history = History(line: "8001")
        history.transaction(
            "8001", "pro.lifetime", from: "2025-01-01T01:00Z", signed: "2025-01-01")
        let answer = history.entitlement(at: "2025-01-01")
        #expect(answer.mayUse && answer.until == nil && answer.flags == ["start_in_future"])
        #expect(!history.entitlement(at: "2024-12-31T23:59:59.999Z").mayUse)
    }

    @Test("of a pass that is dated ahead still ends so many days after its purchase date")
    func passAhead() {
        var history = History(line: "9001")
        history.transaction(
            "9001", "pass.90d", from: "2025-01-01T01:00Z", signed: "2025-01-01"
        ) { $0.type = "Non-Renewing Subscription" }
        let answer = history.entitlement(at: "2025-01-01")
        #expect(answer.mayUse && answer.until == at("2025-04-01T01:00Z"))
    }

    @Test("begins at its purchase when a renewal is dated ahead")
    func renewalAhead() {
        var history = History()
        history.transaction("1002", from: "2025-06-01", until: "2025-07-01", signed: "2025-05-31")
        #expect(!history.entitlement(at: "2025-05-31T12:00Z").mayUse)
    }

    @Test("of a subscription gives no access while nothing states its end")
    func endless() {
        var history = History()
        history.transaction("1001", from: "2025-05-01") { $0.type = "Auto-Renewable Subscription" }
        #expect(!history.entitlement(at: "2025-05-02").mayUse)
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-03")
        #expect(history.entitlement(at: "2025-05-02").until == at("2025-06-01"))
    }

    @Test("of a consumable is active until it is revoked")
    func consumable() {
        var history = History(line: "3001")
        history.transaction("3001", "coins.100", from: "2025-06-01", signed: "2025-06-10") {
            $0.type = "Consumable"
            $0.revokedAt = at("2025-06-09")
        }
        let line = history.told
        #expect(line.state(at: at("2025-05-31"), testSettings) == .none)
        #expect(line.state(at: at("2025-06-08T23:59:59.999Z"), testSettings) == .active)
        #expect(line.state(at: at("2025-06-09"), testSettings) == .revoked)
    }

    @Test(
        "that was upgraded gave no money back, though it was cancelled at its successor's purchase")
    func upgradeMark() {
        var history = History()
        history.transaction("1001", from: "2025-06-01", until: "2025-07-01", source: .receipt) {
            $0.isUpgraded = true
            $0.revokedAt = at("2025-06-11")
        }
        history.transaction("1002", "plus.monthly", from: "2025-06-11", until: "2025-07-11") {
            $0.reason = nil
        }
        let upgraded = history.told.periods[0]
        #expect(upgraded.ending == .succession && upgraded.revokedAt == nil && !upgraded.isRefunded)
        #expect(upgraded.refundShare == nil && upgraded.until == at("2025-06-11"))
        #expect(history.entitlement("plus", at: "2025-06-12").until == at("2025-07-11"))
    }

    @Test("that was upgraded and refunded at another instant gave its money back")
    func upgradedAndRefunded() {
        var history = History()
        history.transaction("1001", from: "2025-06-01", until: "2025-07-01", source: .receipt) {
            $0.isUpgraded = true
            $0.revokedAt = at("2025-06-10")
        }
        history.transaction("1002", "plus.monthly", from: "2025-06-11", until: "2025-07-11")
        #expect(history.told.periods[0].isRefunded && history.told.periods[0].ending == .revocation)
    }

    @Test("refunds the share that Apple names, at most all of it, and no money in a family")
    func shares() {
        for (type, share, ownership, refunded) in [
            (nil, nil, "PURCHASED", 100_000), ("REFUND_PRORATED", 40_000, "PURCHASED", 40_000),
            ("REFUND_FULL", 250_000, "PURCHASED", 100_000), (nil, -5, "PURCHASED", 0),
            ("FAMILY_REVOKE", nil, "PURCHASED", nil), (nil, nil, "FAMILY_SHARED", nil),
        ] as [(String?, Int64?, String, Int64?)] {
            var history = History()
            history.transaction("1001", from: "2025-06-01", until: "2025-07-01") {
                $0.revokedAt = at("2025-06-10")
                $0.revocationType = type
                $0.revocationPercentage = share
                $0.ownership = ownership
            }
            #expect(history.told.periods[0].refundShare == refunded)
            #expect(history.told.periods[0].isRefunded == (refunded != nil))
            #expect(history.told.periods[0].until == at("2025-06-10"))
        }
    }

    @Test("with dates at the ends of time gives answers, not a crash")
    func extremes() {
        let dates: [Instant] = [
            .distantPast, Instant(milliseconds: 0), .latestStated, .distantFuture,
        ]
        for purchased in dates {
            for expires in dates {
                for signed in dates {
                    var history = History()
                    history.transaction("1001", from: "2025-01-01", until: "2025-01-02") {
                        $0.purchasedAt = purchased
                        $0.expiresAt = expires
                        $0.signedAt = signed
                        $0.revokedAt = signed
                    }
                    history.transaction("1002", "pass.90d", from: "2025-01-01") {
                        $0.type = "Non-Renewing Subscription"
                        $0.purchasedAt = purchased
                        $0.signedAt = expires
                    }
                    history.renewal(signed: "2025-01-01") {
                        $0.signedAt = signed
                        $0.graceExpiresAt = expires
                        $0.isInBillingRetry = true
                    }
                    history.notice("RENEWAL_EXTENDED", signed: "2025-01-01") {
                        $0.renewsAt = expires
                    }
                    for instant in dates {
                        let answers = Holdings(
                            lines: [history.told], links: [:], settings: testSettings
                        ).verdicts(for: CustomerNumber(1), at: instant)
                        #expect(answers.freshSince ?? .distantPast <= instant)
                    }
                }
            }
        }
    }
}
