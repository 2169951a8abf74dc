import Domain
import Entitlements
import Ledger
import Postgres
import TestSigner
import Testing

@testable import Daemon

@Suite("A comparison of answers")
struct ComparisonTests {
    /// A customer's subscription, and another's permanent purchase, which the first shows as well.
    private func purchases(_ service: TestService) async throws {
        let bought = service.transaction("1001", from: "2025-06-01", until: "2025-07-01")
        let kept = service.transaction(
            "2001", line: "2001", product: "pro.lifetime", from: "2025-06-01")
        for (transaction, customer) in [(bought, "u_1"), (kept, "u_2"), (kept, "u_1")] {
            #expect(try await service.post(transaction, customer: customer).status == 200)
        }
    }

    private func comparison(_ service: TestService, at instant: String) -> AnswerComparison {
        AnswerComparison(ground: service.ground, asksAt: Instant(instant)!)
    }

    private let catalog = [
        "pro.monthly": Product(
            kind: "autoRenewable", group: "G1", level: 2, plan: "P1M", entitlements: ["pro"]),
        "pro.lifetime": Product(kind: "nonConsumable", entitlements: ["pro"]),
    ]

    @Test("names who would have what else under another catalogue or policy, and writes nothing")
    func supposed() async throws {
        try await TestService.run { service in
            try await purchases(service)
            let head = try await service.ground.reader.head().position
            let comparison = comparison(service, at: "2030-01-01")
            let same = try await comparison.with(catalog, .keep)
            #expect(same.asked == 2)
            #expect(same.differing == 0)
            var other = catalog
            other["pro.lifetime"]?.entitlements = ["basic"]
            #expect(try await comparison.with(other, nil).differing == 1)
            // Whoever showed the purchase last would have it, and its buyer would not.
            #expect(try await comparison.with(nil, .lastPresenter).differing == 2)
            #expect(try await service.ground.reader.head().position == head)
        }
    }

    @Test("names whose answers a rebuild would mend, and nobody else")
    func damaged() async throws {
        try await TestService.run { service in
            try await purchases(service)
            let comparison = comparison(service, at: "2025-06-15")
            #expect(try await comparison.withRecord().differing == 0)
            // What stands in the live generation is not what the record says.
            try await service.ground.writePool.query(
                """
                update projection.line set state = replace(state::text, '"pro.monthly"', \
                '"nothing"')::json where original = '1001'
                """)
            service.ground.answers.forget()
            let found = try await comparison.withRecord()
            #expect(found.asked == 2)
            #expect(found.differing == 1)
        }
    }
}
