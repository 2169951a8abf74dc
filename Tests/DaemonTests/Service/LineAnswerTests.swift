import Domain
import Testing

@testable import Daemon

@Suite("A line's answer")
struct LineAnswerTests {
    private func moment(_ text: String) throws -> JSON {
        .integer(try #require(Instant(text)).milliseconds)
    }

    private func line(_ service: TestService, at instant: String) async throws -> JSON {
        try await service.ask("GET", "/v1/lines/Production/1001?at=\(instant)").json
    }

    @Test("shows each purchase of seats, and how many are valid")
    func seats() async throws {
        try await TestService.run { service in
            func tiers(_ price: Int64, _ quantity: Int64) -> JSON {
                let tier = JSON(members: ["price": .integer(price), "quantity": .integer(quantity)])
                return JSON(members: ["priceTiers": .array([tier])])
            }
            let period = JSON.Member("webOrderLineItemId", .string("77"))
            func bought(_ id: String, from: String, _ more: [JSON.Member]) -> JSON {
                let plain = service.transaction(
                    id, from: from, until: "2025-06-01", signed: "2025-05-20T00:00:05Z",
                    more: more)
                let others = (plain.members ?? []).filter { $0.name != period.name }
                return .object(others + [period])
            }
            _ = try await service.post(
                bought(
                    "1001", from: "2025-05-01",
                    [
                        .init("quantity", .integer(5)), .init("multiSeatInfo", tiers(4600, 5)),
                        .init("revocationDate", try moment("2025-05-20")),
                    ]),
                bought(
                    "1002", from: "2025-05-11",
                    [
                        .init("quantity", .integer(2)), .init("multiSeatInfo", tiers(3000, 2)),
                        .init("additionalTransactionReason", .string("SEAT_ADDITION")),
                    ]))
            let answer = try await line(service, at: "2025-05-25")
            #expect(answer["state"] == .string("active"))
            #expect(answer["until"] == .string("2025-06-01T00:00:00.000Z"))
            #expect(answer["periods"]?.elements?.count == 1)
            let shown = try #require(answer["periods"]?.elements?.first)
            #expect(shown["priceMilliunits"] == .integer(29_000))
            #expect(shown["revoked"] == .bool(false) && shown["seats"] == .integer(2))
            #expect(shown["refund"]?["priceMilliunits"] == .integer(23_000))
            let payments = shown["payments"]?.elements ?? []
            #expect(payments.map { $0["transaction"] } == [.string("1001"), .string("1002")])
            #expect(payments.map { $0["revoked"] } == [.bool(true), .bool(false)])
            #expect(payments.map { $0["priceMilliunits"] } == [.integer(23_000), .integer(6000)])
            let added = try await service.ask("GET", "/v1/transactions/Production/1002")
            #expect(added["period"]?["transaction"] == .string("1001"))
        }
    }

    @Test("says until when a commitment binds, and that a monthly payment follows")
    func commitment() async throws {
        try await TestService.run { service in
            let commitment = JSON(members: [
                "billingPeriodNumber": .integer(2), "totalBillingPeriods": .integer(12),
                "commitmentExpiresDate": try moment("2026-04-01"),
            ])
            let bought = service.transaction(
                "1002", from: "2025-05-01", until: "2025-06-01",
                more: [
                    .init("billingPlanType", .string("MONTHLY")),
                    .init("commitmentInfo", commitment),
                    .init("previousOriginalTransactionId", .string("900")),
                ])
            let renewal = JSON(members: [
                "originalTransactionId": .string("1001"), "autoRenewStatus": .integer(1),
                "autoRenewProductId": .string("pro.monthly"),
                "environment": .string("Production"), "signedDate": try moment("2025-05-10"),
                "commitmentInfo": JSON(members: ["commitmentAutoRenewStatus": .integer(0)]),
            ])
            _ = try await service.post(
                notification: service.notification(
                    "DID_CHANGE_RENEWAL_STATUS", subtype: "AUTO_RENEW_DISABLED", uuid: "u-1",
                    signed: "2025-05-10", transaction: bought, renewal: renewal, status: 1))
            let answer = try await line(service, at: "2025-05-11")
            #expect(answer["willRenew"] == .bool(true))
            #expect(answer["until"] == .string("2025-06-01T00:00:00.000Z"))
            #expect(
                answer["commitment"]
                    == JSON(members: [
                        "until": .string("2026-04-01T00:00:00.000Z"), "willRenew": .bool(false),
                        "payment": .integer(2), "payments": .integer(12),
                    ]))
            #expect(answer["previousOriginalTransactionId"] == .string("900"))
            let later = try await line(service, at: "2025-06-02")
            #expect(later["commitment"] == nil && later["state"] == .string("expired"))
        }
    }

    @Test("has no word of commitments, chains and seats that nobody stated")
    func plain() async throws {
        try await TestService.run { service in
            _ = try await service.post(
                service.transaction("1001", from: "2025-05-01", until: "2025-06-01"))
            let answer = try await line(service, at: "2025-05-11")
            let names = Set((answer.members ?? []).map(\.name))
            #expect(names.isDisjoint(with: ["commitment", "previousOriginalTransactionId"]))
            let period = try #require(answer["periods"]?.elements?.first)
            let shown = Set((period.members ?? []).map(\.name))
            #expect(shown.isDisjoint(with: ["seats", "payments"]))
        }
    }

    @Test("and its timeline say until when Apple waits for an answer about a refund")
    func deadline() async throws {
        try await TestService.run { service in
            let bought = service.transaction("1001", from: "2025-05-01", until: "2025-06-01")
            _ = try await service.post(bought, customer: "u_1")
            _ = try await service.post(
                notification: service.notification(
                    "CONSUMPTION_REQUEST", uuid: "u-1", signed: "2025-05-10", transaction: bought))
            let timeline = try await service.ask("GET", "/v1/customers/u_1/timeline")
            let stories = (timeline["timeline"]?.elements ?? []).compactMap { $0["story"]?.text }
            #expect(
                stories.contains {
                    $0.hasPrefix("notified: CONSUMPTION_REQUEST")
                        && $0.hasSuffix("to be answered by 2025-05-10T12:00:00.000Z")
                })
        }
    }
}
