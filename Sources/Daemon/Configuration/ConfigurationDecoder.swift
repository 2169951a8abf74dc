import Foundation

/// Turns nodes into checked values and gathers everything that is wrong, to be told at once.
///
/// Each reader answers nil after refusing, so that decoding goes on and finds the rest.
struct ConfigurationDecoder {
    /// As a refusal names the file.
    let fileName: String
    /// What relative paths in the file start from.
    let fileDirectory: String
    /// What relative paths in variables and options start from.
    let workingDirectory: String
    let environment: [String: String]
    private(set) var refusals: [ConfigurationRefusal] = []

    init(
        fileName: String, fileDirectory: String, workingDirectory: String,
        environment: [String: String]
    ) {
        self.fileName = fileName
        self.fileDirectory = fileDirectory
        self.workingDirectory = workingDirectory
        self.environment = environment
    }

    // MARK: Refusing

    mutating func refuse(_ path: String, at origin: ConfigurationNode.Origin, _ problem: String) {
        let place =
            switch origin {
            case .file(let line, let column): "\(fileName):\(line):\(column)"
            case .variable(let name): name
            case .option(let name): name
            }
        refusals.append(ConfigurationRefusal(origin: place, path: path, problem: problem))
    }

    mutating func refuse(_ path: String, _ node: ConfigurationNode, allowed: String) {
        refuse(path, at: node.origin, "found \(node.found); allowed: \(allowed)")
    }

    mutating func missing(_ path: String, in node: ConfigurationNode, allowed: String) {
        refuse(path, at: node.origin, "found nothing; allowed: \(allowed)")
    }

    // MARK: Objects and lists

    /// The members of an object whose names are all known.
    mutating func object(
        _ node: ConfigurationNode, at path: String, members known: [String]
    ) -> Members? {
        guard case .object(let members) = node.value else {
            refuse(path, node, allowed: "an object with \(known.joined(separator: ", "))")
            return nil
        }
        for member in members where !known.contains(member.name) {
            let hint =
                NearestName.of(member.name, among: known).map { "did you mean \($0)?" }
                ?? "allowed: \(known.joined(separator: ", "))"
            refuse(
                Self.join(path, member.name), at: member.origin, "no member has this name; \(hint)")
        }
        return Members(path: path, object: node, members: members)
    }

    /// The items of a list with the path of each; a missing list is empty.
    mutating func list(
        _ node: ConfigurationNode?, at path: String, of allowed: String
    ) -> [(path: String, node: ConfigurationNode)] {
        guard let node else { return [] }
        guard case .list(let items) = node.value else {
            refuse(path, node, allowed: "a list of \(allowed)")
            return []
        }
        return items.enumerated().map { ("\(path)[\($0.offset)]", $0.element) }
    }

    /// The path of a member, such as `apps[0].bundleId` or `catalog.products["pro.monthly"]`.
    static func join(_ path: String, _ name: String) -> String {
        let plain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        guard plain, !name.isEmpty else { return "\(path)[\(ConfigurationNode.quoted(name))]" }
        return path.isEmpty ? name : "\(path).\(name)"
    }

    // MARK: Single values

    /// What `read` makes of a text; refused when it is no text or `read` makes nothing of it.
    mutating func text<Value>(
        _ node: ConfigurationNode, at path: String, allowed: String, _ read: (String) -> Value?
    ) -> Value? {
        if case .text(let text) = node.value, let value = read(text) { return value }
        refuse(path, node, allowed: allowed)
        return nil
    }

    mutating func flag(_ node: ConfigurationNode, at path: String) -> Bool? {
        if case .bool(let value) = node.value { return value }
        refuse(path, node, allowed: "true or false")
        return nil
    }

    mutating func integer(
        _ node: ConfigurationNode, at path: String, in range: ClosedRange<Int64>, allowed: String
    ) -> Int64? {
        if case .integer(let value) = node.value, range.contains(value) { return value }
        refuse(path, node, allowed: allowed)
        return nil
    }

    /// One of the words of an enumeration.
    mutating func choice<Choice>(_ node: ConfigurationNode, at path: String) -> Choice?
    where Choice: RawRepresentable<String> & CaseIterable {
        let known = Choice.allCases.map(\.rawValue)
        if case .text(let text) = node.value {
            if let choice = Choice(rawValue: text) { return choice }
            let nearest = NearestName.of(text, among: known).map { "; did you mean \($0)?" } ?? ""
            refuse(path, node, allowed: known.joined(separator: ", ") + nearest)
        } else {
            refuse(path, node, allowed: known.joined(separator: ", "))
        }
        return nil
    }

    /// Environments, each once and at least one.
    mutating func environments(_ node: ConfigurationNode, at path: String) -> [StoreEnvironment]? {
        let before = refusals.count
        var found: [StoreEnvironment] = []
        for item in list(node, at: path, of: "environments") {
            guard let one: StoreEnvironment = choice(item.node, at: item.path) else { continue }
            if found.contains(one) {
                refuse(item.path, item.node, allowed: "each environment once")
            } else {
                found.append(one)
            }
        }
        if found.isEmpty, refusals.count == before {
            refuse(path, at: node.origin, "found an empty list; allowed: at least one environment")
        }
        return refusals.count == before ? found : nil
    }

    /// An absolute path; a relative one starts from the file's directory, or from the working directory
    /// when it was not the file that said it.
    mutating func path(_ node: ConfigurationNode, at path: String) -> String? {
        let base = if case .file = node.origin { fileDirectory } else { workingDirectory }
        return text(node, at: path, allowed: "a path") { text in
            text.isEmpty || text.contains("\0") ? nil : Self.absolute(text, from: base)
        }
    }

    /// A path made absolute and tidy, without looking at the disk.
    static func absolute(_ path: String, from base: String) -> String {
        let whole = path.hasPrefix("/") ? path : base + "/" + path
        var parts: [Substring] = []
        for part in whole.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }

    /// An address of a web server, without a login.
    mutating func webAddress(_ node: ConfigurationNode, at path: String) -> String? {
        text(node, at: path, allowed: "an https:// or http:// address without a login") { text in
            guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty,
                parts.scheme == "https" || parts.scheme == "http",
                parts.user == nil, parts.password == nil, parts.fragment == nil
            else { return nil }
            return text
        }
    }

    /// A reference to a secret. What was written in its place is never shown.
    mutating func secret(_ node: ConfigurationNode, at path: String) -> Secret? {
        guard case .object = node.value else {
            let hint = #"{file: "…"} or {env: "…"}, never the secret itself"#
            refuse(path, at: node.origin, "found \(node.foundKind); allowed: \(hint)")
            return nil
        }
        guard let members = object(node, at: path, members: ["file", "env"]) else { return nil }
        switch (members["file"], members["env"]) {
        case (let file?, nil):
            return self.path(file, at: path + ".file").map { .file($0) }
        case (nil, let variable?):
            return text(variable, at: path + ".env", allowed: "the name of an environment variable")
            {
                name in name.isEmpty || name.contains("=") ? nil : .variable(name)
            }
        default:
            let count = members["file"] == nil ? "neither" : "both"
            refuse(path, at: node.origin, "found \(count) of file and env; allowed: one of them")
            return nil
        }
    }
}

/// The members of one object, by name.
struct Members {
    var path: String
    var object: ConfigurationNode
    private var byName: [String: ConfigurationNode]
    /// In the order written.
    let all: [ConfigurationNode.Member]

    init(path: String, object: ConfigurationNode, members: [ConfigurationNode.Member]) {
        self.path = path
        self.object = object
        all = members
        byName = Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.node) })
    }

    subscript(_ name: String) -> ConfigurationNode? { byName[name] }

    /// The path of one of them.
    func path(_ name: String) -> String { ConfigurationDecoder.join(path, name) }
}
