import Analytics
import Domain
import TestLives
import Testing

@Suite("A measure")
struct MeasureTests {
    @Test("of money dates a refund by its revocation and a reversal by its signing")
    func reversal() {
        var ledger = Ledgerlet()
        ledger.buy("1", "2025-05-01", "2025-06-01")
        ledger.buy("1", "2025-05-01", "2025-06-01", signed: "2025-05-11") {
            $0.revokedAt = at("2025-05-10")
        }
        // Said twice, it is one refund all the same.
        ledger.buy("1", "2025-05-01", "2025-06-01", signed: "2025-05-12") {
            $0.revokedAt = at("2025-05-10")
        }
        ledger.buy("1", "2025-05-01", "2025-06-01", signed: "2025-07-02")
        #expect(ledger.number(.revenue, "2025-05-01", "2025-06-01", "refunded") == 9_990)
        #expect(ledger.number(.revenue, "2025-05-01", "2025-06-01", "net") == 0)
        #expect(ledger.number(.revenue, "2025-07-01", "2025-08-01", "reversed") == 9_990)
        #expect(ledger.number(.revenue, "2025-07-01", "2025-08-01", "net") == 9_990)
        #expect(ledger.number(.refundsHappened, "2025-05-01", "2025-06-01") == 1)
        #expect(ledger.number(.refundReversals, "2025-07-01", "2025-08-01") == 1)
        #expect(
            ledger.number(.revenue, "2025-05-01", "2025-06-01", "net", basis: .restated) == 9_990)
        #expect(
            ledger.rows(.refundRate, "2025-05-01", "2025-06-01")[""]?["value"] == .millionths(0))
    }

    @Test("of a refund of a part takes that part, and of a family's nothing")
    func shares() {
        var ledger = Ledgerlet()
        ledger.buy("1", line: "1", of: "yearly", "2025-01-01", "2026-01-01", price: 59_990)
        ledger.buy(
            "1", line: "1", of: "yearly", "2025-01-01", "2026-01-01", price: 59_990,
            signed: "2025-07-02"
        ) {
            $0.revokedAt = at("2025-07-01")
            $0.revocationPercentage = 40_000
        }
        ledger.buy("2", line: "2", of: "monthly", "2025-07-01", "2025-08-01") {
            $0.ownership = "FAMILY_SHARED"
            $0.revokedAt = at("2025-07-05")
        }
        #expect(ledger.number(.revenue, "2025-07-01", "2025-08-01", "refunded") == 23_996)
        #expect(ledger.number(.revenue, "2025-07-01", "2025-08-01", "gross") == 0)
        #expect(ledger.number(.refundsHappened, "2025-07-01", "2025-08-01") == 1)
        #expect(ledger.number(.activeFamily, "2025-07-03") == 1)
    }

    @Test("of lines that left leaves out a gap of which nothing is known")
    func unknownGaps() {
        var ledger = Ledgerlet()
        ledger.buy("1", line: "1", of: "weekly", "2025-05-01", "2025-05-08", source: .receipt)
        ledger.buy("9", line: "1", of: "weekly", "2025-08-01", "2025-08-08", source: .receipt)
        #expect(ledger.number(.churned, "2025-05-05", "2025-06-01") == 0)
        ledger.renewal(signed: "2025-05-08T00:10:00Z") {
            $0.willRenew = false
            $0.expirationIntent = 1
        }
        #expect(ledger.number(.churned, "2025-05-05", "2025-06-01") == 1)
        #expect(
            ledger.rows(.churned, "2025-05-05", "2025-06-01", by: [.reason])["voluntary"]?["value"]
                == .whole(1))
    }

    @Test("of lines that came and went within the window counts them when it is asked for gross")
    func blips() {
        var ledger = Ledgerlet()
        ledger.buy("1", line: "1", of: "weekly", "2025-05-05", "2025-05-12")
        ledger.buy("2", line: "2", of: "weekly", "2025-04-01", "2025-04-08")
        ledger.buy("3", line: "2", of: "weekly", "2025-05-05", "2025-05-12")
        ledger.buy("4", line: "4", of: "yearly", "2025-04-01", "2026-04-01")
        ledger.renewal("1", signed: "2025-05-12T00:10:00Z") {
            $0.willRenew = false
            $0.expirationIntent = 1
        }
        func measured(_ metric: Metric, gross: Bool) -> Measurement {
            var question = MetricQuestion(
                metric,
                buckets: [MetricQuestion.Bucket(window: at("2025-05-01")..<at("2025-06-01"))],
                knownAt: at("2030-01-01"), position: Position(100))
            question.isGross = gross
            return ledger.measured(question)
        }
        func value(_ metric: Metric, gross: Bool) -> MetricRow.Number? {
            Ledgerlet.written(measured(metric, gross: gross))[""]?["value"]
        }
        #expect(value(.churned, gross: false) == .whole(0))
        #expect(value(.churned, gross: true) == .whole(2))
        #expect(value(.reactivated, gross: false) == .whole(0))
        #expect(value(.reactivated, gross: true) == .whole(1))
        #expect(value(.churnRate, gross: false) == .millionths(0))
        #expect(value(.churnRate, gross: true) == .millionths(2_000_000))
        #expect(value(.newPaid, gross: true) == .whole(1))
        let identity = measured(.churned, gross: true).identities.first
        #expect(
            identity?.terms.map { "\($0.name) \($0.number)" } == [
                "before 1", "new 0", "reactivated 0", "churned 0", "unknown 0", "after 1",
                "blips 2",
            ])
        #expect(identity?.holds == true)
        #expect(measured(.newPaid, gross: false).blips == 2)
        #expect(measured(.renewals, gross: false).blips == nil)
    }

    @Test("of recovery tells grace from a gap, and a purchase after a gap from both")
    func recovery() {
        var graced = Ledgerlet()
        graced.buy("1", "2025-05-01", "2025-06-01")
        graced.renewal(signed: "2025-06-01T00:05:00Z") {
            $0.isInBillingRetry = true
            $0.graceExpiresAt = at("2025-06-17")
        }
        var gapped = graced
        graced.buy("2", "2025-06-05", "2025-07-05")
        gapped.buy("2", "2025-06-20", "2025-07-20")
        var bought = Ledgerlet()
        bought.buy("1", "2025-05-01", "2025-06-01")
        bought.buy("2", "2025-06-20", "2025-07-20")
        let june = ("2025-06-01", "2025-07-01")
        func all(_ ledger: Ledgerlet) -> [Int64] {
            [
                Metric.graceEntered, .recoveredInGrace, .recoveredAfterGap, .renewals,
                .reactivationPurchases,
            ].map { ledger.number($0, june.0, june.1) }
        }
        #expect(all(graced) == [1, 1, 0, 1, 0])
        #expect(all(gapped) == [1, 0, 1, 1, 0])
        #expect(all(bought) == [0, 0, 0, 0, 1])
        #expect(graced.number(.inGrace, "2025-06-03") == 1)
        #expect(gapped.number(.inBillingRetry, "2025-06-18") == 1)
    }

    @Test("of plan changes goes by level, and by the start of the new period")
    func plans() {
        var ledger = Ledgerlet()
        ledger.buy("1", line: "1", of: "monthly", "2025-06-01", "2025-07-01")
        ledger.buy("2", line: "1", of: "high", "2025-06-11", "2025-07-11", price: 14_990)
        ledger.buy("3", line: "1", of: "low", "2025-07-11", "2025-08-11", price: 4_990)
        let june = ledger.rows(.planChanges, "2025-06-01", "2025-07-01")[""]
        #expect(june?["upgrade"] == .whole(1))
        #expect(june?["downgrade"] == .whole(0))
        let july = ledger.rows(.planChanges, "2025-07-01", "2025-08-01")[""]
        #expect(july?["downgrade"] == .whole(1))
        #expect(ledger.number(.upgradeCreditUnknown, "2025-06-01", "2025-07-01") == 1)
        #expect(ledger.number(.mrrMovement, "2025-06-10", "2025-06-12", "expansion") == 5_000)
        #expect(ledger.number(.mrrMovement, "2025-07-01", "2025-08-01", "contraction") == 10_000)
        // An upgrade is no renewal; what follows it without a gap is.
        #expect(ledger.number(.renewals, "2025-06-01", "2025-07-01") == 0)
        #expect(ledger.number(.renewals, "2025-07-01", "2025-08-01") == 1)
    }

    @Test("of extensions counts what was put off, in days, when it was signed")
    func extensions() {
        var ledger = Ledgerlet()
        ledger.buy("1", "2025-06-01", "2025-07-01")
        ledger.buy("1", "2025-06-01", "2025-07-16", signed: "2025-06-20")
        #expect(ledger.number(.extensions, "2025-06-01", "2025-07-01") == 1)
        #expect(ledger.number(.extensions, "2025-06-01", "2025-07-01", "days") == 15)
        #expect(ledger.number(.extensions, "2025-07-01", "2025-08-01") == 0)
    }

    @Test("of preferences counts changes of the pair, from on and the product bought")
    func preferences() {
        var ledger = Ledgerlet()
        ledger.buy("1", "2025-06-01", "2025-07-01")
        for (signed, isOn, product) in [
            ("2025-06-02", true, "monthly"), ("2025-06-03", false, "monthly"),
            ("2025-06-04", false, "monthly"), ("2025-06-05", true, "low"),
        ] {
            ledger.renewal(signed: signed) {
                $0.willRenew = isOn
                $0.renewsProduct = product
            }
        }
        #expect(ledger.number(.preferenceChanges, "2025-06-01", "2025-07-01") == 2)
        let status = ledger.rows(.subscriptionStatus, "2025-06-03T12:00:00Z")[""]
        #expect(status?["set_to_cancel"] == .whole(1))
        #expect(status?["set_to_renew"] == .whole(0))
    }

    @Test("of trials calls one pending while nothing is decided, and late after sixty days")
    func trials() {
        var ledger = Ledgerlet()
        ledger.buy("1", "2025-05-01", "2025-05-08", price: 0) {
            $0.offerType = 1
            $0.offerDiscountType = "FREE_TRIAL"
        }
        func fates(_ known: String) -> [MetricRow.Number?] {
            let row = ledger.rows(.trialConversion, "2025-05-01", "2025-06-01", knownAt: known)[""]
            return ["converted", "pending", "abandoned", "late_conversion"].map { row?[$0] }
        }
        #expect(fates("2025-05-05") == [.whole(0), .whole(1), .whole(0), .whole(0)])
        #expect(fates("2025-05-09") == [.whole(0), .whole(0), .whole(1), .whole(0)])
        ledger.buy("2", "2025-08-01", "2025-09-01")
        #expect(fates("2025-09-01") == [.whole(0), .whole(0), .whole(1), .whole(1)])
    }

    @Test("of money has a row for each currency, and tells what has no price apart")
    func currencies() {
        var ledger = Ledgerlet()
        ledger.buy("1", line: "1", of: "monthly", "2025-06-01", "2025-07-01")
        ledger.buy("2", line: "2", of: "yearly", "2025-06-01", "2026-06-01", price: 4_999_000_000) {
            $0.currency = "VND"
        }
        ledger.buy("3", line: "3", of: "monthly", "2025-06-01", "2025-07-01", price: nil) {
            $0.currency = nil
        }
        let mrr = ledger.rows(.mrr, "2025-06-10")
        #expect(mrr["USD"]?["value"] == .whole(9_990))
        #expect(mrr["VND"]?["value"] == .whole(416_583_333))
        #expect(mrr["-"]?["unpriced"] == .whole(1))
        let byPlan = ledger.rows(.activePaid, "2025-06-10", by: [.plan])
        #expect(byPlan.mapValues { $0["value"] } == ["P1M": .whole(2), "P1Y": .whole(1)])
    }

    @Test(
        "of money is rounded once, and a half to the even one",
        arguments: [(6, 0), (18, 2), (30, 2)])
    func rounding(price: Int64, monthly: Int64) {
        var ledger = Ledgerlet()
        ledger.buy("1", of: "yearly", "2025-06-01", "2026-06-01", price: price)
        #expect(ledger.number(.mrr, "2025-06-10") == monthly)
        // Two halves are a whole.
        ledger.buy("2", line: "2", of: "yearly", "2025-06-01", "2026-06-01", price: price)
        #expect(ledger.number(.mrr, "2025-06-10") == price / 6)
    }
}
