import Analytics
import Domain
import Testing

@testable import Daemon

@Suite("A metric in a terminal")
struct MetricTableTests {
    /// An answer of three months with one line that is paid for in the first and the last.
    private func answer(_ metric: String, _ query: [String: String], prices: [Int64])
        throws -> MetricAnswer
    {
        let parameters = try MetricParameters(
            metric, ["from": "2025-01-01", "to": "2025-04-01"].merging(query) { $1 },
            now: Instant("2026-01-01")!)
        let question = parameters.question(
            knownAt: Instant("2026-01-01")!, position: Position(7))
        var measured = Measurement(question, settings: Settings(), people: People())
        for (index, price) in prices.enumerated() where price > 0 {
            var statement = TransactionStatement(
                transaction: "\(index)1", original: "\(index)1", bundle: "com.example.app",
                product: "coins", purchasedAt: Instant("2025-0\(index + 1)-05")!,
                signedAt: Instant("2025-0\(index + 1)-05")!, environment: .production)
            statement.type = "Consumable"
            statement.ownership = "PURCHASED"
            statement.priceMilliunits = price
            statement.currency = "USD"
            let stream = StreamID.line(.production, "\(index)1")
            let observation = Observation(
                transaction: Stated(
                    statement, Fingerprint(hex: String(repeating: "\(index)", count: 64))),
                source: .app, observedAt: statement.signedAt)
            var subscription = Subscription(stream)
            for event in decide(observation, given: subscription) {
                subscription.apply(
                    Entry(
                        position: Position(Int64(index) + 1), revision: 1,
                        recordedAt: statement.signedAt, event: event))
            }
            measured.take(subscription.line())
        }
        measured.settle()
        return try MetricAnswer(
            parameters, measured, knownAt: Instant("2026-01-01")!, isSettled: nil)
    }

    @Test("has columns, money in units, and bars where rows are parts of time")
    func bars() throws {
        let answer = try answer("revenue", ["by": "month"], prices: [4_000, 0, 1_500])
        #expect(
            MetricTable(answer, hasBars: true).text == """
                revenue, as known at position 7
                currency  month    gross  refunded  reversed    net
                USD       2025-01  4.000     0.000     0.000  4.000  ████████████████████████████████
                USD       2025-03  1.500     0.000     0.000  1.500  ████████████

                """)
    }

    @Test("has no bars where output is no terminal, or nothing is a part of time")
    func plain() throws {
        let byMonth = try answer("revenue", ["by": "month"], prices: [4_000, 0, 1_500])
        #expect(!MetricTable(byMonth, hasBars: false).text.contains("█"))
        let whole = try answer("revenue", ["currency": "USD"], prices: [4_000])
        #expect(
            MetricTable(whole, hasBars: true).text == """
                revenue, as known at position 7, in USD
                gross  refunded  reversed    net
                4.000     0.000     0.000  4.000

                """)
        let none = try answer("arpu", [:], prices: [])
        #expect(MetricTable(none, hasBars: true).text.contains("–  0.000          0"))
    }
}
