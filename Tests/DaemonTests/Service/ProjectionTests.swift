import Domain
import Entitlements
import Operation
import Postgres
import Projecting
import Testing

@testable import Daemon

@Suite("Projections over HTTP")
struct ProjectionTests {
    private static let day = "2026-01-01T00:00:00.000Z"

    private func bought(_ service: TestService) async throws {
        for line in 1001...1010 {
            let transaction = service.transaction(
                "\(line)", line: "\(line)", from: ProjectionTests.day,
                until: "2026-02-01T00:00:00.000Z")
            _ = try await service.post(transaction, customer: "u_\(line)")
        }
    }

    /// Waits until a projection's state is told by a condition.
    private func expect(
        _ service: TestService, _ name: String, _ condition: (JSON) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(300)
        while ContinuousClock.now < deadline {
            if condition(try await service.ask("GET", "/v1/projections/\(name)").json) { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("the projection \(name) has not come to what was waited for")
    }

    @Test("are listed with their position, and each is rebuilt while answers stay the same")
    func rebuilds() async throws {
        try await TestService.run { service in
            try await bought(service)
            let list = try await service.ask("GET", "/v1/projections")
            #expect(list.status == 200)
            #expect(
                list["projections"]?.elements?.compactMap { $0["name"]?.text }
                    == ["subscriptions", "entitlements", "periods", "metrics"])
            let before = try await service.pro("u_1003", at: "2026-01-15T00:00:00.000Z")
            for name in Projections.all.map(\.name) {
                let asked = try await service.ask("POST", "/v1/projections/\(name)/rebuild")
                #expect(asked.status == 202)
                let generation = try #require(asked["generation"]?.integer)
                try await expect(service, name) {
                    $0["generation"]?.integer == generation && $0["state"]?.text == "live"
                }
                let after = try await service.pro("u_1003", at: "2026-01-15T00:00:00.000Z")
                #expect(after["active"] == .bool(true))
                #expect(after.json == before.json)
            }
        }
    }

    @Test("tell that a generation equals the one before by its digest, and go back to that")
    func digests() async throws {
        try await TestService.run { service in
            try await bought(service)
            _ = try await service.ask("POST", "/v1/projections/subscriptions/rebuild")
            var built: JSON?
            try await expect(service, "subscriptions") { status in
                built = status["generations"]?.elements?.first { $0["state"]?.text == "live" }
                return built != nil
            }
            #expect(built?["digest"]?.text?.count == 64)
            #expect(built?["digest"] == built?["liveDigest"])
            let back = try await service.ask("POST", "/v1/projections/subscriptions/rollback")
            #expect(back.status == 200)
            #expect(back["generation"]?.integer == 1)
            let answer = try await service.pro("u_1003", at: "2026-01-15T00:00:00.000Z")
            #expect(answer["active"] == .bool(true))
        }
    }

    @Test("are read anew when another generation may differ from the one before, and only then")
    func rows() async throws {
        try await TestService.run { service in
            try await bought(service)
            func isActive() async throws -> Bool {
                let day = "2026-01-15T00:00:00.000Z"
                return try await service.pro("u_1003", at: day)["active"] == .bool(true)
            }
            /// Lets projectors meet the live generations.
            func level() async throws {
                let transaction = service.transaction(
                    "\(Int.random(in: 2_000 ... .max))", line: "2000", from: ProjectionTests.day,
                    until: "2026-02-01T00:00:00.000Z")
                _ = try await service.post(transaction, customer: "u_2000")
                for name in ["subscriptions", "entitlements"] {
                    try await expect(service, name) { $0["lag"]?.integer == 0 }
                }
            }
            func rebuild() async throws {
                let asked = try await service.ask("POST", "/v1/projections/entitlements/rebuild")
                try await expect(service, "entitlements") {
                    $0["generation"] == asked["generation"] && $0["state"]?.text == "live"
                }
                try await level()
            }
            let emptied = """
                delete from projection.holding where generation = (select generation \
                from projection.generation where projection = 'entitlements' and is_live)
                """
            try await level()
            // Twice: what was read is remembered, and what is recorded after it is watched.
            #expect(try await isActive())
            #expect(try await isActive())
            // The same rows: what was read of them stays, even though they are gone now.
            try await rebuild()
            try await service.ground.writePool.query(emptied)
            #expect(try await isActive())
            service.ground.answers.forget()
            #expect(try await !isActive())
            // Other rows than those.
            try await rebuild()
            #expect(try await isActive())
            // Those again, which nothing was compared with.
            let back = try await service.ask("POST", "/v1/projections/entitlements/rollback")
            #expect(back.status == 200)
            try await level()
            #expect(try await !isActive())
        }
    }

    @Test("that there are not are not found, and need the role to operate")
    func refusals() async throws {
        try await TestService.run { service in
            let unknown = try await service.ask("POST", "/v1/projections/dreams/rebuild")
            #expect(unknown.status == 404)
            let key = try await service.key([.read])
            let closed = try await service.ask("GET", "/v1/projections", key: key)
            #expect(closed.status == 403)
            let nothing = try await service.ask("POST", "/v1/projections/entitlements/rollback")
            #expect(nothing.status == 409)
            #expect(nothing["code"]?.text == "SL104")
        }
    }
}
