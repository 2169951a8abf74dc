import Domain
import HTTP
import Operation
import Testing

@testable import Daemon

@Suite("A question")
struct QuestionTests {
    private let token = "0b6f7c0e-1111-4222-8333-444455556666"

    @Test("is answered as known at any position, and the past never changes")
    func asKnown() async throws {
        try await TestService.run { service in
            let bought = service.transaction(
                "1001", from: "2025-05-01", until: "2025-06-01", token: token)
            let first = try await service.post(bought)
            let position = try #require(first["position"]?.integer)
            let refunded = service.transaction(
                "1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-11",
                token: token,
                more: [.init("revocationDate", .integer(Instant("2025-05-10")!.milliseconds))])
            _ = try await service.post(refunded)
            let now = try await service.pro(token, at: "2025-05-20")
            #expect(now["active"] == .bool(false) && now["state"] == .string("revoked"))
            let then = try await service.pro(
                token, at: "2025-05-20", more: "&asKnownPosition=\(position)")
            #expect(then["active"] == .bool(true) && then["position"] == .integer(position))
            let before = try await service.pro(token, at: "2025-05-20", more: "&asKnownPosition=0")
            #expect(before["active"] == .bool(false) && before["state"] == .string("none"))
        }
    }

    @Test("right after an answered append always includes it")
    func readYourWrites() async throws {
        try await TestService.run { service in
            for number in 0..<40 {
                let line = "7\(number)"
                let customer = "u_\(number)"
                _ = try await service.post(
                    service.transaction(line, line: line, from: "2025-05-01", until: "2025-06-01"),
                    customer: customer)
                #expect(try await service.pro(customer, at: "2025-05-10")["active"] == .bool(true))
            }
        }
    }

    @Test("never mixes environments")
    func environments() async throws {
        try await TestService.run { service in
            _ = try await service.post(
                service.transaction(
                    "1001", from: "2025-05-01", until: "2025-06-01", environment: "Sandbox"),
                customer: "u_1")
            #expect(try await service.pro("u_1", at: "2025-05-10")["active"] == .bool(false))
            let sandbox = try await service.pro(
                "u_1", at: "2025-05-10", more: "&environment=Sandbox")
            #expect(sandbox["active"] == .bool(true))
            #expect(try await service.ask("GET", "/v1/lines/Production/1001").status == 404)
        }
    }

    @Test("about a bound line is answered from the binding's instant on")
    func bound() async throws {
        try await TestService.run { service in
            let bought = service.transaction(
                "1001", from: "2025-05-01", until: "2025-06-01", token: token)
            _ = try await service.post(bought)
            let moved = try await service.ask(
                "PUT", "/v1/customers/u_2/lines/Production/1001",
                JSON(members: ["from": .string("2025-05-15T00:00:00.000Z")]))
            #expect(moved.status == 200 && moved["appended"] == .integer(1))
            #expect(try await service.pro(token, at: "2025-05-14")["active"] == .bool(true))
            #expect(try await service.pro(token, at: "2025-05-16")["active"] == .bool(false))
            #expect(try await service.pro("u_2", at: "2025-05-16")["active"] == .bool(true))
            let line = try await service.ask("GET", "/v1/lines/Production/1001")
            let owners = line["owners"]?.elements ?? []
            #expect(owners.map { $0["customer"]?.text } == [token, "u_2"])
        }
    }

    @Test("about a token that is another's is a conflict unless it is a transfer")
    func tokens() async throws {
        try await TestService.run { service in
            let path = "tokens/\(token)"
            #expect(try await service.ask("PUT", "/v1/customers/u_1/\(path)").status == 200)
            let again = try await service.ask("PUT", "/v1/customers/u_1/\(path)")
            #expect(again.status == 200 && again["appended"] == .integer(0))
            let other = try await service.ask("PUT", "/v1/customers/u_2/\(path)")
            #expect(other.status == 409 && other["code"] == .string("SL020"))
            let moved = try await service.ask(
                "PUT", "/v1/customers/u_2/\(path)", JSON(members: ["transfer": .bool(true)]))
            #expect(moved.status == 200 && moved["appended"] == .integer(1))
        }
    }

    @Test("with the tag of an answer that still holds is answered 304")
    func tags() async throws {
        try await TestService.run { service in
            _ = try await service.post(
                service.transaction("1001", from: "2025-05-01", until: "2025-06-01"),
                customer: "u_1")
            let first = try await service.pro("u_1", at: "2025-05-10")
            let tag = try #require(first.response.headers.first { $0.name == "ETag" }?.value)
            let same = try await service.ask(
                "GET", "/v1/customers/u_1/entitlements/pro?at=2025-05-20",
                headers: [Header("If-None-Match", tag)])
            #expect(same.status == 304)
            let later = try await service.ask(
                "GET", "/v1/customers/u_1/entitlements/pro?at=2025-06-20",
                headers: [Header("If-None-Match", tag)])
            #expect(later.status == 200)
        }
    }

    @Test("needs a key that holds, with the role")
    func keys() async throws {
        try await TestService.run { service in
            let path = "/v1/customers/u_1/entitlements"
            #expect(try await service.ask("GET", path, key: nil).status == 401)
            #expect(try await service.ask("GET", path, key: "wrong").status == 401)
            let ingest = try await service.key([.ingest])
            let refused = try await service.ask("GET", path, key: ingest)
            #expect(refused.status == 403 && refused["code"] == .string("SL042"))
            #expect(try await service.ask("GET", "/v1/nowhere", key: nil).status == 401)
            #expect(try await service.ask("GET", "/v1/nowhere").status == 404)
            let wrong = try await service.ask("GET", "/v1/apple/notifications", key: nil)
            #expect(wrong.status == 405)
            #expect(wrong.response.headers.contains(Header("Allow", "POST")))
        }
    }

    @Test(
        "that cannot be understood names the parameter",
        arguments: [
            ("at=yesterday", "`at` must be an instant"),
            ("att=2025-05-01", "unknown parameter `att`"),
            ("environment=production", "`environment` must be"),
            ("asKnownPosition=-1", "`asKnownPosition` must be a whole number"),
            ("asKnownPosition=99999", "`asKnownPosition` is beyond the head"),
            ("asKnownAt=2025-05-01&asKnownPosition=1", "exclude each other"),
            ("at=2025-05-01&at=2025-05-02", "the parameter `at` is given twice"),
        ])
    func refused(_ query: String, _ detail: String) async throws {
        try await TestService.run { service in
            let answer = try await service.ask("GET", "/v1/customers/u_1/entitlements?\(query)")
            #expect(answer.status == 400)
            #expect(answer["detail"]?.text?.contains(detail) == true)
        }
    }
}
