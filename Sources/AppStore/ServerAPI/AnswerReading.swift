import Domain

/// Reads members of the server API's answers, naming what is wrong.
struct AnswerReading {
    private let json: JSON

    init(_ json: JSON) throws(ServerAPIError) {
        guard json.members != nil else {
            throw .unreadable("it is \(json.kindName), not an object")
        }
        self.json = json
    }

    /// The environment that it names.
    var environment: Environment? { json["environment"]?.text.map(Environment.init) }

    /// A text that must be there.
    func text(_ name: String) throws(ServerAPIError) -> String {
        guard let text = json[name]?.text else { throw .unreadable("`\(name)` is no text") }
        return text
    }

    /// A text, if it is there.
    func textIfAny(_ name: String) throws(ServerAPIError) -> String? {
        json[name] == nil ? nil : try text(name)
    }

    /// A whole number that must be there.
    func whole(_ name: String) throws(ServerAPIError) -> Int64 {
        guard let number = json[name]?.integer else {
            throw .unreadable("`\(name)` is no whole number")
        }
        return number
    }

    /// A truth value; false when it is not there.
    func truth(_ name: String) throws(ServerAPIError) -> Bool {
        guard let value = json[name] else { return false }
        guard let truth = value.bool else { throw .unreadable("`\(name)` is no truth value") }
        return truth
    }

    /// The elements of a list; empty when it is not there.
    func list(_ name: String) throws(ServerAPIError) -> [JSON] {
        guard let value = json[name] else { return [] }
        guard let elements = value.elements else { throw .unreadable("`\(name)` is no list") }
        return elements
    }

    /// The texts of a list.
    func texts(_ name: String) throws(ServerAPIError) -> [String] {
        var texts: [String] = []
        for element in try list(name) {
            guard let text = element.text else {
                throw .unreadable("`\(name)` has \(element.kindName) in it")
            }
            texts.append(text)
        }
        return texts
    }

    /// A page of signed transactions.
    func transactions() throws(ServerAPIError) -> Page<String> {
        Page(
            items: try texts("signedTransactions"), cursor: try textIfAny("revision"),
            hasMore: try truth("hasMore"), environment: environment)
    }
}
