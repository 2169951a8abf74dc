import Domain
import HTTP
import Testing

@testable import Daemon

@Suite("Held evidence")
struct PresentedEvidenceTests {
    private let bundle = "com.example.later"

    private func early(_ service: TestService, token: String? = nil) -> JSON {
        service.transaction(
            "1001", from: "2025-06-01", until: "2025-07-01", token: token, bundle: bundle)
    }

    /// Judges all that is held again, by a daemon that follows the app, and asks it.
    private func believed(
        _ service: TestService, _ ask: (TestService) async throws -> Void
    ) async throws {
        try await service.restarted {
            $0.apps.append(
                AppConfiguration(
                    bundleID: bundle, appAppleID: 2, environments: [.production]))
        } then: { later async throws in
            let judged = try await later.ask("POST", "/v1/quarantine/reprocess", .object([]))
            #expect(judged["believed"] == .integer(1) && judged["refused"] == .integer(0))
            #expect(judged["held"] == .object([]))
            try await ask(later)
        }
    }

    private func owners(_ service: TestService) async throws -> [String?] {
        let line = try await service.ask("GET", "/v1/lines/Production/1001?at=2025-06-10")
        return (line["owners"]?.elements ?? []).map { $0["customer"]?.text }
    }

    @Test("is its presenter's once it is believed")
    func presented() async throws {
        try await TestService.run { service in
            let held = try await service.post(early(service), customer: "u_1")
            #expect(held["results"]?.elements?.first?["quarantined"] == .string("wrong_app"))
            try await believed(service) { later async throws in
                #expect(try await owners(later) == ["u_1"])
                #expect(try await later.pro("u_1", at: "2025-06-10")["active"] == .bool(true))
            }
        }
    }

    @Test("binds the token that it names to its presenter once it is believed")
    func token() async throws {
        let token = "0b6f7c0e-1111-4222-8333-444455556666"
        try await TestService.run { service in
            _ = try await service.post(early(service, token: token), customer: "u_1")
            try await believed(service) { later async throws in
                #expect(try await owners(later) == ["u_1"])
                #expect(try await later.pro(token, at: "2025-06-10")["active"] == .bool(false))
            }
        }
    }

    @Test(
        "is the first presenter's, whoever presented it later, and whatever came without one",
        arguments: [
            ["u_1", "u_2", "u_1"], ["", "u_1", "u_2", "u_1"], ["", "", "u_1", "", "u_2"],
        ])
    func several(_ presenters: [String]) async throws {
        try await TestService.run { service in
            let signed = try service.sign(early(service))
            for presenter in presenters {
                let answer = try await service.ask(
                    "POST", "/v1/apple/transactions",
                    JSON(members: [
                        "signedTransactions": .array([.string(signed)]),
                        "customer": presenter.isEmpty ? nil : .string(presenter),
                    ]))
                #expect(
                    answer["results"]?.elements?.first?["quarantined"] == .string("wrong_app"))
            }
            let listed = try await service.ask("GET", "/v1/quarantine")
            #expect(listed["quarantine"]?.elements?.count == 1)
            try await believed(service) { later async throws in
                #expect(try await owners(later) == ["u_1"])
                #expect(try await later.pro("u_1", at: "2025-06-10")["active"] == .bool(true))
                #expect(try await later.pro("u_2", at: "2025-06-10")["active"] == .bool(false))
                // The second one's claim is on the record, once.
                let claim = try await later.ask("GET", "/v1/entries?line=1001&kind=linked")
                #expect(claim["entries"]?.elements?.count == 2)
            }
        }
    }

    @Test("that nobody presented is nobody's once it is believed")
    func nobody() async throws {
        try await TestService.run { service in
            _ = try await service.post(early(service))
            try await believed(service) { later async throws in
                #expect(try await owners(later) == [])
            }
        }
    }
}
