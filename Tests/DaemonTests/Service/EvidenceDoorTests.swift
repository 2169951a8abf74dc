import Domain
import HTTP
import Testing

@testable import Daemon

@Suite("The door for evidence")
struct EvidenceDoorTests {
    private let token = "0b6f7c0e-1111-4222-8333-444455556666"

    @Test("answers with the position of what it recorded, and a repeat with the same position")
    func repeats() async throws {
        try await TestService.run { service in
            let bought = service.transaction("1001", from: "2025-05-01", until: "2025-06-01")
            let notification = try service.notification(
                "SUBSCRIBED", subtype: "INITIAL_BUY", uuid: "U1", signed: "2025-05-01T00:00:05Z",
                transaction: bought)
            let first = try await service.post(notification: notification)
            #expect(first.status == 200 && first["appended"] == .integer(2))
            let again = try await service.post(notification: notification)
            #expect(again.status == 200 && again["duplicate"] == .bool(true))
            #expect(again["position"] == first["position"] && again["appended"] == .integer(0))
        }
    }

    @Test("refuses a damaged copy with its reason, and still takes the intact one")
    func damaged() async throws {
        try await TestService.run { service in
            let intact = try service.sign(
                try service.notification("TEST", uuid: "U2", signed: "2025-05-01"))
            let damaged = intact.dropLast(8)
            let refused = try await service.ask(
                "POST", "/v1/apple/notifications",
                JSON(members: ["signedPayload": .string(String(damaged))]), key: nil)
            #expect(refused.status == 422 && refused["reason"] == .string("bad_signature"))
            let listed = try await service.ask("GET", "/v1/quarantine")
            let reasons = (listed["samples"]?.elements ?? []).map { $0["reason"]?.text }
            #expect(reasons == ["bad_signature"] && listed["quarantine"]?.elements == [])
            let taken = try await service.ask(
                "POST", "/v1/apple/notifications",
                JSON(members: ["signedPayload": .string(intact)]), key: nil)
            #expect(taken.status == 200 && taken["duplicate"] == .bool(false))
        }
    }

    @Test("judges each item of a post alone")
    func items() async throws {
        try await TestService.run { service in
            let answer = try await service.post(
                service.transaction("1001", from: "2025-05-01", until: "2025-06-01"),
                service.transaction(
                    "2001", line: "2001", from: "2025-05-01", until: "2025-06-01",
                    bundle: "com.elsewhere"))
            let results = answer["results"]?.elements ?? []
            #expect(results.map { $0["quarantined"] } == [nil, .string("wrong_app")])
            #expect(results.map { $0["appended"] } == [.integer(1), .integer(0)])
        }
    }

    @Test("holds what is validly signed and not believed, and answers 202")
    func held() async throws {
        try await TestService.run { service in
            var notification = try service.notification("TEST", uuid: "U3", signed: "2025-05-01")
            notification = .object(
                (notification.members ?? []).map {
                    $0.name == "data"
                        ? .init("data", JSON(members: ["environment": .string("Production")])) : $0
                })
            let answer = try await service.post(notification: notification)
            #expect(answer.status == 202 && answer["quarantined"] == .string("wrong_app"))
        }
    }

    @Test("binds an unbound token to whoever presents it")
    func presented() async throws {
        try await TestService.run { service in
            let bought = service.transaction(
                "1001", from: "2025-05-01", until: "2025-06-01", token: token)
            let answer = try await service.post(bought, customer: "u_1")
            #expect(answer["results"]?.elements?.first?["owner"] == .string("u_1"))
            #expect(try await service.pro("u_1", at: "2025-05-10")["active"] == .bool(true))
            #expect(try await service.pro(token, at: "2025-05-10")["active"] == .bool(false))
        }
    }

    @Test("tells a second presenter that another owns the line, and records the claim once")
    func claimed() async throws {
        try await TestService.run { service in
            let bought = service.transaction("1001", from: "2025-05-01", until: "2025-06-01")
            _ = try await service.post(bought, customer: "u_1")
            let claim = try await service.post(bought, customer: "u_2")
            #expect(claim["results"]?.elements?.first?["owner"] == .string("owned_by_other"))
            #expect(claim["results"]?.elements?.first?["appended"] == .integer(1))
            let again = try await service.post(bought, customer: "u_2")
            #expect(again["results"]?.elements?.first?["appended"] == .integer(0))
            #expect(try await service.pro("u_2", at: "2025-05-10")["active"] == .bool(false))
        }
    }

    @Test("answers a presenter's repeat with the position of the first answer, whatever came since")
    func presentedAgain() async throws {
        try await TestService.run { service in
            let plain = service.transaction("1001", from: "2025-05-01", until: "2025-06-01")
            let named = service.transaction(
                "2001", line: "2001", from: "2025-05-01", until: "2025-06-01", token: token)
            let signed = try [plain, named].map { JSON.string(try service.sign($0)) }
            func post(_ customer: String, _ key: String) async throws -> TestService.Answer {
                try await service.ask(
                    "POST", "/v1/apple/transactions",
                    JSON(members: [
                        "signedTransactions": .array(signed), "customer": .string(customer),
                    ]), headers: [Header("Idempotency-Key", key)])
            }
            var first: [String: TestService.Answer] = [:]
            for customer in ["u_1", "u_2"] { first[customer] = try await post(customer, "k") }
            _ = try await service.post(
                service.transaction("3001", line: "3001", from: "2025-05-01"))
            for customer in ["u_2", "u_1"] {
                let again = try await post(customer, "k")
                #expect(again.status == 200)
                #expect(again["position"] == first[customer]?["position"])
                let (before, after) = (first[customer]?["results"]?.elements, again["results"])
                #expect(after?.elements?.map { $0["owner"] } == before?.map { $0["owner"] })
                for result in after?.elements ?? [] {
                    #expect(result["appended"] == .integer(0))
                    #expect(result["duplicate"] == .bool(true))
                }
            }
            #expect(try await post("u_1", "").status == 400)
            #expect(try await post("u_1", String(repeating: "k", count: 201)).status == 400)
        }
    }

    @Test(
        "names what is wrong with a body",
        arguments: [
            ("no JSON", "the body is no JSON: no JSON value at byte 0"),
            ("[]", "the body must be an object, found a list"),
            ("{}", "the member `signedPayload` is missing"),
            (#"{"signedPayload": 7}"#, "`signedPayload` must be a text, found a number"),
        ])
    func malformed(_ body: String, _ detail: String) async throws {
        try await TestService.run { service in
            let answer = try await service.ask(
                "POST", "/v1/apple/notifications", bytes: Array(body.utf8), key: nil)
            #expect(answer.status == 400 && answer["detail"] == .string(detail))
            #expect(answer["code"] == .string("SL040"))
        }
    }
}
