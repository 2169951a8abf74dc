// A body is an object with one member, whose name says what it holds; the kind stands beside it.

extension Event.Content {
    /// The recorded form, to be written canonically.
    public var body: JSON {
        switch self {
        case .notice(let notice): JSON(members: ["notice": notice.body])
        case .transaction(let statement): JSON(members: ["transaction": statement.body])
        case .renewal(let statement): JSON(members: ["renewal": statement.body])
        case .confirmation(let confirmation): JSON(members: ["confirmation": confirmation.body])
        case .tokenLink(let link):
            JSON(members: [
                "tokenLink": JSON(members: [
                    "token": .integer(link.token.number),
                    "customer": .integer(link.customer.number),
                ])
            ])
        case .binding(let binding):
            JSON(members: [
                "binding": JSON(members: [
                    "customer": .integer(binding.customer.number),
                    "from": .instant(binding.from),
                ])
            ])
        case .presentation(let presentation):
            JSON(members: [
                "presentation": JSON(members: [
                    "customer": .integer(presentation.customer.number),
                    "at": .instant(presentation.at),
                ])
            ])
        case .grant(let grant): JSON(members: ["grant": grant.body])
        case .grantEnd(let end):
            JSON(members: [
                "grantEnd": JSON(members: ["id": .string(end.id), "at": .instant(end.at)])
            ])
        case .merge(let merge): JSON(members: ["merge": merge.body])
        case .unmerge(let merge): JSON(members: ["unmerge": merge.body])
        case .settings(let change): JSON(members: ["settings": change.body])
        case .catalog(let change): JSON(members: ["catalog": change.body])
        case .rates(let set): JSON(members: ["rates": set.body])
        case .unrecognized(let body): body
        case .unreadable: .object([])
        }
    }

    /// Reads a recorded form; what no edition of this program wrote is `unrecognized`.
    ///
    /// - Throws: `CodecError` when a known form lacks what it must have.
    public init(body: JSON) throws(CodecError) {
        guard let members = body.members, members.count == 1 else {
            self = .unrecognized(body)
            return
        }
        let inner = members[0].value
        let read = BodyReader(inner)
        switch members[0].name {
        case "notice": self = .notice(try Notice(body: inner))
        case "transaction": self = .transaction(try TransactionStatement(body: inner))
        case "renewal": self = .renewal(try RenewalStatement(body: inner))
        case "confirmation":
            self = .confirmation(
                Confirmation(
                    statement: Fingerprint(hex: try read.text("statement")),
                    signedAt: try read.instant("signedDate")))
        case "tokenLink":
            self = .tokenLink(
                TokenLink(
                    token: try read.customer("token"), customer: try read.customer("customer")))
        case "binding":
            self = .binding(
                LineBinding(
                    customer: try read.customer("customer"), from: try read.instantIfAny("from")))
        case "presentation":
            self = .presentation(
                Presentation(
                    customer: try read.customer("customer"), at: try read.instant("at")))
        case "grant": self = .grant(try Grant(body: inner))
        case "grantEnd":
            self = .grantEnd(GrantEnd(id: try read.text("id"), at: try read.instant("at")))
        case "merge": self = .merge(try Merge(body: inner))
        case "unmerge": self = .unmerge(try Merge(body: inner))
        case "settings": self = .settings(try SettingsChange(body: inner))
        case "catalog": self = .catalog(try CatalogChange(body: inner))
        case "rates": self = .rates(try RatesSet(body: inner))
        default: self = .unrecognized(body)
        }
    }
}

extension Confirmation {
    fileprivate var body: JSON {
        JSON(members: ["statement": .string(statement.hex), "signedDate": .instant(signedAt)])
    }
}

extension Grant {
    /// The recorded form, and the one in which a projection keeps it.
    var body: JSON {
        JSON(members: [
            "id": .string(id), "entitlement": .string(entitlement), "from": .instant(from),
            "until": .instant(until), "reason": .string(reason),
        ])
    }

    /// Reads a recorded form.
    init(body: JSON) throws(CodecError) {
        let read = BodyReader(body)
        self.init(
            id: try read.text("id"), entitlement: try read.text("entitlement"),
            from: try read.instant("from"), until: try read.instantIfAny("until"),
            reason: try read.text("reason"))
    }
}

extension Merge {
    fileprivate var body: JSON {
        JSON(members: ["into": .integer(into.number), "at": .instant(at)])
    }

    fileprivate init(body: JSON) throws(CodecError) {
        let read = BodyReader(body)
        self.init(into: try read.customer("into"), at: try read.instant("at"))
    }
}
