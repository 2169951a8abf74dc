import AppStore
import Crypto
import Domain
import TestLives
import Testing

@testable import StoreSimulator

/// A store whose word is taken by the rooms of the daemon.
private struct Heard {
    let authority: Authority
    let interpreter: Interpreter
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        authority = try Authority(directory: folder.path)
        let app = App(
            bundleId: "com.example.app", appAppleId: 1_000_000_001, environments: [.production])
        interpreter = Interpreter(apps: [app], verifier: Verifier(roots: [authority.root]))
    }

    /// The observations of every notification, by line; whose tokens are the customers' places.
    func observations(_ world: inout World) throws -> [StreamID: [Observation]] {
        var found: [StreamID: [Observation]] = [:]
        for place in world.notices.indices {
            let text = world.signed(place, by: authority)
            let notice = world.notices[place]
            let outcome = interpreter.notification(
                Array(text.utf8), receivedAt: notice.signedAt)
            guard case .observation(var observation, _) = outcome else {
                Issue.record("\(notice.type) is not believed")
                continue
            }
            let original = try #require(notice.original)
            let person = try #require(notice.person)
            observation.transaction?.content.token = CustomerNumber(Int64(person) + 1)
            found[.line(.production, original), default: []].append(observation)
        }
        return found
    }
}

@Suite("What the store says")
struct AgreementTests {
    /// A year of customers who live at random.
    private func year(_ customers: Int64, seed: Int64) throws -> World {
        let products: [(String, JSON)] = [
            ("plus.monthly", subscription("P1M", 1, ["pro", "plus"])),
            ("pro.monthly", subscription("P1M", 2, ["pro"])),
            ("pro.weekly", subscription("P1W", 2, ["pro"])),
            ("basic.yearly", subscription("P1Y", 3, ["basic"])),
            (
                "pro.lifetime",
                JSON(members: [
                    "kind": .string("nonConsumable"), "entitlements": .array([.string("pro")]),
                ])
            ),
            (
                "pass.90d",
                JSON(members: [
                    "kind": .string("nonRenewing"), "accessDuration": .string("P90D"),
                    "entitlements": .array([.string("pro")]),
                ])
            ),
        ]
        let scenario = try Scenario(
            JSON(members: [
                "customers": .integer(customers), "seed": .integer(seed),
                "products": .object(products.map { JSON.Member($0.0, $0.1) }),
            ]))
        let end = at("2026-01-01")
        var world = World(scenario, start: at("2025-01-01"), end: end)
        world.advance(to: end)
        return world
    }

    private func subscription(_ plan: String, _ level: Int64, _ gives: [String]) -> JSON {
        JSON(members: [
            "kind": .string("autoRenewable"), "group": .string("G1"), "plan": .string(plan),
            "level": .integer(level), "trial": .string("P1W"),
            "entitlements": .array(gives.map(JSON.string)),
        ])
    }

    @Test("is believed under its own root, and under no other")
    func chain() throws {
        let heard = try Heard()
        let text = heard.authority.sign(JSON(members: ["signedDate": .integer(1_750_000_000_000)]))
        let now = at("2025-07-01")
        _ = try Verifier(roots: [heard.authority.root]).verify(Array(text.utf8), receivedAt: now)
        let other = try Heard()
        #expect(throws: Refusal.self) {
            try Verifier(roots: [other.authority.root]).verify(Array(text.utf8), receivedAt: now)
        }
    }

    @Test("is signed by the same chain and key when the store begins again")
    func kept() throws {
        let folder = try TestFolder()
        let first = try Authority(directory: folder.path)
        let second = try Authority(directory: folder.path)
        #expect(first.root.der == second.root.der)
        #expect(first.credentials.keyId == second.credentials.keyId)
        #expect(first.credentials.issuerId == second.credentials.issuerId)
        let text = second.sign(JSON(members: ["signedDate": .integer(1_750_000_000_000)]))
        _ = try Verifier(roots: [first.root]).verify(
            Array(text.utf8), receivedAt: at("2025-07-01"))
    }

    @Test("is vouched for by the authorities at the address that its certificates name")
    func vouched() throws {
        let folder = try TestFolder()
        let first = try Authority(directory: folder.path, responder: "http://127.0.0.1:1/ocsp")
        let now = at("2025-07-01")
        let text = first.sign(JSON(members: ["signedDate": .integer(now.milliseconds)]))
        _ = try Verifier(roots: [first.root]).verify(Array(text.utf8), receivedAt: now)
        for issued in first.responder.issued {
            #expect(
                CertificateStatus.responder(of: issued.certificate) == "http://127.0.0.1:1/ocsp")
            let question = try CertificateStatus.request(
                for: issued.certificate, issuer: issued.issuer)
            let answer = try #require(first.responder.answer(to: question))
            let real = SimulatedClock.real.milliseconds
            #expect(
                CertificateStatus.verdict(
                    of: answer, on: issued.certificate, issuer: issued.issuer, now: real)
                    == .good)
            let backwards = try CertificateStatus.request(
                for: issued.issuer, issuer: issued.certificate)
            #expect(first.responder.answer(to: backwards) == nil)
        }
        #expect(first.responder.answer(to: [1, 2, 3]) == nil)
        let second = try Authority(directory: folder.path, responder: "http://127.0.0.1:2/ocsp")
        #expect(second.root.der == first.root.der)
        let other = second.sign(JSON(members: ["signedDate": .integer(now.milliseconds)]))
        _ = try Verifier(roots: [first.root]).verify(Array(other.utf8), receivedAt: now)
    }

    @Test("makes the daemon's rooms answer what the store itself holds to be true")
    func truth() throws {
        let heard = try Heard()
        var world = try year(40, seed: 11)
        var random = SplitMix64(seed: 5)
        var lines: [Line] = []
        for (stream, observations) in try heard.observations(&world) {
            let arrived = RandomLife.arrival(observations, &random)
            lines.append(recorded(arrived, stream: stream).line())
        }
        let holdings = Holdings(lines: lines, links: [:], settings: testSettings)
        var wrong: [String] = []
        var held = 0
        for person in world.people.indices {
            let truth = world.truth(of: person).spans
            let edges = truth.values.flatMap { $0.flatMap { [$0.from, $0.until] } }
            let days = (0..<30).map { _ in at("2025-01-01").adding(days: Int64(random.below(365))) }
            // Verdicts change at edges, so both sides of each are looked at.
            let near = edges.filter { $0 < at("2026-01-01") }
                .flatMap { [$0.adding(milliseconds: -1), $0] }
            for instant in days + near {
                let verdicts = holdings.verdicts(
                    for: CustomerNumber(Int64(person) + 1), at: instant)
                let found = Set(verdicts.entitlements.filter(\.mayUse).map(\.name))
                let expected = Set(
                    truth.filter { $0.value.contains { $0.from <= instant && instant < $0.until } }
                        .keys)
                held += expected.count
                if found != expected {
                    wrong.append("\(world.people[person].id) at \(instant): \(found) ≠ \(expected)")
                }
            }
        }
        #expect(held > 500)
        #expect(wrong.prefix(5) == [], "\(wrong.count) in all")
    }
}
