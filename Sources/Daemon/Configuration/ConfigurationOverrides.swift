/// What environment variables and options say instead of the file.
struct ConfigurationOverrides {
    private enum Form { case text, list, flag, secretFile }

    private struct Override {
        var variable: String
        /// The option that says the same, without its dashes.
        var option: String?
        /// Names from the outside in.
        var path: [String]
        var form: Form
    }

    private static let known = [
        Override(variable: "SUBLEDGER_LISTEN", option: "listen", path: ["listen"], form: .text),
        Override(variable: "SUBLEDGER_PRIVATE_LISTEN", path: ["privateListen"], form: .text),
        Override(variable: "SUBLEDGER_TRUSTED_PROXIES", path: ["trustedProxies"], form: .list),
        Override(
            variable: "SUBLEDGER_DATABASE", option: "database", path: ["database"], form: .text),
        Override(
            variable: "SUBLEDGER_MIGRATION_DATABASE", path: ["migrationDatabase"], form: .text),
        Override(
            variable: "SUBLEDGER_DATA_DIRECTORY", option: "data-directory",
            path: ["dataDirectory"], form: .text),
        Override(
            variable: "SUBLEDGER_TLS_CERTIFICATE", path: ["tls", "certificate"], form: .text),
        Override(variable: "SUBLEDGER_TLS_KEY_FILE", path: ["tls", "key"], form: .secretFile),
        Override(
            variable: "SUBLEDGER_APPLE_ROOT_CERTIFICATES", path: ["apple", "rootCertificates"],
            form: .list),
        Override(
            variable: "SUBLEDGER_APPLE_ONLINE_CHECKS", path: ["apple", "onlineChecks"], form: .flag),
        Override(variable: "SUBLEDGER_OWNERSHIP", path: ["ownership"], form: .text),
        Override(variable: "SUBLEDGER_STACK_PASSES", path: ["stackPasses"], form: .flag),
    ]

    /// Variables that say something else than a member of the file.
    private static let others = [
        "SUBLEDGER_CONFIG", "SUBLEDGER_BOOTSTRAP_KEY", "SUBLEDGER_LOG_LEVEL",
    ]

    /// The root with every member that a variable or an option names replaced; options win. An empty
    /// variable says nothing.
    static func applied(
        to root: ConfigurationNode, environment: [String: String], options: [String: String]
    ) -> ConfigurationNode {
        var root = root
        for override in known {
            if let option = override.option, let text = options[option] {
                let node = node(text, override.form, .option("--" + option))
                root = replacing(override.path[...], in: root, with: node)
            } else if let text = environment[override.variable], !text.isEmpty {
                let node = node(text, override.form, .variable(override.variable))
                root = replacing(override.path[...], in: root, with: node)
            }
        }
        return root
    }

    /// A sentence for each variable that looks like ours and is none.
    static func warnings(environment: [String: String], secrets: [Secret]) -> [String] {
        let names = known.map(\.variable) + others
        return environment.keys.sorted().compactMap { name in
            guard name.hasPrefix("SUBLEDGER_"), !name.hasPrefix("SUBLEDGER_TEST_"),
                !names.contains(name), !secrets.contains(.variable(name))
            else { return nil }
            let nearest = NearestName.of(name, among: names).map { "; did you mean \($0)?" } ?? ""
            return "the environment variable \(name) means nothing here\(nearest)"
        }
    }

    private static func node(
        _ text: String, _ form: Form, _ origin: ConfigurationNode.Origin
    ) -> ConfigurationNode {
        func plain(_ part: String) -> ConfigurationNode {
            ConfigurationNode(value: .text(part), origin: origin)
        }
        switch form {
        case .text: return plain(text)
        case .list:
            let parts = text.split(separator: ",").map { plain(trimmed($0)) }
            return ConfigurationNode(value: .list(parts), origin: origin)
        case .flag:
            guard text == "true" || text == "false" else { return plain(text) }
            return ConfigurationNode(value: .bool(text == "true"), origin: origin)
        case .secretFile:
            let member = ConfigurationNode.Member(name: "file", origin: origin, node: plain(text))
            return ConfigurationNode(value: .object([member]), origin: origin)
        }
    }

    private static func trimmed(_ part: Substring) -> String {
        let front = part.drop { $0 == " " }
        return String(front.prefix(front.count - front.reversed().prefix { $0 == " " }.count))
    }

    private static func replacing(
        _ path: ArraySlice<String>, in object: ConfigurationNode, with node: ConfigurationNode
    ) -> ConfigurationNode {
        guard let name = path.first else { return node }
        guard case .object(var members) = object.value else { return object }
        let index = members.firstIndex { $0.name == name }
        let empty = ConfigurationNode(value: .object([]), origin: node.origin)
        let inner = index.map { members[$0].node } ?? empty
        let changed = ConfigurationNode.Member(
            name: name, origin: node.origin,
            node: replacing(path.dropFirst(), in: inner, with: node))
        if let index { members[index] = changed } else { members.append(changed) }
        return ConfigurationNode(value: .object(members), origin: object.origin)
    }
}
