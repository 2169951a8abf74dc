import Delivery

/// The members of one webhook.
extension ConfigurationDecoder {
    private static let members = ["url", "secret", "secrets", "environments", "name", "format"]

    /// One address that outgoing events are sent to; nil when it cannot be read.
    mutating func webhook(_ node: ConfigurationNode, at path: String) -> WebhookConfiguration? {
        guard let members = object(node, at: path, members: Self.members) else { return nil }
        var url: String?
        if let node = members["url"] {
            url = webAddress(node, at: members.path("url"))
        } else {
            missing(members.path("url"), in: node, allowed: "an https:// or http:// address")
        }
        let secrets = webhookSecrets(members, node)
        var environments: [StoreEnvironment]? = [.production]
        if let node = members["environments"] {
            environments = self.environments(node, at: members.path("environments"))
        }
        var name: String?
        if let node = members["name"] {
            name = text(
                node, at: members.path("name"), allowed: "1 to 60 letters, digits, - and _"
            ) { text in Self.isName(text) ? text : nil }
        }
        var format = Webhook.Format.standard
        if let node = members["format"] {
            let allowed = Webhook.Format.allCases.map(\.rawValue).joined(separator: " or ")
            format =
                text(
                    node, at: members.path("format"), allowed: allowed,
                    Webhook.Format.init(rawValue:)) ?? format
        }
        guard let url, let secrets, let environments else { return nil }
        return WebhookConfiguration(
            url: url, secrets: secrets, environments: environments, name: name, format: format)
    }

    /// One secret, or several while keys change: each signs.
    private mutating func webhookSecrets(_ members: Members, _ node: ConfigurationNode)
        -> [Secret]?
    {
        let allowed = #"{file: "…"} or {env: "…"}"#
        switch (members["secret"], members["secrets"]) {
        case (let one?, nil):
            return secret(one, at: members.path("secret")).map { [$0] }
        case (nil, let several?):
            let path = members.path("secrets")
            let items = list(several, at: path, of: "secrets")
            let read = items.compactMap { secret($0.node, at: $0.path) }
            if items.isEmpty { refuse(path, several, allowed: "at least one \(allowed)") }
            return read.isEmpty || read.count < items.count ? nil : read
        case (nil, nil):
            missing(members.path("secret"), in: node, allowed: allowed)
            return nil
        case (_?, let several?):
            refuse(members.path("secrets"), several, allowed: "secret or secrets, not both")
            return nil
        }
    }

    private static func isName(_ text: String) -> Bool {
        (1...60).contains(text.utf8.count)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
    }
}
