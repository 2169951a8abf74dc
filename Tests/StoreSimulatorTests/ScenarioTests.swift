import Domain
import TestLives
import Testing

@testable import StoreSimulator

@Suite("A scenario")
struct ScenarioTests {
    private func refusal(_ text: String) throws -> String? {
        let json = try JSON.parse(text)
        do throws(SimulatorError) {
            _ = try Scenario(json)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("says who lives how, when the clock begins and how fast it runs")
    func reads() throws {
        let scenario = try Scenario(
            JSON.parse(
                """
                {"app": {"bundleId": "com.example.other", "graceDays": 3}, "start": "P1Y",
                 "length": "P6M", "clock": 2.5, "month": "PT10S", "seed": 9, "customers": 4,
                 "lives": [{"customer": "ada", "environment": "Sandbox", "steps": [
                   {"after": "P1M3D", "do": "refund", "transaction": "first", "percentage": 500}]}],
                 "faults": {"notifications": {"lost": 0.5}, "rateLimits": false}}
                """))
        #expect(scenario.app.bundleId == "com.example.other" && scenario.app.graceDays == 3)
        #expect(scenario.start == Span("P1Y").map { .ago($0) })
        #expect(scenario.pace == Pace(month: 10_000))
        #expect(scenario.clock == 2.5 && scenario.randomCustomers == 4 && scenario.seed == 9)
        #expect(scenario.faults.lost == 0.5 && !scenario.faults.rateLimits)
        let life = try #require(scenario.lives.first)
        #expect(life.environment == .sandbox && life.steps.map(\.after) == [Span("P1M3D")])
        guard case .refund(.first, percentage: 500) = life.steps.first?.step else {
            Issue.record("another step was read")
            return
        }
    }

    @Test(
        "is refused with the place that is wrong",
        arguments: [
            ("{\"live\": []}", "the scenario's live: known are app, products"),
            ("{\"lives\": [{}]}", "the scenario's lives[0].customer: wanted is a text"),
            (
                "{\"lives\": [{\"customer\": \"a\", \"steps\": [{\"after\": \"P1D\", \"do\": \"fly\"}]}]}",
                "the scenario's lives[0].steps[0].do: wanted is one of buy"
            ),
            (
                "{\"lives\": [{\"customer\": \"a\", \"steps\": [{\"do\": \"cancel\"}]}]}",
                "the scenario's lives[0].steps[0].after: wanted is how long"
            ),
            ("{\"products\": {\"p\": {\"kind\": \"rent\"}}}", "the scenario's products.p.kind"),
            (
                "{\"products\": {\"p\": {\"kind\": \"autoRenewable\"}}}",
                "the scenario's products.p: wanted is a group and a plan"
            ),
            ("{\"start\": \"soon\"}", "the scenario's start: wanted is an instant"),
            (
                "{\"faults\": {\"notifications\": {\"lost\": 2}}}",
                "the scenario's faults.notifications.lost: wanted is a share"
            ),
            ("{\"month\": 5}", "the scenario's month: wanted is a text"),
        ])
    func refuses(text: String, expected: String) throws {
        let found = try refusal(text)
        #expect(found?.hasPrefix(expected) == true, "\(found ?? "nothing is wrong")")
    }

    @Test("may have a shorter month, in which everything is shorter alike")
    func paces() throws {
        let pace = Pace(month: 30_000)
        let start = at("2025-01-01")
        for (text, seconds) in [("P1M", 30), ("P1W", 7), ("P1Y", 360), ("P10D", 10), ("P1M3D", 33)]
        {
            let span = try #require(Span(text))
            #expect(
                pace.adding(span, to: start) == start.adding(milliseconds: Int64(seconds) * 1_000))
        }
        #expect(pace.duration(days: 16) == 16_000)
        for text in ["", "P", "1M", "P1", "PM", "P1H", "PT1D", "P1.5M", "P-1D"] {
            #expect(Span(text) == nil, "\(text)")
        }
    }

    @Test("lets Sandbox renew twelve times")
    func sandbox() throws {
        let scenario = try Scenario(
            JSON.parse(
                """
                {"environment": "Sandbox", "lives": [{"customer": "sue", "steps": [
                  {"after": "P0D", "do": "buy", "product": "pro.monthly"}]}]}
                """))
        let end = at("2027-01-01")
        var world = World(scenario, start: Play.start, end: end)
        world.advance(to: end)
        #expect(world.transactions.count == 13)
        #expect(world.notices.last?.type == "EXPIRED" && world.agenda.count == 0)
    }
}

@Suite("Faults")
struct FaultTests {
    private func parcels(_ change: (inout Faults) -> Void) async throws -> (Store, [Parcel]) {
        let folder = try TestFolder()
        var faults = Faults()
        change(&faults)
        let store = Store(
            authority: try Authority(directory: folder.path),
            world: Play([("2025-01-01", .buy("pro.monthly"))], until: "2025-06-01").world,
            clock: SimulatedClock(start: at("2025-06-01"), factor: 0),
            notifyURL: "http://127.0.0.1:1/", retries: nil, faults: faults)
        return (store, await store.turn().parcels)
    }

    @Test("lose notifications that count as delivered")
    func lost() async throws {
        let (store, parcels) = try await parcels { $0.lost = 1 }
        #expect(parcels.isEmpty)
        let notices = await store.world.notices
        #expect(notices.count == 6)
        #expect(notices.allSatisfy { $0.attempts.map(\.result) == ["SUCCESS"] })
        #expect(await store.underWay == 0)
    }

    @Test("send notifications twice, and hold them back")
    func doubledAndHeldBack() async throws {
        let (store, parcels) = try await parcels {
            $0.doubled = 1
            $0.reordered = 1
        }
        #expect(parcels.count == 6)
        #expect(parcels.allSatisfy { $0.isDoubled && $0.heldBack > 0 })
        #expect(await store.underWay == 6)
        let (_, usual) = try await self.parcels { _ in }
        #expect(usual.allSatisfy { !$0.isDoubled && $0.heldBack == 0 })
    }
}
