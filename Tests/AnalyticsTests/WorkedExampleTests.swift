import Analytics
import Domain
import TestLives
import Testing

/// Three lines whose numbers can be worked out on paper, all of 2025.
@Suite("The numbers of three lines")
struct WorkedExampleTests {
    private let ledger: Ledgerlet = {
        var ledger = Ledgerlet()
        ledger.buy("1", line: "1", "2025-05-01", "2025-06-01")
        ledger.buy("2", line: "1", "2025-06-01", "2025-07-01")
        ledger.buy("11", line: "11", of: "yearly", "2025-05-10", "2026-05-10", price: 59_990)
        ledger.buy("21", line: "21", "2025-05-20", "2025-05-27", price: 0) {
            $0.offerType = 1
            $0.offerDiscountType = "FREE_TRIAL"
        }
        ledger.buy("22", line: "21", "2025-05-27", "2025-06-27")
        return ledger
    }()

    @Test("are three lines, and mrr rounded once, on 1 June")
    func stock() {
        #expect(ledger.number(.activePaid, "2025-06-01") == 3)
        #expect(ledger.number(.mrr, "2025-06-01") == 24_979)
        #expect(ledger.number(.arr, "2025-06-01") == 299_750)
    }

    @Test("of May are three new lines, one from its trial")
    func may() {
        let may = ("2025-05-01", "2025-06-01")
        #expect(ledger.number(.revenue, may.0, may.1, "gross") == 79_970)
        #expect(ledger.number(.newPaid, may.0, may.1) == 3)
        #expect(ledger.number(.newPaid, may.0, may.1, "from_trial") == 1)
        #expect(ledger.number(.newPaid, may.0, may.1, "direct") == 2)
        // What a trial becomes is the first paid period, not a renewal.
        #expect(ledger.number(.renewals, may.0, may.1) == 0)
        #expect(ledger.number(.trialsStarted, may.0, may.1) == 1)
        #expect(ledger.number(.trialConversion, may.0, may.1, "converted") == 1)
        #expect(ledger.number(.trialConversion, may.0, may.1, "abandoned") == 0)
    }

    @Test("of June are two that left of three")
    func june() {
        let june = ("2025-06-01", "2025-07-01")
        #expect(ledger.number(.activePaid, "2025-07-01") == 1)
        #expect(ledger.number(.churned, june.0, june.1) == 2)
        #expect(ledger.rows(.churnRate, june.0, june.1)[""]?["value"] == .millionths(666_667))
        #expect(ledger.rows(.churnRate, "2024-06-01", "2024-07-01")[""]?["value"] == .null)
        #expect(ledger.number(.mrrMovement, june.0, june.1, "churn") == 19_980)
        #expect(ledger.number(.mrrMovement, june.0, june.1, "new") == 0)
        #expect(ledger.number(.mrr, "2025-07-01") == 4_999)
    }

    @Test("of a refund move money on its day, or take it out of the month that it paid for")
    func refund() {
        var ledger = ledger
        ledger.buy("1", line: "1", "2025-05-01", "2025-06-01", signed: "2025-06-10") {
            $0.revokedAt = at("2025-06-10")
        }
        let (may, june) = (("2025-05-01", "2025-06-01"), ("2025-06-01", "2025-07-01"))
        #expect(ledger.number(.revenue, may.0, may.1, "gross") == 79_970)
        #expect(ledger.number(.revenue, may.0, may.1, "refunded") == 0)
        #expect(ledger.number(.revenue, june.0, june.1, "gross") == 9_990)
        #expect(ledger.number(.revenue, june.0, june.1, "refunded") == 9_990)
        #expect(ledger.number(.revenue, june.0, june.1, "net") == 0)
        #expect(ledger.number(.revenue, may.0, may.1, "net", basis: .restated) == 69_980)
        #expect(ledger.number(.revenue, june.0, june.1, "net", basis: .restated) == 9_990)
        #expect(ledger.number(.mrr, "2025-06-11") == 24_979)
    }
}
