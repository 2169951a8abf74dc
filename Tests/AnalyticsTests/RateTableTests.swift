import Analytics
import Domain
import Testing

@Suite("A table of reference rates")
struct RateTableTests {
    private func set(_ day: String, _ values: [String: String]) -> RatesSet {
        RatesSet(
            day: Day(day)!, base: "EUR", publisher: "ECB",
            values: values.mapValues { ExactDecimal($0)! })
    }

    @Test("of the past has a date, a rate or N/A for each currency, and a comma at the end")
    func history() throws {
        let table = try RateTable(header: "Date,USD,JPY,CYP,")
        #expect(
            try table.rates("2025-06-10,1.1429,165.40,N/A,")
                == set("2025-06-10", ["USD": "1.1429", "JPY": "165.4"]))
        #expect(
            try table.rates("1999-01-04,1.1789,133.73,0.58231,\r")
                == set("1999-01-04", ["USD": "1.1789", "JPY": "133.73", "CYP": "0.58231"]))
        #expect(try table.rates("") == nil)
        #expect(try table.rates("2025-06-11,N/A,N/A,N/A,") == set("2025-06-11", [:]))
    }

    @Test("of today has blanks, and its date in words")
    func daily() throws {
        let table = try RateTable(header: "\u{FEFF}Date, USD, JPY, ")
        #expect(
            try table.rates("30 November 2026, 1.1575, 180.20, ")
                == set("2026-11-30", ["USD": "1.1575", "JPY": "180.2"]))
    }

    @Test(
        "is refused with another first line",
        arguments: [
            "", "USD,JPY", "Date", "Date,,", "Date,usd", "Date,USD,USD", "Date,EUR", "Date,DOLLAR",
            "Date," + String(repeating: "USD,", count: 300),
        ])
    func headers(line: String) {
        #expect(throws: RateTable.Refusal.self) { try RateTable(header: line) }
    }

    @Test(
        "is refused with a line that is not one of it",
        arguments: [
            "2025-02-30,1,1,", "30 Novembre 2026,1,1", "2025-06-10,1.1e1,2,", "2025-06-10,-1,2,",
            "2025-06-10,1,2,3,", "2025-06-10,1,2,,4", ",1,2", "2025-06-10,1 2,3",
        ])
    func lines(line: String) throws {
        let table = try RateTable(header: "Date,USD,JPY,")
        #expect(throws: RateTable.Refusal.self) { try table.rates(line) }
    }
}
