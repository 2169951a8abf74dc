import Analytics
import Domain
import TestLives
import Testing

/// Three customers whose numbers can be worked out on paper, all of 2025.
@Suite("The cohort of May")
struct CohortTests {
    private let may = "2025-05-01"
    private let june = "2025-06-01"

    private let ledger: Ledgerlet = {
        var ledger = Ledgerlet()
        // The first tries for a week, pays twice, and buys something else.
        ledger.buy("1", line: "1", "2025-05-01", "2025-05-08", price: 0) {
            $0.token = CustomerNumber(1)
            $0.offerType = 1
            $0.offerDiscountType = "FREE_TRIAL"
        }
        ledger.buy("2", line: "1", "2025-05-08", "2025-06-08") { $0.token = CustomerNumber(1) }
        ledger.buy("3", line: "1", "2025-06-08", "2025-07-08") { $0.token = CustomerNumber(1) }
        ledger.buy("4", line: "4", of: "coins", "2025-05-20", nil, price: 4_000) {
            $0.token = CustomerNumber(1)
        }
        // The second pays for a year and has it back.
        ledger.buy("11", line: "11", of: "yearly", "2025-05-03", "2026-05-03", price: 60_000) {
            $0.token = CustomerNumber(2)
        }
        ledger.buy(
            "11", line: "11", of: "yearly", "2025-05-03", "2026-05-03", price: 60_000,
            signed: "2025-06-10"
        ) {
            $0.token = CustomerNumber(2)
            $0.revokedAt = at("2025-06-10")
        }
        // The third, of whom nothing is known, only tries.
        ledger.buy("21", line: "21", "2025-05-10", "2025-05-17", price: 0) {
            $0.offerType = 1
            $0.offerDiscountType = "FREE_TRIAL"
        }
        return ledger
    }()

    /// The numbers of each row by its members' names, in the metric's order.
    private func rows(
        _ metric: Metric, _ from: String, _ to: String, days: Int64 = 30,
        known: String = "2025-07-15"
    ) -> [String: [MetricRow.Number]] {
        var question = MetricQuestion(
            metric, buckets: [MetricQuestion.Bucket(window: at(from)..<at(to))],
            knownAt: at(known), position: Position(100))
        question.days = days
        let written = Ledgerlet.written(ledger.measured(question))
        return written.mapValues { row in metric.members.map { row[$0] ?? .null } }
    }

    @Test("paid by a day that is counted from 0 and belongs to it")
    func conversion() {
        #expect(
            rows(.conversionToPaying, may, june, days: 7)[""]
                == [.millionths(666_667), .whole(3), .whole(2), .whole(0)])
        #expect(
            rows(.conversionToPaying, may, june, days: 6)[""]
                == [.millionths(333_333), .whole(3), .whole(1), .whole(0)])
        // Of the third it is not decided yet on the seventh day, and is on the eighth.
        #expect(
            rows(.conversionToPaying, "2025-05-10", june, days: 7, known: "2025-05-17")[""]
                == [.millionths(0), .whole(1), .whole(0), .whole(1)])
        #expect(
            rows(.conversionToPaying, "2025-05-10", june, days: 7, known: "2025-05-18")[""]
                == [.millionths(0), .whole(1), .whole(0), .whole(0)])
    }

    @Test("tried, two of three, and one of the two converted")
    func trials() {
        #expect(
            rows(.trialConversionByFirstSeen, may, june)[""]
                == [.millionths(500_000), .whole(3), .whole(2), .whole(1)])
    }

    @Test("is retained by the number of the paid period, of lines old enough to have it")
    func retention() {
        let all = rows(.subscriptionRetention, may, june, known: "2025-08-08")
        let expected: [String: [MetricRow.Number]] = [
            "1/P1M": [.millionths(1_000_000), .whole(1), .whole(1)],
            "2/P1M": [.millionths(1_000_000), .whole(1), .whole(1)],
            "3/P1M": [.millionths(0), .whole(0), .whole(1)],
            "4/P1M": [.millionths(0), .whole(0), .whole(1)],
            "1/P1Y": [.millionths(1_000_000), .whole(1), .whole(1)],
        ]
        #expect(all == expected)
        let before = rows(.subscriptionRetention, may, june, known: "2025-08-07T23:59:59Z")
        #expect(before["4/P1M"] == nil && before["3/P1M"] != nil)
    }

    @Test("gives each customer's net, cumulated by age")
    func lifetime() {
        let rows = rows(.realisedLTV, may, june)
        // By age and currency: per customer, per paying customer, net, customers, payers, mature.
        let expected: [String: [Int64]] = [
            "0/USD": [20_000, 60_000, 60_000, 3, 1, 3],
            "30/USD": [24_663, 36_995, 73_990, 3, 2, 3],
            "60/USD": [7_993, 11_990, 23_980, 3, 2, 3],
        ]
        #expect(rows == expected.mapValues { $0.map(MetricRow.Number.whole) })
    }

    @Test("is explored by steps of age since the first payment")
    func ages() {
        let rows = rows(.cohortExplorer, may, june)
        let expected: [String: [Int64]] = [
            "0/USD": [2, 2, 73_990, 0], "30/USD": [2, 2, 9_990, 60_000], "60/USD": [2, 1, 0, 0],
        ]
        #expect(rows == expected.mapValues { $0.map(MetricRow.Number.whole) })
    }

    @Test("is worth its net over who was there, and over who paid")
    func averages() {
        #expect(
            rows(.arpu, may, june)["USD"] == [.whole(24_663), .whole(73_990), .whole(3)])
        #expect(rows(.arppu, may, june)["USD"] == [.whole(36_995), .whole(73_990), .whole(2)])
        let july = "2025-07-01"
        #expect(
            rows(.arpu, june, july)["USD"] == [.whole(-25_005), .whole(-50_010), .whole(2)])
        #expect(
            rows(.arppu, june, july)["USD"] == [.whole(-50_010), .whole(-50_010), .whole(1)])
        #expect(rows(.arpu, "2024-05-01", "2024-06-01")[""] == [.null, .whole(0), .whole(0)])
    }

    @Test("had back of its money what is refunded now, by value")
    func refunds() {
        #expect(
            rows(.refundRateByValue, may, june)["USD"]
                == [.millionths(810_920), .whole(60_000), .whole(73_990)])
    }

    @Test("tells which periods are behind a cell, page by page")
    func traces() {
        func page(_ after: String, _ limit: Int) -> (lines: [String], next: String?) {
            let question = MetricQuestion(
                .arpu, buckets: [MetricQuestion.Bucket(window: at(may)..<at(june))],
                knownAt: at("2025-07-15"), position: Position(100))
            let traced = ledger.measured(question, tracing: (after, limit)).traced
            return (
                traced.traces.map {
                    "\($0.id.stream.line?.original ?? "") \($0.id.transaction) \($0.id.member) \($0.amount)"
                }, traced.hasMore ? traced.traces.last?.id.text : nil
            )
        }
        let all = page("", 100)
        #expect(
            all.lines == [
                "1 1 customers 1", "1 2 net 9990", "11 11 customers 1", "11 11 net 60000",
                "21 21 customers 1", "4 4 net 4000",
            ])
        #expect(all.next == nil)
        var found: [String] = []
        var next: String? = ""
        while let after = next {
            let page = page(after, 1)
            found += page.lines
            next = page.next
        }
        #expect(found == all.lines)
    }
}
