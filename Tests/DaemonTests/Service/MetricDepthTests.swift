import Domain
import Operation
import Testing

@testable import Daemon

/// What is behind a metric's numbers, what changed them, and what is asked of the record itself.
@Suite("The depth of a metric")
struct MetricDepthTests {
    private let june = "from=2025-06-01&to=2025-07-01"

    private func buy(_ service: TestService, _ line: String, _ more: [JSON.Member] = [])
        async throws -> Int64
    {
        let answer = try await service.post(
            service.transaction(
                line, line: line, from: "2025-06-01", until: "2025-07-01",
                signed: more.isEmpty ? nil : "2025-06-11", more: more))
        return answer["position"]?.integer ?? 0
    }

    private let refund: [JSON.Member] = [
        .init("revocationDate", .integer(Instant("2025-06-10")!.milliseconds))
    ]

    @Test("is the periods behind each cell, with the entries and evidence that say them")
    func explained() async throws {
        try await TestService.run { service in
            let first = try await buy(service, "1001")
            _ = try await buy(service, "2001")
            let last = try await buy(service, "1001", refund)
            let path = "/v1/metrics/revenue?\(june)&explain=true"
            let answer = try await service.ask("GET", path)
            let periods = answer["explanation"]?["periods"]?.elements ?? []
            let told = periods.map {
                "\($0["line"]?.text ?? "") \($0["transaction"]?.text ?? "") "
                    + "\($0["member"]?.text ?? "") \($0["amount"]?.integer ?? 0)"
            }
            #expect(
                told == ["1001 1001 gross 9990", "1001 1001 refunded 9990", "2001 2001 gross 9990"])
            #expect(periods.first?["key"] == JSON(members: ["currency": .string("USD")]))
            let facts = periods.first?["facts"]?.elements ?? []
            #expect(facts.map { $0["position"]?.integer } == [first, last])
            #expect(facts.map { $0["kind"]?.text } == ["purchased", "revoked"])
            #expect(facts.allSatisfy { $0["evidence"]?.text?.count == 64 })
            #expect(answer["explanation"]?["next"] == nil)
            // Each cell is the sum of its periods.
            let row = answer["rows"]?.elements?.first
            for member in ["gross", "refunded"] {
                let sum = periods.filter { $0["member"]?.text == member }
                    .compactMap { $0["amount"]?.integer }.reduce(0, +)
                #expect(row?[member] == .integer(sum))
            }
        }
    }

    @Test("is told page by page, at the position of the first one")
    func pages() async throws {
        try await TestService.run { service in
            for line in ["1001", "2001", "3001"] { _ = try await buy(service, line) }
            let path = "/v1/metrics/active_paid?at=2025-06-10&explain=true"
            let all = try await service.ask("GET", path)
            var found: [JSON] = []
            var next: String?
            repeat {
                let page = try await service.ask(
                    "GET", path + "&limit=1" + (next.map { "&after=\($0)" } ?? ""))
                found += page["explanation"]?["periods"]?.elements ?? []
                next = page["explanation"]?["next"]?.text
                #expect(page["position"] == all["position"])
                _ = try await buy(service, "4\(found.count)01")
            } while next != nil
            #expect(found == all["explanation"]?["periods"]?.elements)
            #expect(found.count == 3)
            for wrong in ["&after=x", "&after=5.zz", "&limit=0", "&limit=5000"] {
                #expect(try await service.ask("GET", path + wrong).status == 400, "\(wrong)")
            }
            let bare = "/v1/metrics/active_paid?at=2025-06-10&limit=5"
            #expect(try await service.ask("GET", bare).status == 400)
        }
    }

    @Test("is which cells changed since a position, by how much, and by which facts")
    func restated() async throws {
        try await TestService.run { service in
            _ = try await buy(service, "1001")
            let then = try await buy(service, "2001")
            let path = "/v1/metrics/revenue/restatements?\(june)&sincePosition="
            let none = try await service.ask("GET", path + "\(then)")
            #expect(none["restatements"] == .array([]))
            let now = try await buy(service, "1001", refund)
            let answer = try await service.ask("GET", path + "\(then)")
            let cell = answer["restatements"]?.elements?.first
            #expect(answer["restatements"]?.elements?.count == 1)
            #expect(answer["position"] == .integer(now))
            #expect(cell?["key"] == JSON(members: ["currency": .string("USD")]))
            let changes = (cell?["changes"]?.elements ?? []).map {
                "\($0["member"]?.text ?? "") \($0["was"]?.integer ?? -1) "
                    + "\($0["is"]?.integer ?? -1) \($0["by"]?.integer ?? -1)"
            }
            #expect(changes == ["refunded 0 9990 9990", "net 19980 9990 -9990"])
            let facts = cell?["facts"]?.elements ?? []
            #expect(
                facts == [
                    JSON(members: [
                        "position": .integer(now), "kind": .string("revoked"),
                        "line": .string("1001"),
                    ])
                ])
            // What was asked then is told as it was by its position.
            let was = try await service.ask(
                "GET", "/v1/metrics/revenue?\(june)&asKnownPosition=\(then)")
            #expect(was["rows"]?.elements?.first?["net"] == .integer(19_980))
            #expect(try await service.ask("GET", path + "\(now + 1)").status == 400)
            #expect(
                try await service.ask("GET", "/v1/metrics/revenue/restatements?\(june)").status
                    == 400)
        }
    }

    @Test("names the catalogue when that changed a report")
    func catalog() async throws {
        try await TestService.run { service in
            let then = try await buy(service, "1001")
            let product = JSON(members: [
                "kind": .string("autoRenewable"), "group": .string("G1"), "level": .integer(1),
                "plan": .string("P1Y"), "entitlements": .array([.string("pro")]),
            ])
            let put = try await service.ask(
                "PUT", "/v1/catalog",
                JSON(members: [
                    "products": JSON(members: ["pro.monthly": product]),
                    "validFrom": .string("2025-01-01"),
                ]))
            #expect(put.status == 200)
            let answer = try await service.ask(
                "GET", "/v1/metrics/mrr/restatements?at=2025-06-10&sincePosition=\(then)")
            let cell = answer["restatements"]?.elements?.first
            #expect(cell?["changes"]?.elements?.first?["by"] == .integer(832 - 9_990))
            #expect(
                cell?["facts"]?.elements?.first?["kind"] == .string("catalogChanged"))
        }
    }

    @Test("is whether its identity holds, with both sides of it")
    func identities() async throws {
        try await TestService.run { service in
            _ = try await buy(service, "1001")
            let answer = try await service.ask(
                "GET", "/v1/metrics/churned?from=2025-06-15&to=2025-07-15&gross=true")
            #expect(
                answer["completeness"]?["identities"]
                    == .array([
                        JSON(members: [
                            "of": .string("active_paid"), "before": .integer(1),
                            "new": .integer(0), "reactivated": .integer(0),
                            "churned": .integer(1), "unknown": .integer(0),
                            "after": .integer(0), "blips": .integer(0), "holds": .bool(true),
                        ])
                    ]))
            #expect(answer["parameters"]?["gross"] == .bool(true))
            for wrong in [
                "renewals?\(june)&gross=true", "churned?\(june)&gross=yes",
                "renewals?\(june)&days=5", "conversion_to_paying?\(june)&days=0",
                "clock_skew?\(june)&by=product", "clock_skew?\(june)&app=a",
                "clock_skew?\(june)&explain=true", "revenue?\(june)&by=age",
            ] {
                let answer = try await service.ask("GET", "/v1/metrics/" + wrong)
                #expect(answer.status == 400, "\(wrong)")
            }
        }
    }

    @Test("is also what the record itself is asked: lateness, quarantine, conflicts, lag")
    func quality() async throws {
        try await TestService.run { service in
            _ = try await buy(service, "1001")
            // The same instant of signing, and another word.
            _ = try await service.post(
                service.transaction(
                    "1001", line: "1001", from: "2025-06-01", until: "2025-07-08"))
            _ = try await service.post(
                notification: service.notification(
                    "DID_RENEW", uuid: "u-1", signed: "2025-06-01T00:10:00Z",
                    transaction: service.transaction(
                        "3001", line: "3001", from: "2025-06-01", until: "2025-07-01")))
            _ = try await service.post(
                service.transaction(
                    "5001", line: "5001", from: "2025-06-01", until: "2025-07-01",
                    bundle: "com.other.app"))
            func value(_ path: String) async throws -> MetricValues {
                let answer = try await service.ask("GET", "/v1/metrics/" + path)
                #expect(answer.status == 200, "\(path)")
                return MetricValues(rows: answer["rows"]?.elements ?? [])
            }
            #expect(try await value("notification_gap?\(june)").only == 1)
            #expect(try await value("history_gap?\(june)").only == 0)
            #expect(try await value("conflicting_facts?at=2030-01-01").only == 1)
            #expect(try await value("conflicting_facts?at=2025-05-01").only == 0)
            #expect(try await value("quarantined_open?at=2099-01-01&by=reason").only == 1)
            #expect(try await value("quarantined_open?at=2020-01-01").only == 0)
            #expect(
                try await value("verification_failures?from=2020-01-01&to=2099-01-01").only == 0)
            let skew = try await value("clock_skew?from=2020-01-01&to=2099-01-01")
            #expect(skew.rows.first?["notifications"] == .integer(1))
            #expect((skew.only ?? 0) > 3_600_000)
            let lag = try await value("projection_lag")
            #expect(lag.rows.count == Projections.all.count)
            #expect(lag.rows.allSatisfy { $0["key"]?["projection"]?.text != nil })
        }
    }

    private struct MetricValues {
        let rows: [JSON]
        var only: Int64? { rows.count == 1 ? rows[0]["value"]?.integer : nil }
    }
}
