import Domain

/// An instant of a test's text, which must be one.
public func at(_ text: String) -> Instant {
    guard let instant = Instant(text) else { preconditionFailure("no instant: \(text)") }
    return instant
}

/// The subscription after observations that arrive in an order, each recorded by `decide`.
public func recorded(_ observations: [Observation], stream: StreamID) -> Subscription {
    var subscription = Subscription(stream)
    var position: Int64 = 0
    for observation in observations {
        for event in decide(observation, given: subscription) {
            position += 1
            subscription.apply(
                Entry(
                    position: Position(position), revision: position,
                    recordedAt: Instant(milliseconds: position), event: event))
        }
    }
    return subscription
}

/// A catalogue of a few products, and 16 days of grace.
public let testSettings: Settings = {
    func plan(_ plan: String, _ level: Int64, _ entitlements: [String]) -> Product {
        Product(
            kind: "autoRenewable", group: "G1", level: level, plan: plan,
            entitlements: entitlements)
    }
    let catalog = CatalogChange(products: [
        "plus.monthly": plan("P1M", 1, ["pro", "plus"]),
        "pro.monthly": plan("P1M", 2, ["pro"]), "pro.weekly": plan("P1W", 2, ["pro"]),
        "basic.yearly": plan("P1Y", 3, ["basic"]),
        "pro.lifetime": Product(kind: "nonConsumable", entitlements: ["pro"]),
        "pass.90d": Product(kind: "nonRenewing", accessDuration: "P90D", entitlements: ["pro"]),
    ])
    let rules = SettingsChange(graceDays: ["com.example.app": 16])
    var settings = Settings()
    for (index, content) in [Event.Content.catalog(catalog), .settings(rules)].enumerated() {
        settings = settings.evolved(
            by: Entry(
                position: Position(Int64(index) + 1), revision: Int64(index) + 1,
                recordedAt: Instant(milliseconds: 0),
                event: Event(
                    kind: .settingsChanged, stream: .settings, key: String(index),
                    occurredAt: Instant(milliseconds: 0), observedAt: Instant(milliseconds: 0),
                    source: .command, content: content)))
    }
    return settings
}()
