import Domain
import Testing

@Suite("An exchange rate")
struct ExchangeRateTests {
    private func set(_ day: String, _ values: [String: String]) -> RatesSet {
        RatesSet(
            day: Day(day)!, base: "EUR", publisher: "ECB",
            values: values.mapValues { ExactDecimal($0)! })
    }

    private func rates(_ sets: [RatesSet]) -> ExchangeRates {
        var rates = ExchangeRates()
        for (index, set) in sets.enumerated() {
            rates.apply(
                Entry(
                    position: Position(Int64(index) + 10), revision: Int64(index) + 1,
                    recordedAt: .distantPast,
                    event: Event(
                        kind: .rateSet, stream: set.stream, key: "\(index)",
                        occurredAt: set.day.start, observedAt: .distantPast, source: .command,
                        content: .rates(set))))
        }
        return rates
    }

    @Test(
        "is exact, and written in its shortest form",
        arguments: [
            ("1.0823", 10_823, 4, "1.0823"), ("165.40", 1_654, 1, "165.4"), ("7", 7, 0, "7"),
            ("0.0070", 7, 3, "0.007"), ("120.0", 120, 0, "120"),
            ("9999.99999999", 999_999_999_999, 8, "9999.99999999"),
        ] as [(String, Int64, Int, String)])
    func exact(text: String, mantissa: Int64, scale: Int, written: String) {
        let decimal = ExactDecimal(text)
        #expect(decimal?.mantissa == mantissa)
        #expect(decimal?.scale == scale)
        #expect(decimal?.description == written)
    }

    @Test(
        "is no number that is not kept exactly",
        arguments: [
            "", "0", "0.000", "-1", "1e3", "1.", ".5", "1.2.3", "N/A", "1,5", " 1", "0.000000001",
            "1000000000000", "99999999999999999999", "1.99999999999999999999",
        ])
    func inexact(text: String) {
        #expect(ExactDecimal(text) == nil)
    }

    @Test("is that of its day, or the latest before it that is not a week older")
    func latest() {
        let rates = rates([
            set("2025-06-06", ["USD": "1.1411"]), set("2025-06-09", ["USD": "1.1429"]),
        ])
        func value(_ day: String) -> String? { rates.value(of: "USD", on: Day(day)!)?.description }
        #expect(value("2025-06-05") == nil)
        #expect(value("2025-06-06") == "1.1411")
        // A Saturday and a Sunday.
        #expect(value("2025-06-07") == "1.1411")
        #expect(value("2025-06-08") == "1.1411")
        #expect(value("2025-06-09") == "1.1429")
        #expect(value("2025-06-16") == "1.1429")
        #expect(value("2025-06-17") == nil)
        #expect(rates.value(of: "GBP", on: Day("2025-06-09")!) == nil)
        #expect(rates.position == Position(11))
    }

    @Test("is replaced by a later word on its day, which leaves the others alone")
    func corrected() {
        let first = set("2025-06-09", ["USD": "1.1429", "GBP": "0.8434"])
        let known = rates([first])
        #expect(known.news(in: first) == nil)
        let second = set("2025-06-09", ["USD": "1.1430", "GBP": "0.84340"])
        #expect(known.news(in: second) == set("2025-06-09", ["USD": "1.143"]))
        let corrected = rates([first, set("2025-06-09", ["USD": "1.143"])])
        #expect(corrected.value(of: "USD", on: first.day)?.description == "1.143")
        #expect(corrected.value(of: "GBP", on: first.day)?.description == "0.8434")
        // What was right at first may be right again.
        #expect(corrected.news(in: first) == set("2025-06-09", ["USD": "1.1429"]))
    }

    @Test("is found in its year's stream, and one of the last week in the year before")
    func streams() {
        let streams = ExchangeRates.streams(of: Day("2025-01-03")!...Day("2026-03-01")!)
        #expect(streams.map(\.name) == ["rates/EUR/2024", "rates/EUR/2025", "rates/EUR/2026"])
        #expect(set("1969-12-31", ["USD": "1"]).stream.name == "rates/EUR/1969")
        #expect(Day(of: Instant("1969-12-31T23:59:59.999Z")!).description == "1969-12-31")
        #expect(Day("2025-6-1") == nil)
    }
}
