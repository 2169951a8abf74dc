import Crypto
import Domain
import Testing

@testable import Daemon

@Suite("Outgoing events")
struct EventTests {
    @Test("of a refund of an older period are one, and access goes on (A03)")
    func olderRefund() async throws {
        try await TestService.run { service in
            try await service.twoMonths()
            let refunded = service.transaction(
                "1001", from: day(-40), until: day(-10), signed: day(-1),
                more: [
                    .init("revocationDate", .integer(Instant(day(-1))!.milliseconds)),
                    .init("revocationReason", .integer(0)),
                ])
            let posted = try await service.post(
                notification: service.notification(
                    "REFUND", uuid: "0a", signed: day(-1), transaction: refunded))
            #expect(posted.status == 200)
            let events = try await service.events(level: posted)
            let revoked = events.filter { $0["kind"]?.text == "revoked" }
            #expect(revoked.count == 1)
            #expect(revoked.first?["transaction"]?.text == "1001")
            #expect(revoked.first?["priceMilliunits"] == .integer(9990))
            #expect(revoked.first?["customer"]?.text == "u_1")
            let pro = revoked.first?["entitlementsAfter"]?["pro"]
            #expect(pro?["active"] == .bool(true))
            #expect(pro?["until"]?.text == Instant(day(20))?.description)
            #expect(!events.contains { $0["kind"]?.text == "expired" })
            let now = try await service.ask("GET", "/v1/customers/u_1/entitlements")
            #expect(now["entitlements"] == revoked.first?["entitlementsAfter"])
        }
    }

    @Test("of a transfer are two, each with the product and what its customer has (G03)")
    func transfer() async throws {
        try await TestService.run { service in
            try await service.twoMonths()
            let moved = try await service.ask(
                "PUT", "/v1/customers/u_2/lines/Production/1001",
                JSON(members: ["from": .string(Instant(day(-1))!.description)]))
            #expect(moved.status == 200)
            let events = try await service.events(level: moved)
                .filter { $0["kind"]?.text == "transferred" }
            #expect(events.map { $0["customer"]?.text } == ["u_1", "u_2"])
            #expect(events.map { $0["product"]?.text } == ["pro.monthly", "pro.monthly"])
            #expect(events.first?["to"]?.text == "u_2" && events.last?["from"]?.text == "u_1")
            let verdicts = events.map { $0["entitlementsAfter"]?["pro"]?["active"]?.bool }
            #expect(verdicts == [false, true])
            for event in events {
                let customer = event["customer"]?.text ?? ""
                let now = try await service.ask("GET", "/v1/customers/\(customer)/entitlements")
                #expect(now["entitlements"] == event["entitlementsAfter"])
            }
        }
    }

    @Test("of a purchase that a notification repeats are those of the purchase alone (I05)")
    func repeated() async throws {
        try await TestService.run { service in
            let stated =
                service.transaction(
                    "3001", line: "3001", product: "coins.100", from: day(-1)
                ).members ?? []
            let bought = JSON.object(
                stated.filter { $0.name != "type" } + [.init("type", .string("Consumable"))])
            _ = try await service.post(bought)
            let again = try await service.post(
                notification: service.notification(
                    "ONE_TIME_CHARGE", uuid: "0b", signed: day(0), transaction: bought))
            #expect(again["appended"] == .integer(1))
            let events = try await service.events(level: again)
            #expect(events.map { $0["kind"]?.text } == ["purchased"])
        }
    }

    @Test("tell within a second, and once, that time ended a line (B05)")
    func expiry() async throws {
        try await TestService.run { service in
            let end = SystemClock.now.adding(milliseconds: 700)
            let posted = try await service.post(
                service.transaction("1001", from: day(-30), until: end.description),
                customer: "u_1")
            _ = try await service.events(level: posted)
            let found = try await service.ask("GET", "/v1/events?kind=expired&wait=20")
            let seen = SystemClock.now
            let expired = found["events"]?.elements ?? []
            #expect(expired.count == 1)
            #expect(expired.first?["occurredAt"]?.text == end.description)
            #expect(expired.first?["entitlementsAfter"]?["pro"]?["active"] == .bool(false))
            #expect(expired.first?["line"]?["state"]?.text == "expired")
            #expect(seen >= end)
            try await service.restarted({ _ in }) { service in
                let later = try await service.post(
                    service.transaction("1002", line: "1002", from: day(-1), until: day(20)))
                let all = try await service.events(level: later)
                #expect(all.filter { $0["kind"]?.text == "expired" }.count == 1)
                #expect(all.compactMap { $0["number"]?.integer } == Array(1...Int64(all.count)))
            }
        }
    }

    @Test("of old purchases tell no end, since it did not come now")
    func old() async throws {
        try await TestService.run { service in
            let posted = try await service.post(
                service.transaction("1001", from: "2025-05-01", until: "2025-06-01"),
                customer: "u_1")
            let events = try await service.events(level: posted)
            #expect(events.map { $0["kind"]?.text } == ["purchased", "linked"])
        }
    }
}

/// A day so many days from now, at midnight.
func day(_ number: Int64) -> String {
    let today = SystemClock.now.milliseconds / Instant.millisecondsPerDay
    return Instant(milliseconds: 0).adding(days: today + number).description
}

extension TestService {
    /// Two months of a line that belongs to u_1.
    func twoMonths() async throws {
        let token = "11111111-1111-4111-8111-111111111111"
        _ = try await ask("PUT", "/v1/customers/u_1/tokens/\(token)")
        _ = try await post(
            transaction("1001", from: day(-40), until: day(-10), token: token),
            transaction("1002", from: day(-10), until: day(20), token: token))
    }

    /// All outgoing events once the answer's entries were told.
    func events(level answer: Answer) async throws -> [JSON] {
        let position = answer["position"]?.integer ?? 0
        while true {
            let found = try await ask("GET", "/v1/events?limit=1000")
            if found["position"]?.integer ?? 0 >= position {
                return found["events"]?.elements ?? []
            }
            await Task.yield()
        }
    }
}
