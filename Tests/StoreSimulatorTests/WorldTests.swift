import Domain
import TestLives
import Testing

@testable import StoreSimulator

@Suite("A life in the store")
struct WorldTests {
    @Test("renews within the last day, and ends when it was cancelled")
    func renews() {
        let play = Play(
            [("2025-01-01", .buy("pro.monthly")), ("2025-02-10", .cancel)], until: "2025-06-01")
        #expect(
            play.told.map { String($0.dropFirst(11)) } == [
                "SUBSCRIBED/INITIAL_BUY", "DID_RENEW",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
            ])
        #expect(play.access() == ["2025-01-01–2025-03-01"])
        let renewal = play.world.notices[1]
        #expect(renewal.signedAt > at("2025-01-31") && renewal.signedAt <= at("2025-02-01"))
        #expect(renewal.transactionPayload?["purchaseDate"] == .instant(at("2025-02-01")))
        #expect(play.world.notices.map(\.status) == [1, 1, 1, 2])
    }

    @Test("aims at the same day of each month")
    func clamps() {
        let play = Play([("2025-01-31", .buy("pro.monthly"))], until: "2025-05-15")
        let ends = play.world.transactions.compactMap(\.expiresAt).map { $0.description.prefix(10) }
        #expect(ends == ["2025-02-28", "2025-03-31", "2025-04-30", "2025-05-31"])
    }

    @Test("goes on through grace, stands still in retry, and goes on when the bank pays")
    func recovers() {
        let broken: [(String, Step)] = [
            ("2025-01-01", .buy("pro.monthly")), ("2025-01-10", .fail),
        ]
        let inGrace = Play(broken + [("2025-02-10", .recover)], until: "2025-02-20")
        #expect(
            inGrace.told.suffix(2) == [
                "2025-02-01 DID_FAIL_TO_RENEW/GRACE_PERIOD",
                "2025-02-10 DID_RENEW/BILLING_RECOVERY",
            ])
        #expect(inGrace.access() == ["2025-01-01–2025-03-01"])
        let after = Play(broken + [("2025-03-05", .recover)], until: "2025-03-10")
        #expect(
            after.told.suffix(2) == [
                "2025-02-17 GRACE_PERIOD_EXPIRED", "2025-03-05 DID_RENEW/BILLING_RECOVERY",
            ])
        #expect(after.access() == ["2025-01-01–2025-02-17", "2025-03-05–2025-04-05"])
        let never = Play(broken, until: "2025-06-01", graceDays: 0)
        #expect(
            never.told.suffix(2) == [
                "2025-02-01 DID_FAIL_TO_RENEW", "2025-04-02 EXPIRED/BILLING_RETRY",
            ])
        #expect(never.access() == ["2025-01-01–2025-02-01"])
        #expect(never.world.notices.suffix(2).map(\.status) == [3, 2])
    }

    @Test("ends at once when renewal is turned off during grace")
    func cancelledInGrace() {
        let play = Play(
            [
                ("2025-01-01", .buy("pro.monthly")), ("2025-01-10", .fail),
                ("2025-02-05", .cancel),
            ], until: "2025-03-01")
        #expect(play.told.last == "2025-02-05 EXPIRED/VOLUNTARY")
        #expect(play.access() == ["2025-01-01–2025-02-05"])
    }

    @Test("changes upwards at once and downwards at the next renewal")
    func changes() {
        let play = Play(
            [
                ("2025-01-01", .buy("pro.monthly")),
                ("2025-01-11", .change(product: "plus.monthly")),
                ("2025-01-20", .change(product: "basic.monthly")),
            ], until: "2025-02-20")
        #expect(play.access("plus") == ["2025-01-11–2025-02-11"])
        #expect(play.access("basic") == ["2025-02-11–2025-03-11"])
        #expect(play.access("pro") == ["2025-01-01–2025-02-11"])
        #expect(play.world.transactions.map(\.isUpgraded) == [true, false, false])
        #expect(play.world.transactions.map(\.reason) == ["PURCHASE", "PURCHASE", "RENEWAL"])
    }

    @Test("loses what was refunded, and has it again when that is taken back")
    func refunds() {
        let refunded: [(String, Step)] = [
            ("2025-01-01", .buy("pro.monthly")),
            ("2025-01-11", .refund(.latest, percentage: 40_000)),
        ]
        let lost = Play(refunded, until: "2025-03-01")
        #expect(lost.access() == ["2025-01-01–2025-01-11"])
        #expect(lost.told.last == "2025-01-11 REFUND")
        let revocation = lost.world.notices.last?.transactionPayload
        #expect(revocation?["revocationType"] == .string("REFUND_PRORATED"))
        #expect(revocation?["revocationPercentage"] == .integer(40_000))
        let reversed = Play(refunded + [("2025-01-15", .reverse)], until: "2025-03-01")
        #expect(reversed.access() == ["2025-01-01–2025-02-01"])
        #expect(
            reversed.told.suffix(2) == [
                "2025-01-15 REFUND_REVERSED", "2025-02-01 EXPIRED/VOLUNTARY",
            ])
        #expect(
            reversed.world.notices.first { $0.type == "REFUND_REVERSED" }?
                .transactionPayload?["revocationDate"] == nil)
    }

    @Test("is shared with a family, whose member loses it when the purchaser stops sharing")
    func families() {
        let play = Play(
            [
                ("2025-01-01", .buy("pro.monthly")), ("2025-01-05", .share(with: "bob")),
                ("2025-02-15", .unshare),
            ], until: "2025-04-15")
        #expect(play.access(of: "ada") == ["2025-01-01–2025-05-01"])
        #expect(play.access(of: "bob") == ["2025-01-05–2025-02-15"])
        let copies = play.world.transactions.filter { $0.ownership == "FAMILY_SHARED" }
        #expect(copies.count == 2 && copies.allSatisfy { $0.token == nil })
    }

    @Test("buys once what does not renew")
    func oneTime() {
        let play = Play(
            [
                ("2025-01-01", .buy("pass.90d")), ("2025-02-01", .buy("pro.lifetime")),
                ("2025-03-01", .buy(product: "coins.100", quantity: 3)),
            ], until: "2025-04-15")
        #expect(play.access("pass") == ["2025-01-01–2025-04-01"])
        #expect(play.access("pro") == ["2025-02-01–"])
        #expect(play.told.map { $0.dropFirst(11) } == Array(repeating: "ONE_TIME_CHARGE", count: 3))
        #expect(play.world.transactions.map(\.price) == [9_990, 9_990, 29_970])
    }

    @Test("is the same by the same seed, and another by another")
    func seeds() throws {
        func tale(_ seed: Int64, customers: Int64) throws -> [String] {
            let scenario = try Scenario(
                JSON(members: ["customers": .integer(customers), "seed": .integer(seed)]))
            var world = World(scenario, start: at("2025-01-01"), end: at("2026-01-01"))
            world.advance(to: at("2026-01-01"))
            return world.notices.map { "\($0.signedAt) \($0.uuid) \($0.type)" }
        }
        let one = try tale(1, customers: 20)
        #expect(one.count > 100)
        #expect(try tale(1, customers: 20) == one)
        #expect(try tale(2, customers: 20) != one)
    }
}
