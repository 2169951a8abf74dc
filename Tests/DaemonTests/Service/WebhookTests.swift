import Domain
import Foundation
import HTTP
import Synchronization
import Testing

@testable import Daemon
@testable import Delivery

@Suite("A webhook")
struct WebhookTests {
    private let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private let older = "the secret before it"

    private func configure(
        _ consumer: Consumer, _ configuration: inout Configuration,
        format: Webhook.Format = .standard
    ) {
        let files = [secret, older].enumerated().map { number, text in
            let path = configuration.dataDirectory + "/secret-\(number)"
            _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8))
            return Secret.file(path)
        }
        configuration.webhooks = [
            WebhookConfiguration(
                url: consumer.url, secrets: files, environments: [.production], name: "backend",
                format: format)
        ]
    }

    private func run(
        format: Webhook.Format = .standard,
        answer: @escaping @Sendable (Int, Consumer.Delivered) async -> Response = { _, _ in
            Response(status: 204)
        },
        _ body: (TestService, Consumer) async throws -> Void
    ) async throws {
        let consumer = try Consumer(answer)
        try await TestService.run {
            configure(consumer, &$0, format: format)
        } _: { service in
            try await body(service, consumer)
        }
        await consumer.stop()
    }

    @Test("is given every event as the feed gives it, signed by every key")
    func delivers() async throws {
        try await run { service, consumer in
            try await service.twoMonths()
            let events = try await service.allEvents(3)
            let taken = try await consumer.took(events.count)
            let byNumber = taken.sorted { (Int($0.id) ?? 0) < (Int($1.id) ?? 0) }
            #expect(byNumber.map { $0.json["data"] ?? .null } == events)
            #expect(byNumber.map { $0.json["type"] } == events.map { $0["kind"] })
            for delivered in taken {
                let time = Int64(delivered.headers["webhook-timestamp"] ?? "") ?? 0
                let wanted = [secret, older].compactMap { text in
                    SigningKey(secret: text)?.signature(
                        id: delivered.id, timestamp: time, body: delivered.body)
                }
                #expect(delivered.headers["webhook-signature"] == wanted.joined(separator: " "))
            }
        }
    }

    @Test("that fails is tried again, and keeps the order of each line")
    func retries() async throws {
        // The first request of all is refused; what follows it on its line has to wait.
        try await run(
            answer: { number, _ in Response(status: number == 1 ? 500 : 200) }
        ) { service, consumer in
            _ = try await service.post(
                service.transaction("1001", from: day(-40), until: day(-10)),
                service.transaction("1002", from: day(-10), until: day(20)))
            let events = try await service.allEvents(2)
            let taken = try await consumer.took(2)
            #expect(taken.map { $0.json["data"] ?? .null } == events)
            #expect(consumer.asked == 3)
            try await consumer.until { try await service.webhook()["pending"] == .integer(0) }
            let state = try await service.webhook()
            #expect(state["failures"] == .integer(1) && state["delivered"] == .integer(2))
            #expect(state["lastError"]?.text == "answered 500")
        }
    }

    @Test("that holds up one line does not hold up another")
    func parallel() async throws {
        try await run(
            answer: { _, delivered in
                let line = delivered.json["data"]?["line"]?["originalTransactionId"]?.text
                return Response(status: line == "1001" ? 503 : 200)
            }
        ) { service, consumer in
            _ = try await service.post(
                service.transaction("1001", from: day(-1), until: day(20)),
                service.transaction("2001", line: "2001", from: day(-1), until: day(20)))
            let taken = try await consumer.took(1)
            #expect(taken.first?.json["data"]?["transaction"]?.text == "2001")
            try await consumer.until { try await service.webhook()["pending"] == .integer(1) }
            #expect(try await service.webhook()["parked"] == .integer(0))
        }
    }

    @Test("that says it is gone gets nothing more, and what it refused is parked")
    func gone() async throws {
        try await run(answer: { _, _ in Response(status: 410) }) { service, consumer in
            _ = try await service.post(
                service.transaction("1001", from: day(-40), until: day(-10)),
                service.transaction("1002", from: day(-10), until: day(20)))
            // The second event may be made after the first was refused.
            _ = try await service.allEvents(2)
            try await consumer.until {
                let state = try await service.webhook()
                return state["parked"] == .integer(1) && state["pending"] == .integer(1)
            }
            #expect(consumer.asked == 1)
        }
    }

    @Test("can be sent a range of positions again, under the same numbers")
    func replay() async throws {
        try await run { service, consumer in
            try await service.twoMonths()
            let events = try await service.allEvents(3)
            _ = try await consumer.took(3)
            let range = events[1]["position"] ?? .null
            let answer = try await service.ask(
                "POST", "/v1/webhooks/replay",
                JSON(members: ["webhook": .string("backend"), "from": range, "to": range]))
            #expect(answer.status == 202 && answer["queued"] == .integer(1))
            let taken = try await consumer.took(4)
            #expect(taken.last?.json["data"] == events[1])
            #expect(taken.last?.id == events[1]["number"]?.integer.map(String.init))
            let unknown = try await service.ask(
                "POST", "/v1/webhooks/replay",
                JSON(members: ["webhook": .string("other"), "from": range, "to": range]))
            #expect(unknown.status == 404 && unknown["code"]?.text == "SL094")
        }
    }

    @Test("is sent nothing by a rebuild, nor by going back from it")
    func rebuilds() async throws {
        try await run { service, consumer in
            try await service.twoMonths()
            let told = try await service.allEvents(3)
            _ = try await consumer.took(3)
            for name in ["subscriptions", "entitlements"] {
                let asked = try await service.ask("POST", "/v1/projections/\(name)/rebuild")
                try await consumer.until {
                    let state = try await service.ask("GET", "/v1/projections/\(name)")
                    return state["generation"] == asked["generation"]
                }
            }
            _ = try await service.ask("POST", "/v1/projections/subscriptions/rollback")
            // What is new is sent after whatever a rebuild would have sent.
            let posted = try await service.post(
                service.transaction("3001", line: "3001", from: day(-1), until: day(20)))
            let taken = try await consumer.took(4)
            #expect(taken.last?.json["data"]?["position"] == posted["position"])
            #expect(try await service.allEvents(4).count == told.count + 1)
            #expect(consumer.asked == 4)
        }
    }

    @Test("that is new is not sent what was recorded before")
    func fresh() async throws {
        let consumer = try Consumer { _, _ in Response(status: 200) }
        try await TestService.run { service in
            try await service.twoMonths()
            try await service.restarted({ configure(consumer, &$0) }) { service in
                let posted = try await service.post(
                    service.transaction("3001", line: "3001", from: day(-1), until: day(20)))
                let taken = try await consumer.took(1)
                #expect(taken.first?.json["data"]?["position"] == posted["position"])
                try await consumer.until {
                    try await service.webhook()["pending"] == .integer(0)
                }
            }
        }
        #expect(consumer.taken.count == 1)
        await consumer.stop()
    }

    @Test("can speak as RevenueCat does")
    func revenueCat() async throws {
        try await run(format: .revenueCat) { service, consumer in
            try await service.twoMonths()
            let renewal = JSON(members: [
                "originalTransactionId": .string("1001"), "productId": .string("pro.monthly"),
                "autoRenewProductId": .string("pro.monthly"), "autoRenewStatus": .integer(0),
                "environment": .string("Production"),
                "signedDate": .integer(Instant(day(-1))!.milliseconds),
            ])
            _ = try await service.post(
                notification: service.notification(
                    "DID_CHANGE_RENEWAL_STATUS", subtype: "AUTO_RENEW_DISABLED", uuid: "0c",
                    signed: day(-1), renewal: renewal))
            let events = try await consumer.took(3).compactMap { $0.json["event"] }
            #expect(
                events.map { $0["type"]?.text } == ["INITIAL_PURCHASE", "RENEWAL", "CANCELLATION"])
            let renewed = events[1]
            #expect(renewed["app_user_id"]?.text == "u_1")
            #expect(renewed["product_id"]?.text == "pro.monthly")
            #expect(renewed["price_in_purchased_currency"] == .number("9.990"))
            #expect(renewed["expiration_at_ms"] == .integer(Instant(day(20))!.milliseconds))
            #expect(events[2]["cancel_reason"]?.text == "UNSUBSCRIBE")
        }
    }
}

extension TestService {
    /// All outgoing events once there are so many.
    func allEvents(_ count: Int) async throws -> [JSON] {
        while true {
            let found = try await ask("GET", "/v1/events?limit=1000&wait=1&after=\(0)")
            let events = found["events"]?.elements ?? []
            if events.count >= count { return events }
        }
    }

    /// The state of the only webhook.
    func webhook() async throws -> JSON {
        try await ask("GET", "/v1/webhooks")["webhooks"]?.elements?.first ?? .null
    }
}
