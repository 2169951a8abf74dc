import Domain

extension StoreApp {
    init(_ reader: ScenarioReader) throws(SimulatorError) {
        try reader.allow(["bundleId", "appAppleId", "sharedSecret", "graceDays"])
        self.init()
        bundleId = try reader.text("bundleId") ?? bundleId
        appAppleId = try reader.whole("appAppleId") ?? appAppleId
        sharedSecret = try reader.text("sharedSecret")
        graceDays = try reader.whole("graceDays") ?? graceDays
    }
}

extension Product {
    init(_ id: String, _ reader: ScenarioReader) throws(SimulatorError) {
        try reader.allow([
            "kind", "group", "level", "plan", "price", "trial", "accessDuration", "entitlements",
        ])
        let name = try reader.required("kind")
        guard let kind = Kind(rawValue: name) else {
            let known = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw reader.refusal("kind", "one of \(known)")
        }
        self.init(id: id, kind: kind)
        group = try reader.text("group")
        level = try reader.whole("level") ?? level
        plan = try reader.span("plan")
        price = try reader.whole("price") ?? price
        if try reader.span("trial") != nil { trial = try reader.text("trial") }
        accessDays = try reader.span("accessDuration").map { $0.days + 30 * $0.months }
        entitlements = try reader.texts("entitlements")
        if kind == .autoRenewable, group == nil || plan == nil {
            throw reader.refusal("", "a group and a plan, for it renews")
        }
    }
}

extension Scenario.Life {
    init(_ reader: ScenarioReader, environment: Environment) throws(SimulatorError) {
        try reader.allow([
            "customer", "token", "environment", "storefront", "storefrontId", "currency",
            "showsToken", "steps",
        ])
        customer = try reader.required("customer")
        token = try reader.text("token")?.lowercased()
        self.environment = try reader.environment("environment") ?? environment
        if let code = try reader.text("storefront") {
            storefront = (
                code, try reader.text("storefrontId") ?? "143441",
                try reader.text("currency") ?? "USD"
            )
        }
        showsToken = try reader.truth("showsToken") ?? true
        steps = try reader.items("steps") { reader throws(SimulatorError) in
            guard let after = try reader.span("after") else {
                throw reader.refusal("after", "how long after the start, such as P10D")
            }
            return (after: after, step: try Step(reader))
        }
    }
}

extension Step {
    /// What an object such as `{do: "buy", product: "pro.monthly"}` means.
    init(_ reader: ScenarioReader) throws(SimulatorError) {
        try reader.allow([
            "after", "customer", "environment", "do", "product", "quantity", "reason",
            "transaction",
            "percentage", "with", "days", "price", "needsConsent",
        ])
        switch try reader.required("do") {
        case "buy":
            self = .buy(
                product: try reader.required("product"),
                quantity: try reader.whole("quantity") ?? 1)
        case "cancel": self = .cancel
        case "resume": self = .resume
        case "fail": self = .fail
        case "recover": self = .recover
        case "upgrade", "downgrade", "change":
            self = .change(product: try reader.required("product"))
        case "ask": self = .ask(reason: try reader.text("reason") ?? "UNINTENDED_PURCHASE")
        case "refund":
            self = .refund(
                Which(try reader.text("transaction") ?? "latest"),
                percentage: try reader.whole("percentage") ?? 100_000)
        case "decline": self = .decline
        case "reverse": self = .reverse
        case "share": self = .share(with: try reader.required("with"))
        case "unshare": self = .unshare
        case "extend": self = .extend(days: try reader.whole("days") ?? 7)
        case "raisePrice":
            guard let price = try reader.whole("price") else {
                throw reader.refusal("price", "a price in milliunits")
            }
            self = .raisePrice(
                to: price, needsConsent: try reader.truth("needsConsent") ?? true)
        case "consent": self = .consent
        case "delete": self = .delete
        default:
            throw reader.refusal("do", "one of \(Step.names.joined(separator: ", "))")
        }
    }
}

extension Step.Which {
    init(_ text: String) {
        switch text {
        case "latest": self = .latest
        case "previous": self = .previous
        case "first": self = .first
        default: self = .transaction(text)
        }
    }
}
