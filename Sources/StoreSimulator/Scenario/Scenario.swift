public import Domain

/// What a simulator plays: an app, its products, and customers with their lives.
public struct Scenario: Sendable {
    /// One customer's life, written out.
    struct Life: Sendable {
        var customer: String
        var token: String?
        var environment: Environment
        var storefront: (code: String, id: String, currency: String)?
        var showsToken = true
        /// Steps by how long after the scenario's start they come.
        var steps: [(after: Span, step: Step)]
    }

    var app = StoreApp()
    var products = Scenario.usualProducts
    var pace = Pace.life
    var seed: UInt64 = 1
    /// When the store's clock begins; `nil` is now.
    var start: Beginning?
    /// How long after the start its clock stops.
    var length: Span?
    /// Simulated seconds per real second.
    var clock: Double?
    var notify: String?
    var lives: [Life] = []
    /// How many customers live at random.
    var randomCustomers = 0
    var randomEnvironment = Environment.production
    var faults = Faults()

    /// When a store's clock begins.
    enum Beginning: Sendable, Equatable {
        case at(Instant)
        /// So long before now.
        case ago(Span)
    }

    /// A scenario without customers.
    public init() {}

    /// What a scenario file says.
    ///
    /// - Throws: `badScenario`, naming the member.
    public init(_ json: JSON) throws(SimulatorError) {
        let reader = ScenarioReader(json, path: "")
        try reader.allow([
            "app", "products", "month", "seed", "start", "length", "clock", "notify", "lives",
            "customers", "environment", "faults",
        ])
        if let app = try reader.object("app") { self.app = try StoreApp(app) }
        if let products = try reader.object("products") {
            self.products = try products.each { id, reader throws(SimulatorError) in
                try Product(id, reader)
            }
        }
        if let month = try reader.span("month") {
            pace = Pace(month: max(1_000, Pace.life.length(of: month)))
        }
        seed = UInt64(bitPattern: try reader.whole("seed") ?? 1)
        if let start = try reader.text("start") {
            if let instant = Instant(start) {
                self.start = .at(instant)
            } else if let span = Span(start) {
                self.start = .ago(span)
            } else {
                throw reader.refusal("start", "an instant, or how long ago, such as P1Y")
            }
        }
        length = try reader.span("length")
        clock = try reader.number("clock")
        notify = try reader.text("notify")
        randomCustomers = Int(try reader.whole("customers") ?? 0)
        let environment = try reader.environment("environment") ?? .production
        randomEnvironment = environment
        lives = try reader.items("lives") { reader throws(SimulatorError) in
            try Life(reader, environment: environment)
        }
        if let faults = try reader.object("faults") { self.faults = try Faults(faults) }
    }

    /// What is sold where the scenario does not say.
    static let usualProducts: [Product] = [
        Product(
            id: "pro.monthly", kind: .autoRenewable, group: "G1", level: 2, plan: Span("P1M"),
            price: 9_990, trial: "P1W", entitlements: ["pro"]),
        Product(
            id: "pro.yearly", kind: .autoRenewable, group: "G1", level: 2, plan: Span("P1Y"),
            price: 79_990, entitlements: ["pro"]),
        Product(
            id: "pro.lifetime", kind: .nonConsumable, price: 199_990, entitlements: ["pro"]),
        Product(
            id: "pass.90d", kind: .nonRenewing, price: 24_990, accessDays: 90,
            entitlements: ["pro"]),
        Product(id: "coins.100", kind: .consumable, price: 1_990),
    ]
}

extension Pace {
    /// How long a span lasts from some instant on. Units: milliseconds.
    func length(of span: Span) -> Int64 {
        adding(span, to: Instant(milliseconds: 0)).milliseconds
    }
}
