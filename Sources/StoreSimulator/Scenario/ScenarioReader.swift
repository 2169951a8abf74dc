import Domain

/// Reads an object of a scenario, and says where something is wrong.
struct ScenarioReader {
    private let json: JSON
    private let path: String

    init(_ json: JSON, path: String) {
        self.json = json
        self.path = path
    }

    /// What is wrong with a member.
    func refusal(_ name: String, _ wanted: String) -> SimulatorError {
        .badScenario(path: place(name), why: "wanted is \(wanted)")
    }

    private func place(_ name: String) -> String {
        path.isEmpty ? name : name.isEmpty ? path : "\(path).\(name)"
    }

    /// Refuses members that mean nothing.
    func allow(_ names: [String]) throws(SimulatorError) {
        guard let members = json.members else { throw refusal("", "an object") }
        for member in members where !names.contains(member.name) {
            throw .badScenario(
                path: place(member.name), why: "known are \(names.joined(separator: ", "))")
        }
    }

    func object(_ name: String) throws(SimulatorError) -> ScenarioReader? {
        guard let value = json[name] else { return nil }
        guard value.members != nil else { throw refusal(name, "an object") }
        return ScenarioReader(value, path: place(name))
    }

    func text(_ name: String) throws(SimulatorError) -> String? {
        guard let value = json[name] else { return nil }
        guard let text = value.text else { throw refusal(name, "a text") }
        return text
    }

    func required(_ name: String) throws(SimulatorError) -> String {
        guard let text = try text(name) else { throw refusal(name, "a text") }
        return text
    }

    func whole(_ name: String) throws(SimulatorError) -> Int64? {
        guard let value = json[name] else { return nil }
        guard let number = value.integer, number >= 0 else {
            throw refusal(name, "a whole number from 0")
        }
        return number
    }

    func number(_ name: String) throws(SimulatorError) -> Double? {
        guard let value = json[name] else { return nil }
        if let number = value.integer { return Double(number) }
        guard case .number(let digits) = value, let number = Double(digits), number.isFinite else {
            throw refusal(name, "a number")
        }
        return number
    }

    /// A share of all cases.
    func share(_ name: String) throws(SimulatorError) -> Double? {
        guard let number = try number(name) else { return nil }
        guard (0...1).contains(number) else { throw refusal(name, "a share from 0 to 1") }
        return number
    }

    func truth(_ name: String) throws(SimulatorError) -> Bool? {
        guard let value = json[name] else { return nil }
        guard let truth = value.bool else { throw refusal(name, "true or false") }
        return truth
    }

    func span(_ name: String) throws(SimulatorError) -> Span? {
        guard let text = try text(name) else { return nil }
        guard let span = Span(text) else { throw refusal(name, "a duration such as P1M or P10D") }
        return span
    }

    func environment(_ name: String) throws(SimulatorError) -> Environment? {
        guard let text = try text(name) else { return nil }
        guard ["Production", "Sandbox"].contains(text) else {
            throw refusal(name, "Production or Sandbox")
        }
        return Environment(text)
    }

    /// The elements of a list of objects.
    func items<Item>(
        _ name: String, _ read: (ScenarioReader) throws(SimulatorError) -> Item
    ) throws(SimulatorError) -> [Item] {
        guard let value = json[name] else { return [] }
        guard let elements = value.elements else { throw refusal(name, "a list") }
        var items: [Item] = []
        for (index, element) in elements.enumerated() {
            items.append(try read(ScenarioReader(element, path: "\(place(name))[\(index)]")))
        }
        return items
    }

    func texts(_ name: String) throws(SimulatorError) -> [String] {
        guard let value = json[name] else { return [] }
        let texts = value.elements?.compactMap(\.text)
        guard let texts, texts.count == value.elements?.count else {
            throw refusal(name, "a list of texts")
        }
        return texts
    }

    /// The members, each an object.
    func each<Item>(
        _ read: (String, ScenarioReader) throws(SimulatorError) -> Item
    ) throws(SimulatorError) -> [Item] {
        var items: [Item] = []
        for member in json.members ?? [] {
            items.append(
                try read(member.name, ScenarioReader(member.value, path: place(member.name))))
        }
        return items
    }
}

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
            "after", "customer", "do", "product", "quantity", "reason", "transaction",
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
