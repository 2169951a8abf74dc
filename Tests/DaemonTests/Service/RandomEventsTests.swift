import Domain
import TestLives
import Testing

@testable import Daemon

@Suite("Outgoing events of random lives")
struct RandomEventsTests {
    @Test("say what an answer as known at their position says, and leave no entry untold")
    func agree() async throws {
        let customers = cases(24, long: 400)
        try await TestService.run {
            $0.products = RandomLivesTests.products
        } _: { service in
            for first in stride(from: 0, to: customers, by: 4) {
                var run = try GroupRun(seed: 7, members: first..<first + 4, service)
                try await run.post(firstHalf: true)
                if first == 8 { try await RandomLivesTests.replaceCatalog(service) }
                run.settings = testSettings
                try await run.post(firstHalf: false)
            }
            let head = try await service.ask("GET", "/v1/ledger/head", key: nil)
            let events = try await service.allEvents(level: head)
            var faults: [String] = []
            for event in events {
                guard let customer = event["customer"]?.text else { continue }
                let environment = event["environment"]?.text ?? "Production"
                let target =
                    "/v1/customers/\(customer)/entitlements?environment=\(environment)"
                    + "&at=\(event["at"]?.text ?? "")"
                    + "&asKnownPosition=\(event["position"]?.integer ?? 0)"
                let answer = try await service.ask("GET", target)
                if answer["entitlements"] != event["entitlementsAfter"] {
                    faults.append("event \(event["number"]?.integer ?? 0): \(target)")
                }
            }
            #expect(faults.prefix(5) == [], "\(faults.count) of \(events.count)")
            #expect(events.count > customers * 8)
            #expect(events.compactMap { $0["number"]?.integer } == Array(1...Int64(events.count)))
            try await everyEntry(is: events, service)
        }
    }

    /// Whether each entry of a line, token or customer is told, unless it only repeats.
    private func everyEntry(is events: [JSON], _ service: TestService) async throws {
        let told = Set(events.compactMap { $0["position"]?.integer })
        var after: Int64? = 0
        var untold: [String] = []
        while let place = after {
            let page = try await service.ask("GET", "/v1/entries?limit=1000&after=\(place)")
            for entry in page["entries"]?.elements ?? [] {
                guard let position = entry["position"]?.integer, !told.contains(position),
                    let stream = entry["stream"]?.text, stream != "settings"
                else { continue }
                let kind = entry["kind"]?.text ?? ""
                if !["confirmed", "notified"].contains(kind) {
                    untold.append("\(position) \(kind) \(stream)")
                }
            }
            after = page["next"]?.integer
        }
        #expect(untold == [])
    }
}

extension TestService {
    /// All outgoing events, page by page, once everything was told.
    func allEvents(level answer: Answer) async throws -> [JSON] {
        _ = try await events(level: answer)
        var events: [JSON] = []
        var after: Int64? = 0
        while let place = after {
            let page = try await ask("GET", "/v1/events?limit=1000&after=\(place)")
            events += page["events"]?.elements ?? []
            after = page["next"]?.integer
        }
        return events
    }
}
