import Domain
import HTTP
import TestLives
import Testing

@testable import Daemon

@Suite("Random lives through the doors")
struct RandomLivesTests {
    private static let seed: UInt64 = 1
    /// Customers who have to do with each other; their acts are posted one after the other.
    private static let groupSize = 4
    /// Groups whose acts are posted at the same time.
    private static let width = 4

    @Test("are answered as the pure fold of what was posted, and the past never changes")
    func lives() async throws {
        let (seed, customers) = (RandomLivesTests.seed, cases(40, long: 1_000))
        try await TestService.run {
            $0.products = RandomLivesTests.products
        } _: { service in
            let firsts = stride(from: 0, to: customers, by: RandomLivesTests.groupSize)
            var runs = try firsts.map { first in
                try GroupRun(
                    seed: seed, members: first..<first + RandomLivesTests.groupSize, service)
            }
            runs = try await each(runs) { try await $0.post(firstHalf: true) }
            let settings = try await RandomLivesTests.replaceCatalog(service)
            runs = try await each(runs) {
                $0.settings = settings
                try await $0.post(firstHalf: false)
            }
            runs = try await each(runs) {
                try await $0.askEverybody()
                try await $0.askAgain()
            }
            let faults = runs.flatMap(\.faults)
            #expect(faults.prefix(5) == [], "\(faults.count) faults of seed \(seed)")
            #expect(runs.map(\.asked).reduce(0, +) > customers * 8)
            #expect(runs.map(\.active).reduce(0, +) > customers)
            #expect(runs.map(\.remembered).reduce(0, +) > 20)
        }
    }

    /// Lets every group go on, a few at a time.
    private func each(
        _ runs: [GroupRun], _ goOn: @escaping @Sendable (inout GroupRun) async throws -> Void
    ) async throws -> [GroupRun] {
        try await withThrowingTaskGroup(of: (place: Int, run: GroupRun).self) { tasks in
            var done = runs
            for (place, run) in runs.enumerated() {
                if place >= RandomLivesTests.width, let ended = try await tasks.next() {
                    done[ended.place] = ended.run
                }
                tasks.addTask {
                    var run = run
                    try await goOn(&run)
                    return (place, run)
                }
            }
            for try await ended in tasks { done[ended.place] = ended.run }
            return done
        }
    }

    /// The catalogue that the pure fold begins with, as a configuration has it.
    static let products: [ProductConfiguration] = [
        plan("plus.monthly", 1, "P1M", ["pro", "plus"]), plan("pro.monthly", 2, "P1M", ["pro"]),
        plan("pro.weekly", 2, "P1W", ["pro"]), plan("basic.yearly", 3, "P1Y", ["basic"]),
    ]

    private static func plan(
        _ id: String, _ level: Int, _ length: String, _ entitlements: [String]
    ) -> ProductConfiguration {
        ProductConfiguration(
            id: id,
            terms: .autoRenewable(group: "G1", level: level, plan: CalendarLength(length)!),
            entitlements: entitlements)
    }

    /// From a summer on one product gives less and another nothing.
    @discardableResult
    static func replaceCatalog(_ service: TestService) async throws -> Settings {
        var products = testSettings.latestCatalog?.products ?? [:]
        products["plus.monthly"]?.entitlements = ["plus"]
        products["pro.weekly"] = nil
        products["pro.lifetime"] = nil
        products["pass.90d"] = nil
        let change = CatalogChange(products: products, validFrom: at("2021-06-01"))
        let answer = try await service.ask(
            "PUT", "/v1/catalog",
            JSON(members: [
                "products": change.productsBody, "validFrom": .string("2021-06-01"),
            ]))
        #expect(answer["appended"] == .integer(1))
        return testSettings.evolved(
            by: Entry(
                position: Position(3), revision: 3, recordedAt: at("2021-06-01"),
                event: Event(
                    kind: .catalogChanged, stream: .settings, key: "catalog/3",
                    occurredAt: at("2021-06-01"), observedAt: at("2021-06-01"), source: .command,
                    content: .catalog(change))))
    }
}
