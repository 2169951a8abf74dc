import Analytics
import Domain
import TestLives
import Testing

@Suite("Money in one currency")
struct ConversionTests {
    /// A line in each of two currencies, and rates that move.
    private let ledger: Ledgerlet = {
        var ledger = Ledgerlet()
        ledger.buy("1", line: "1", "2025-05-01", "2025-06-01")
        ledger.buy("2", line: "1", "2025-06-01", "2025-07-01")
        ledger.buy("11", line: "11", of: "yearly", "2025-05-10", "2026-05-10", price: 60_000) {
            $0.currency = "GBP"
        }
        ledger.rate("2025-04-30", ["USD": "1.25", "GBP": "0.8"])
        ledger.rate("2025-05-09", ["USD": "1.2", "GBP": "0.75"])
        ledger.rate("2025-05-30", ["USD": "1.11", "GBP": "0.9"])
        return ledger
    }()

    private func whole(_ row: [String: MetricRow.Number]?, _ member: String) -> Int64? {
        guard case .whole(let number) = row?[member] else { return nil }
        return number
    }

    @Test("is one row without a currency in its key, each amount at the rate of its day")
    func revenue() {
        let may = ledger.rows(.revenue, "2025-05-01", "2025-06-01", in: "EUR")
        // 9990 / 1.25 + 60000 / 0.75.
        #expect(may.keys.sorted() == [""])
        #expect(whole(may[""], "gross") == 87_992)
        // The rate of Friday, 30 May, holds on Sunday, 1 June.
        let june = ledger.rows(.revenue, "2025-06-01", "2025-07-01", in: "EUR")
        #expect(whole(june[""], "gross") == 9_000)
        let pounds = ledger.rows(.revenue, "2025-05-01", "2025-06-01", in: "GBP")
        // 9990 × 0.8 / 1.25 = 6393.6.
        #expect(whole(pounds[""], "gross") == 66_394)
        let apart = ledger.rows(.revenue, "2025-05-01", "2025-06-01", by: [.currency], in: "EUR")
        #expect(apart.mapValues { whole($0, "gross") } == ["USD": 7_992, "GBP": 80_000])
    }

    @Test("of a refund has the rate of the day on which it was paid")
    func refunds() {
        var ledger = ledger
        ledger.buy("1", line: "1", "2025-05-01", "2025-06-01", signed: "2025-06-10") {
            $0.revokedAt = at("2025-06-10")
        }
        let june = ledger.rows(.revenue, "2025-06-01", "2025-07-01", in: "EUR")[""]
        #expect(whole(june, "refunded") == 7_992)
        #expect(whole(june, "net") == 1_008)
        let restated = ledger.rows(
            .revenue, "2025-05-01", "2025-06-01", basis: .restated, in: "EUR")[""]
        #expect(whole(restated, "net") == 80_000)
        let happened = ledger.rows(.refundsHappened, "2025-06-01", "2025-07-01", in: "EUR")[""]
        #expect(whole(happened, "value") == 1)
        #expect(whole(happened, "amount") == 7_992)
    }

    @Test("of mrr has the rate of the day on which the covering period was paid")
    func mrr() {
        // 9990 / 1.25 + 80000 / 12 = 14658.67, and from June on 9990 / 1.11 + 80000 / 12.
        #expect(whole(ledger.rows(.mrr, "2025-05-15", in: "EUR")[""], "value") == 14_659)
        #expect(whole(ledger.rows(.mrr, "2025-06-15", in: "EUR")[""], "value") == 15_667)
        #expect(whole(ledger.rows(.arr, "2025-06-15", in: "EUR")[""], "value") == 188_000)
    }

    @Test("tells apart what moved because rates did")
    func exchange() {
        let moved = ledger.rows(.mrrMovement, "2025-05-15", "2025-06-15", in: "EUR")[""]
        #expect(whole(moved, "fx") == 1_008)
        #expect(whole(moved, "expansion") == 0)
        #expect(whole(moved, "contraction") == 0)
        // Without a currency nothing is converted, so nothing moves.
        let apart = ledger.rows(.mrrMovement, "2025-05-15", "2025-06-15")
        #expect(apart.values.allSatisfy { $0["fx"] == nil })

        var dearer = ledger
        dearer.buy("3", line: "1", "2025-07-01", "2025-08-01", price: 19_980)
        dearer.rate("2025-06-27", ["USD": "1", "GBP": "0.9"])
        let up = dearer.rows(.mrrMovement, "2025-06-15", "2025-07-15", in: "EUR")[""]
        // Twice the price by June's rate, and the rest by what the rate did to all of it.
        #expect(whole(up, "expansion") == 9_000)
        #expect(whole(up, "fx") == 1_980)
    }

    @Test("moves to another storefront by the rates of the day before")
    func storefront() {
        var ledger = ledger
        ledger.buy("3", line: "1", "2025-07-01", "2025-08-01", price: 8_100) {
            $0.currency = "GBP"
        }
        ledger.rate("2025-06-30", ["USD": "1", "GBP": "0.81"])
        let moved = ledger.rows(.mrrMovement, "2025-06-15", "2025-07-15", in: "EUR")[""]
        // 8100 / 0.9 is what it was before; 8100 / 0.81 is what it is.
        #expect(whole(moved, "expansion") == 0)
        #expect(whole(moved, "contraction") == 0)
        #expect(whole(moved, "fx") == 1_000)
    }

    @Test("is none when a rate is missing, and says which")
    func missing() {
        var ledger = ledger
        ledger.buy("21", line: "21", "2025-05-20", "2025-06-20") { $0.currency = "JPY" }
        ledger.buy("22", line: "22", "2025-05-20", "2025-06-20", price: 0) { $0.currency = "KRW" }
        func missing(_ currency: String?, _ day: String) -> [String] {
            let question = MetricQuestion(
                .revenue,
                buckets: [MetricQuestion.Bucket(window: at(day)..<at(day).adding(days: 1))],
                in: currency, knownAt: at("2030-01-01"), position: Position(100))
            return ledger.measured(question).missingRates.map { "\($0.currency) \($0.day)" }
        }
        #expect(missing("EUR", "2025-05-20") == ["JPY 2025-05-20"])
        // A week without a rate is too long.
        #expect(missing("USD", "2025-05-20") == ["JPY 2025-05-20", "USD 2025-05-20"])
        #expect(missing("EUR", "2025-05-10") == [])
        #expect(missing("JPY", "2025-05-20") == [])
        #expect(missing(nil, "2025-05-20") == [])
        #expect(ledger.rows(.activePaid, "2025-05-20", in: "EUR")[""]?["value"] == .whole(3))
    }

    @Test("has no part of what names no currency, which counts as unpriced")
    func unnamed() {
        var ledger = ledger
        ledger.buy("21", line: "21", "2025-05-02", "2025-06-02") { $0.currency = nil }
        let question = MetricQuestion(
            .revenue, buckets: [MetricQuestion.Bucket(window: at("2025-05-02")..<at("2025-05-03"))],
            in: "EUR", knownAt: at("2030-01-01"), position: Position(100))
        let measured = ledger.measured(question)
        #expect(measured.missingRates == [])
        #expect(measured.completeness.unpriced == 1)
        #expect(whole(Ledgerlet.written(measured)[""], "gross") == 0)
    }
}
