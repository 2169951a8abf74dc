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
