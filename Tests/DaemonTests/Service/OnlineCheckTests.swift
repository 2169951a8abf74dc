import Crypto
import Domain
import HTTP
import TestSigner
import Testing

@testable import Daemon

@Suite("Checks of certificates online")
struct OnlineCheckTests {
    private func post(_ number: Int, to service: TestService) async throws -> TestService.Answer {
        let id = "\(1000 + number)"
        return try await service.post(
            notification: service.notification(
                "SUBSCRIBED", subtype: "INITIAL_BUY", uuid: "U\(number)",
                signed: "2025-05-01T00:00:05Z",
                transaction: service.transaction(
                    id, line: id, from: "2025-05-01", until: "2025-06-01")))
    }

    /// When and why evidence is held, by digest.
    private func held(_ service: TestService) async throws -> [String: JSON] {
        let answer = try await service.ask("GET", "/v1/quarantine?limit=1000")
        var found: [String: JSON] = [:]
        for item in answer["quarantine"]?.elements ?? [] {
            found[item["digest"]?.text ?? ""] = item
        }
        return found
    }

    private func head(_ service: TestService) async throws -> JSON? {
        try await service.ask("GET", "/v1/quarantine")["position"]
    }

    @Test("are not made unless they are configured")
    func off() async throws {
        try await TestResponder.run(.empty(500)) { responder async throws in
            try await TestService.run(store: responder.store) { service async throws in
                #expect(try await post(1, to: service).status == 200)
                #expect(try await service.retryPending() == nil)
            }
            #expect(responder.count == 0)
        }
    }

    @Test("let evidence through whose certificates are good, and ask once for each of them")
    func good() async throws {
        try await TestResponder.run { responder async throws in
            try await TestService.run(store: responder.store) {
                $0.apple.onlineChecks = true
            } _: { service async throws in
                for number in 1...3 { #expect(try await post(number, to: service).status == 200) }
                #expect(try await held(service).isEmpty)
            }
            #expect(responder.count == 2)
        }
    }

    @Test("refuse evidence under a revoked certificate as a forgery")
    func revoked() async throws {
        var signer = StatusSigner()
        signer.status = .revoked
        try await TestResponder.run(.signing(signer)) { responder async throws in
            try await TestService.run(store: responder.store) {
                $0.apple.onlineChecks = true
            } _: { service async throws in
                let answer = try await post(1, to: service)
                #expect(answer.status == 422)
                #expect(answer["reason"] == .string("bad_certificate"))
                let items = try await service.post(
                    service.transaction("1", line: "1", from: "2025-05-01", until: "2025-06-01"))
                #expect(
                    items["results"]?.elements?.first?["quarantined"]
                        == .string("bad_certificate"))
                #expect(try await held(service).isEmpty)
            }
        }
    }

    @Test("hold evidence while nothing dependable is said of its certificates")
    func unusable() async throws {
        var unknown = StatusSigner()
        unknown.status = .unknown
        var stale = StatusSigner()
        (stale.since, stale.until) = (-7_200, -3_600)
        var wrong = StatusSigner()
        let modes: [TestResponder.Mode] = [
            .signing(unknown), .signing(stale), .empty(200), .empty(503),
        ]
        try await TestResponder.run { responder async throws in
            wrong.delegate = (responder.store.leaf, responder.store.key)
            try await TestService.run(store: responder.store) {
                $0.apple.onlineChecks = true
            } _: { service async throws in
                let before = try await head(service)
                for (number, mode) in (modes + [.signing(wrong)]).enumerated() {
                    responder.answers(mode)
                    let answer = try await post(number, to: service)
                    #expect(answer.status == 202)
                    #expect(answer["quarantined"] == .string("pending_verification"))
                    #expect(try await service.retryPending() == 0)
                }
                #expect(try await held(service).count == 5)
                #expect(try await head(service) == before)
            }
        }
    }

    @Test("hold evidence whose certificates name nobody to ask, or whom nobody answers for")
    func nobody() async throws {
        try await TestService.run {
            $0.apple.onlineChecks = true
        } _: { service async throws in
            #expect(
                try await post(1, to: service)["quarantined"] == .string("pending_verification"))
            let detail = try await held(service).values.first?["detail"]
            #expect(detail == .string("x5c[0] names no responder to ask about it"))
        }
        try await TestResponder.run { responder async throws in
            await responder.end()
            try await TestService.run(store: responder.store) {
                $0.apple.onlineChecks = true
            } _: { service async throws in
                let items = try await service.post(
                    service.transaction("1", line: "1", from: "2025-05-01", until: "2025-06-01"))
                #expect(
                    items["results"]?.elements?.first?["quarantined"]
                        == .string("pending_verification"))
            }
        }
    }

    @Test("refuse what was held when its certificate proves to have been taken back")
    func refused() async throws {
        try await TestResponder.run(.empty(503)) { responder async throws in
            try await TestService.run(store: responder.store) {
                $0.apple.onlineChecks = true
            } _: { service async throws in
                #expect(try await post(1, to: service).status == 202)
                let digest = try #require(try await held(service).keys.first)
                #expect(try await service.metric("subledger_pending_evidence") == 1)
                var signer = StatusSigner()
                signer.status = .revoked
                responder.answers(.signing(signer))
                #expect(try await service.retryPending() == 0)
                let answer = try await service.ask("GET", "/v1/quarantine")
                #expect(answer["quarantine"]?.elements == [])
                let samples = answer["samples"]?.elements ?? []
                #expect(samples.map { $0["digest"]?.text } == [digest])
                #expect(samples.map { $0["reason"] } == [.string("bad_certificate")])
                #expect(try await service.metric("subledger_pending_evidence") == 0)
                let again = try await service.ask(
                    "POST", "/v1/quarantine/reprocess", .object([]))
                #expect(again["refused"] == .integer(0) && again["held"] == .object([]))
            }
        }
    }

    @Test("count what is asked, and what came of it")
    func counted() async throws {
        var revoked = StatusSigner()
        revoked.status = .revoked
        var unknown = StatusSigner()
        unknown.status = .unknown
        let modes: [(TestResponder.Mode, String)] = [
            (.signing(StatusSigner()), "good"), (.signing(revoked), "revoked"),
            (.signing(unknown), "unusable"), (.empty(503), "unreachable"),
        ]
        for (mode, answer) in modes {
            try await TestResponder.run(mode) { responder async throws in
                try await TestService.run(store: responder.store) {
                    $0.apple.onlineChecks = true
                } _: { service async throws in
                    _ = try await post(1, to: service)
                    #expect(
                        try await service.metric("subledger_certificate_questions_total") == 2)
                    let name = "subledger_certificate_answers_total{answer=\"\(answer)\"}"
                    #expect(try await service.metric(name) == 2)
                }
            }
        }
    }

    @Test("believe what was held once the responder is back, each once, as of when it was received")
    func recovery() async throws {
        try await TestResponder.run(.empty(200)) { responder async throws in
            try await TestService.run(store: responder.store) {
                $0.apple.onlineChecks = true
            } _: { service async throws in
                let before = try await head(service)
                for number in 1...20 { #expect(try await post(number, to: service).status == 202) }
                let waiting = try await held(service)
                #expect(waiting.count == 20)
                #expect(
                    Set(waiting.values.map { $0["reason"] }) == [.string("pending_verification")])
                #expect(try await head(service) == before)
                #expect(try await service.retryPending() == 0)
                #expect(try await held(service) == waiting)

                responder.answers(.signing(StatusSigner()))
                _ = try await service.retryPending()
                // Another retry may have run of itself meanwhile; together they took all, once.
                _ = try await service.retryPending()
                #expect(try await held(service).isEmpty)
                let metrics = try await service.ask("GET", "/v1/entries?limit=1000")
                let entries = (metrics["entries"]?.elements ?? []).filter {
                    $0["kind"] == .string("purchased")
                }
                #expect(entries.count == 20)
                #expect(
                    Set(entries.compactMap { $0["observedAt"] })
                        == Set(waiting.values.compactMap { $0["receivedAt"] }))
                for number in 1...20 {
                    let again = try await post(number, to: service)
                    #expect(again.status == 200 && again["duplicate"] == .bool(true))
                }
            }
        }
    }
}
