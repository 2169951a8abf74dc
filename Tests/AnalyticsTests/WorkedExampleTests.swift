import Analytics
import Domain
import TestLives
import Testing

/// Three lines whose numbers can be worked out on paper, all of 2025.
@Suite("The numbers of three lines")
struct WorkedExampleTests {
    private static let settings = Settings().evolved(
        by: Entry(
            position: Position(1), revision: 1, recordedAt: .distantPast,
            event: Event(
                kind: .catalogChanged, stream: .settings, key: "catalogChanged/1",
                occurredAt: .distantPast, observedAt: .distantPast, source: .command,
                content: .catalog(
                    CatalogChange(products: [
                        "monthly": Product(kind: "autoRenewable", level: 1, plan: "P1M"),
                        "yearly": Product(kind: "autoRenewable", level: 1, plan: "P1Y"),
                    ])))))

    private static func transaction(
        _ id: String, _ line: String, _ product: String, _ from: String, _ until: String,
        price: Int64, signed: String? = nil,
        _ change: (inout TransactionStatement) -> Void = { _ in }
    ) -> Observation {
        var statement = TransactionStatement(
            transaction: id, original: line, bundle: "com.example.app", product: product,
            purchasedAt: at(from), signedAt: at(signed ?? from), environment: .production)
        statement.expiresAt = at(until)
        statement.webOrderLineItem = "w" + id
        statement.type = "Auto-Renewable Subscription"
        statement.ownership = "PURCHASED"
        statement.priceMilliunits = price
        statement.currency = "USD"
        change(&statement)
        let name = "\(id)\(signed ?? "")".filter(\.isNumber)
        let hex = String(repeating: "0", count: 64 - name.count) + name
        return Observation(
            transaction: Stated(statement, Fingerprint(hex: hex)), source: .app,
            observedAt: statement.signedAt)
    }

    private static let first = [
        transaction("1", "1", "monthly", "2025-05-01", "2025-06-01", price: 9_990),
        transaction("2", "1", "monthly", "2025-06-01", "2025-07-01", price: 9_990),
    ]
    private static let refund = transaction(
        "1", "1", "monthly", "2025-05-01", "2025-06-01", price: 9_990, signed: "2025-06-10"
    ) { $0.revokedAt = at("2025-06-10") }
    private static let second = [
        transaction("11", "11", "yearly", "2025-05-10", "2026-05-10", price: 59_990)
    ]
    private static let third = [
        transaction("21", "21", "monthly", "2025-05-20", "2025-05-27", price: 0) {
            $0.offerType = 1
            $0.offerDiscountType = "FREE_TRIAL"
        },
        transaction("22", "21", "monthly", "2025-05-27", "2025-06-27", price: 9_990),
    ]

    private func row(
        _ metric: Metric, _ from: String, _ to: String? = nil, refunded: Bool = false,
        basis: Basis = .asTransacted
    ) -> [String: MetricRow.Number] {
        var question = MetricQuestion(
            metric,
            buckets: [MetricQuestion.Bucket(window: at(from)..<at(to ?? from))],
            knownAt: at("2026-01-01"), position: Position(100))
        question.basis = basis
        var measurement = Measurement(question, settings: Self.settings, people: People())
        let lines = [
            ("1", refunded ? Self.first + [Self.refund] : Self.first), ("11", Self.second),
            ("21", Self.third),
        ]
        for (line, observations) in lines {
            measurement.take(recorded(observations, stream: .line(.production, line)).line())
        }
        let rows = measurement.finished()
        #expect(rows.count == 1)
        return Dictionary(
            uniqueKeysWithValues: (rows.first?.values ?? []).map { ($0.name, $0.number) })
    }

    @Test("are three lines, and mrr rounded once, on 1 June")
    func stock() {
        #expect(row(.activePaid, "2025-06-01")["value"] == .whole(3))
        #expect(row(.mrr, "2025-06-01")["value"] == .whole(24_979))
        #expect(row(.arr, "2025-06-01")["value"] == .whole(299_750))
    }

    @Test("of May are three new lines, one from its trial")
    func may() {
        #expect(row(.revenue, "2025-05-01", "2025-06-01")["gross"] == .whole(79_970))
        let new = row(.newPaid, "2025-05-01", "2025-06-01")
        #expect(new["value"] == .whole(3))
        #expect(new["from_trial"] == .whole(1))
        #expect(new["direct"] == .whole(2))
        #expect(row(.trialsStarted, "2025-05-01", "2025-06-01")["value"] == .whole(1))
        let conversion = row(.trialConversion, "2025-05-01", "2025-06-01")
        #expect(conversion["converted"] == .whole(1))
        #expect(conversion["abandoned"] == .whole(0))
    }

    @Test("of June are two that left of three")
    func june() {
        #expect(row(.activePaid, "2025-07-01")["value"] == .whole(1))
        #expect(row(.churned, "2025-06-01", "2025-07-01")["value"] == .whole(2))
        #expect(row(.churnRate, "2025-06-01", "2025-07-01")["value"] == .millionths(666_667))
        #expect(row(.churnRate, "2024-06-01", "2024-07-01")["value"] == .null)
        let movement = row(.mrrMovement, "2025-06-01", "2025-07-01")
        #expect(movement["churn"] == .whole(19_980))
        #expect(movement["new"] == .whole(0))
        #expect(row(.mrr, "2025-07-01")["value"] == .whole(4_999))
    }

    @Test("of a refund move money on its day, or take it out of the month that it paid for")
    func refund() {
        let may = row(.revenue, "2025-05-01", "2025-06-01", refunded: true)
        #expect(may["gross"] == .whole(79_970))
        #expect(may["refunded"] == .whole(0))
        let june = row(.revenue, "2025-06-01", "2025-07-01", refunded: true)
        #expect(june["gross"] == .whole(9_990))
        #expect(june["refunded"] == .whole(9_990))
        #expect(june["net"] == .whole(0))
        let restated = row(
            .revenue, "2025-05-01", "2025-06-01", refunded: true, basis: .restated)
        #expect(restated["net"] == .whole(69_980))
        #expect(
            row(.revenue, "2025-06-01", "2025-07-01", refunded: true, basis: .restated)["net"]
                == .whole(9_990))
        #expect(row(.mrr, "2025-06-11", refunded: true)["value"] == .whole(24_979))
    }
}
