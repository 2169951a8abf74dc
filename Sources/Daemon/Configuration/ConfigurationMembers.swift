/// The members of the whole file.
extension ConfigurationDecoder {
    private static let members = [
        "listen", "privateListen", "trustedProxies", "database", "migrationDatabase",
        "dataDirectory", "tls", "apps", "apple", "catalog", "ownership", "stackPasses", "webhooks",
        "projections",
    ]

    /// The configuration that a whole file, with what overrides it, describes.
    mutating func configuration(_ node: ConfigurationNode) -> Configuration {
        var configuration = Configuration(
            dataDirectory: Self.absolute(".subledger", from: fileDirectory))
        guard let members = object(node, at: "", members: Self.members) else {
            return configuration
        }
        addresses(members, into: &configuration)
        databases(members, into: &configuration)
        if let node = members["dataDirectory"], let path = path(node, at: "dataDirectory") {
            configuration.dataDirectory = path
        }
        if let node = members["tls"] { configuration.tls = tls(node, at: "tls") }
        configuration.apps = apps(members["apps"], at: "apps")
        if let node = members["apple"], let apple = apple(node, at: "apple") {
            configuration.apple = apple
        }
        if let node = members["catalog"] {
            configuration.products = catalog(node, at: "catalog")
        }
        if let node = members["ownership"], let rule: OwnershipRule = choice(node, at: "ownership")
        {
            configuration.ownership = rule
        }
        if let node = members["stackPasses"], let stack = flag(node, at: "stackPasses") {
            configuration.stackPasses = stack
        }
        configuration.webhooks = list(members["webhooks"], at: "webhooks", of: "webhooks")
            .compactMap { webhook($0.node, at: $0.path) }
        if let node = members["projections"] {
            configuration.projections = projections(node, at: "projections")
        }
        return configuration
    }

    private mutating func projections(_ node: ConfigurationNode, at path: String)
        -> ProjectionsConfiguration
    {
        var projections = ProjectionsConfiguration()
        guard let members = object(node, at: path, members: ["memoryMiB", "workers"]) else {
            return projections
        }
        if let node = members["memoryMiB"],
            let size = integer(
                node, at: members.path("memoryMiB"), in: 16...1_048_576,
                allowed: "a whole number of MiB from 16 to 1048576")
        {
            projections.memoryMiB = Int(size)
        }
        if let node = members["workers"],
            let count = integer(
                node, at: members.path("workers"), in: 1...64,
                allowed: "a whole number from 1 to 64")
        {
            projections.workers = Int(count)
        }
        return projections
    }

    private mutating func addresses(_ members: Members, into configuration: inout Configuration) {
        let allowed = "host:port, such as 127.0.0.1:8080 or [::1]:8080"
        if let node = members["listen"],
            let address = text(node, at: "listen", allowed: allowed, ListenAddress.init)
        {
            configuration.listen = address
        }
        if let node = members["privateListen"],
            let address = text(node, at: "privateListen", allowed: allowed, ListenAddress.init)
        {
            configuration.privateListen = address
            if address.port != 0, address == configuration.listen {
                refuse("privateListen", node, allowed: "another address than listen")
            }
        }
        let range = "an IP address or range, such as 127.0.0.1/32"
        for item in list(members["trustedProxies"], at: "trustedProxies", of: "IP ranges") {
            if let found = text(item.node, at: item.path, allowed: range, AddressRange.init) {
                configuration.trustedProxies.append(found)
            }
        }
    }

    private mutating func databases(_ members: Members, into configuration: inout Configuration) {
        if let node = members["database"] {
            configuration.database = database(node, at: "database")
        }
        if let node = members["migrationDatabase"] {
            configuration.migrationDatabase = database(node, at: "migrationDatabase")
            if members["database"] == nil {
                refuse(
                    "migrationDatabase", at: node.origin,
                    "found without database; allowed: only beside database, since the embedded"
                        + " cluster needs no login")
            }
        }
    }

    /// A libpq URL; one with a password is a secret and is given as one, and none is ever shown.
    private mutating func database(_ node: ConfigurationNode, at path: String) -> Concealed? {
        let url: Concealed
        var mayHoldPassword = false
        switch node.value {
        case .text(let text):
            url = Concealed(text)
            if case .variable = node.origin { mayHoldPassword = true }
        case .object:
            guard let secret = secret(node, at: path) else { return nil }
            do {
                url = try secret.read(environment: environment)
            } catch {
                refuse(path, at: node.origin, error.description)
                return nil
            }
            mayHoldPassword = true
        default:
            refuse(path, node, allowed: "a postgresql:// URL")
            return nil
        }
        guard DatabaseURL.hasScheme(url.revealed) else {
            refuse(path, at: node.origin, "found another text; allowed: a postgresql:// URL")
            return nil
        }
        if !mayHoldPassword, DatabaseURL.holdsPassword(url.revealed) {
            refuse(
                path, at: node.origin,
                "found a password in the URL; allowed: the URL without it (libpq reads PGPASSFILE),"
                    + #" or the whole URL as {file: "…"} or {env: "…"}"#)
            return nil
        }
        return url
    }

    private mutating func tls(_ node: ConfigurationNode, at path: String) -> TLSConfiguration? {
        guard let members = object(node, at: path, members: ["certificate", "key"]) else {
            return nil
        }
        guard let certificate = members["certificate"], let key = members["key"] else {
            let name = members["certificate"] == nil ? "certificate" : "key"
            missing(members.path(name), in: node, allowed: "both certificate and key")
            return nil
        }
        let file = self.path(certificate, at: members.path("certificate"))
        let secret = secret(key, at: members.path("key"))
        guard let file, let secret else { return nil }
        return TLSConfiguration(certificate: file, key: secret)
    }
}

/// What is checked of a libpq URL before libpq reads it.
enum DatabaseURL {
    static func hasScheme(_ url: String) -> Bool {
        url.hasPrefix("postgresql://") || url.hasPrefix("postgres://")
    }

    static func holdsPassword(_ url: String) -> Bool {
        guard let colon = url.firstIndex(of: ":") else { return false }
        let rest = url[colon...].dropFirst(3)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        if let at = authority.lastIndex(of: "@"), authority[..<at].contains(":") { return true }
        guard let query = rest.firstIndex(of: "?") else { return false }
        return rest[query...].dropFirst().split(separator: "&")
            .contains { $0.hasPrefix("password=") || $0.hasPrefix("sslpassword=") }
    }
}
