import Domain
import Foundation
import TestLives

@testable import StoreSimulator

/// A folder that is removed when its owner goes.
final class TestFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "store-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A world of one customer, `ada`, whose life begins on a first of January.
struct Play {
    static let start = at("2025-01-01")

    static let products = [
        StoreSimulator.Product(
            id: "pro.monthly", kind: .autoRenewable, group: "G1", level: 2, plan: Span("P1M"),
            entitlements: ["pro"]),
        StoreSimulator.Product(
            id: "plus.monthly", kind: .autoRenewable, group: "G1", level: 1, plan: Span("P1M"),
            price: 19_990, entitlements: ["pro", "plus"]),
        StoreSimulator.Product(
            id: "basic.monthly", kind: .autoRenewable, group: "G1", level: 3, plan: Span("P1M"),
            price: 4_990, entitlements: ["basic"]),
        StoreSimulator.Product(id: "pro.lifetime", kind: .nonConsumable, entitlements: ["pro"]),
        StoreSimulator.Product(
            id: "pass.90d", kind: .nonRenewing, accessDays: 90, entitlements: ["pass"]),
        StoreSimulator.Product(id: "coins.100", kind: .consumable),
    ]

    var world: World

    init(_ steps: [(String, Step)], until end: String, graceDays: Int64 = 16) {
        var app = StoreApp()
        app.graceDays = graceDays
        world = World(
            app: app, pace: .life, products: Self.products, start: Self.start, seed: 7)
        let ada = world.add("ada", environment: .production)
        for (instant, step) in steps { world.agenda.add(.step(person: ada, step), at: at(instant)) }
        world.advance(to: at(end))
    }

    /// What was told, as `TYPE/SUBTYPE`, each with the day on which it was signed.
    var told: [String] {
        world.notices.map { notice in
            let subtype = notice.subtype.map { "/" + $0 } ?? ""
            return "\(notice.signedAt.description.prefix(10)) \(notice.type)\(subtype)"
        }
    }

    /// When a customer may use something, as `FROM–UNTIL` by days.
    func access(_ entitlement: String = "pro", of customer: String = "ada") -> [String] {
        guard let person = world.peopleById[customer] else { return [] }
        return (world.truth(of: person).spans[entitlement] ?? []).map { span in
            let until =
                span.until == .distantFuture ? "" : String(span.until.description.prefix(10))
            return "\(span.from.description.prefix(10))–\(until)"
        }
    }
}

extension Step {
    static func buy(_ product: String) -> Step { .buy(product: product, quantity: 1) }
}
