/// The members of `catalog`.
extension ConfigurationDecoder {
    private enum Kind: String, CaseIterable {
        case autoRenewable, nonConsumable, nonRenewing, consumable

        /// What a product of this kind may have beside it.
        var members: [String] {
            switch self {
            case .autoRenewable: ["group", "level", "plan", "entitlements"]
            case .nonConsumable: ["entitlements"]
            case .nonRenewing: ["accessDuration", "entitlements"]
            case .consumable: []
            }
        }
    }

    /// The products of a catalogue, sorted by id.
    mutating func catalog(_ node: ConfigurationNode, at path: String) -> [ProductConfiguration] {
        guard let members = object(node, at: path, members: ["products"]) else { return [] }
        guard let node = members["products"] else { return [] }
        guard case .object(let products) = node.value else {
            refuse(members.path("products"), node, allowed: "an object of products by their ids")
            return []
        }
        return products.compactMap { product in
            let path = Self.join(members.path("products"), product.name)
            guard Self.isProductID(product.name) else {
                refuse(
                    path, at: product.origin,
                    "found a name that is no product id; allowed: 1 to 255 characters without blanks"
                )
                return nil
            }
            return self.product(product.node, id: product.name, at: path)
        }.sorted { $0.id < $1.id }
    }

    private static func isProductID(_ text: String) -> Bool {
        (1...255).contains(text.count)
            && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    private mutating func product(
        _ node: ConfigurationNode, id: String, at path: String
    ) -> ProductConfiguration? {
        let names = ["kind", "group", "level", "plan", "accessDuration", "entitlements"]
        guard let members = object(node, at: path, members: names) else { return nil }
        guard let kindNode = members["kind"] else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            missing(members.path("kind"), in: node, allowed: kinds)
            return nil
        }
        guard let kind: Kind = choice(kindNode, at: members.path("kind")) else { return nil }
        for member in members.all
        where names.contains(member.name) && member.name != "kind"
            && !kind.members.contains(member.name)
        {
            refuse(
                members.path(member.name), at: member.origin,
                "found \(member.node.found); allowed: nothing, since the kind is \(kind.rawValue)")
        }
        let entitlements = entitlements(members["entitlements"], at: members.path("entitlements"))
        guard let terms = terms(kind, members) else { return nil }
        return ProductConfiguration(id: id, terms: terms, entitlements: entitlements)
    }

    private mutating func terms(_ kind: Kind, _ members: Members) -> ProductTerms? {
        switch kind {
        case .nonConsumable: return .nonConsumable
        case .consumable: return .consumable
        case .nonRenewing:
            return length("accessDuration", members).map { .nonRenewing(accessDuration: $0) }
        case .autoRenewable:
            let plan = length("plan", members)
            let group = group(members)
            var level: Int?
            if let node = members["level"] {
                level = integer(
                    node, at: members.path("level"), in: 1...1_000,
                    allowed: "a whole number from 1 (the highest service) to 1000"
                ).map { Int($0) }
            }
            guard let plan, let group else { return nil }
            return .autoRenewable(group: group, level: level, plan: plan)
        }
    }

    private mutating func length(_ name: String, _ members: Members) -> CalendarLength? {
        let allowed = "an ISO 8601 length, such as P1W, P1M, P1Y or P90D"
        guard let node = members[name] else {
            missing(members.path(name), in: members.object, allowed: allowed)
            return nil
        }
        return text(node, at: members.path(name), allowed: allowed, CalendarLength.init)
    }

    private mutating func group(_ members: Members) -> String? {
        let allowed = "the name of a subscription group, 1 to 100 characters"
        guard let node = members["group"] else {
            missing(members.path("group"), in: members.object, allowed: allowed)
            return nil
        }
        return text(node, at: members.path("group"), allowed: allowed) { text in
            (1...100).contains(text.count) && !text.allSatisfy(\.isWhitespace) ? text : nil
        }
    }

    private mutating func entitlements(_ node: ConfigurationNode?, at path: String) -> [String] {
        var names: [String] = []
        let allowed =
            "a name of 1 to 100 letters, digits and . _ - that begins with a letter or digit"
        for item in list(node, at: path, of: "names of entitlements") {
            guard let name = text(item.node, at: item.path, allowed: allowed, Self.entitlement)
            else { continue }
            if names.contains(name) {
                refuse(item.path, item.node, allowed: "each entitlement once")
            } else {
                names.append(name)
            }
        }
        return names
    }

    private static func entitlement(_ text: String) -> String? {
        func isPlain(_ character: Character) -> Bool {
            character.isASCII && (character.isLetter || character.isNumber)
        }
        guard let first = text.first, isPlain(first), text.count <= 100 else { return nil }
        return text.allSatisfy { isPlain($0) || "._-".contains($0) } ? text : nil
    }
}
