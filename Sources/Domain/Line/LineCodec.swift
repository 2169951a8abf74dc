// The form in which a projection keeps a line; it is written anew by every rebuild.

extension Line {
    /// The line as canonical JSON text, without its stream and position, which stand beside it.
    public var state: String {
        var writer = CanonicalWriter()
        writer.object { writer in
            writer.json("claims", .array(claims.map(\.state)))
            writer.list("intents", intents) { $1.write(to: &$0) }
            writer.list("periods", periods) { $1.write(to: &$0) }
            writer.text("previousOriginal", previousOriginal)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Reads what `state` wrote.
    public init(stream: StreamID, position: Position, state: JSON) throws(CodecError) {
        self.stream = stream
        self.position = position
        periods = []
        intents = []
        claims = []
        previousOriginal = try BodyReader(state).textIfAny("previousOriginal")
        for element in state["periods"]?.elements ?? [] {
            periods.append(try Period(state: element))
        }
        for element in state["intents"]?.elements ?? [] {
            intents.append(try Intent(state: element))
        }
        for element in state["claims"]?.elements ?? [] {
            claims.append(try Claim(state: element))
        }
    }
}

extension Line.Claim {
    /// A presentation has an instant `at`; a binding has none, and perhaps one that it is `from`.
    fileprivate var state: JSON {
        switch self {
        case .binding(let binding):
            JSON(members: [
                "customer": .integer(binding.customer.number), "from": .instant(binding.from),
            ])
        case .presentation(let shown):
            JSON(members: [
                "customer": .integer(shown.customer.number), "at": .instant(shown.at),
            ])
        }
    }

    fileprivate init(state: JSON) throws(CodecError) {
        let read = BodyReader(state)
        let customer = try read.customer("customer")
        if let at = try read.instantIfAny("at") {
            self = .presentation(Presentation(customer: customer, at: at))
        } else {
            self = .binding(LineBinding(customer: customer, from: try read.instantIfAny("from")))
        }
    }
}

extension Intent {
    fileprivate func write(to writer: inout CanonicalWriter) {
        writer.object { writer in
            writer.text("commitmentNextProduct", commitmentNextProduct)
            writer.instant("commitmentRenewsAt", commitmentRenewsAt)
            writer.truth("commitmentWillRenew", commitmentWillRenew)
            writer.whole("expirationIntent", expirationIntent)
            writer.text("nextProduct", nextProduct)
            writer.instant("signedAt", signedAt)
            writer.truth("willRenew", willRenew)
        }
    }

    fileprivate init(state: JSON) throws(CodecError) {
        let read = BodyReader(state)
        signedAt = try read.instant("signedAt")
        willRenew = try read.truthIfAny("willRenew")
        nextProduct = try read.textIfAny("nextProduct")
        expirationIntent = try read.wholeIfAny("expirationIntent")
        commitmentWillRenew = try read.truthIfAny("commitmentWillRenew")
        commitmentNextProduct = try read.textIfAny("commitmentNextProduct")
        commitmentRenewsAt = try read.instantIfAny("commitmentRenewsAt")
    }
}

extension Grace {
    fileprivate var state: JSON {
        switch self {
        case .named(let until): JSON(members: ["until": .instant(until)])
        case .inferred(let cap): JSON(members: ["inferred": .bool(true), "cap": .instant(cap)])
        }
    }

    fileprivate init(state: JSON) throws(CodecError) {
        let read = BodyReader(state)
        if try read.truthIfAny("inferred") == true {
            self = .inferred(cap: try read.instantIfAny("cap"))
        } else {
            self = .named(until: try read.instant("until"))
        }
    }
}

extension Payment {
    fileprivate var state: JSON {
        JSON(members: [
            "transaction": .string(transaction), "purchasedAt": .instant(purchasedAt),
            "price": .whole(priceMilliunits), "currency": .text(currency), "seats": .whole(seats),
            "revokedSeats": .whole(revokedSeats), "revokedAt": .instant(revokedAt),
            "isRefunded": isRefunded ? .bool(true) : nil, "refundShare": .whole(refundShare),
        ])
    }

    fileprivate init(state: JSON) throws(CodecError) {
        let read = BodyReader(state)
        self.init(
            transaction: try read.text("transaction"), purchasedAt: try read.instant("purchasedAt"),
            priceMilliunits: try read.wholeIfAny("price"),
            currency: try read.textIfAny("currency"), seats: try read.wholeIfAny("seats"),
            revokedSeats: try read.wholeIfAny("revokedSeats"),
            revokedAt: try read.instantIfAny("revokedAt"),
            isRefunded: try read.truthIfAny("isRefunded") ?? false,
            refundShare: try read.wholeIfAny("refundShare"))
    }
}

extension MoneyBack {
    fileprivate var state: JSON {
        JSON(members: [
            "transaction": .string(transaction), "at": .instant(at), "share": .integer(share),
            "price": .whole(priceMilliunits), "reversedAt": .instant(reversedAt),
        ])
    }

    fileprivate init(state: JSON) throws(CodecError) {
        let read = BodyReader(state)
        self.init(
            transaction: try read.text("transaction"), at: try read.instant("at"),
            share: try read.whole("share"), priceMilliunits: try read.wholeIfAny("price"),
            reversedAt: try read.instantIfAny("reversedAt"))
    }
}

extension Extension {
    fileprivate var state: JSON {
        JSON(members: ["at": .instant(at), "milliseconds": .integer(milliseconds)])
    }

    fileprivate init(state: JSON) throws(CodecError) {
        let read = BodyReader(state)
        self.init(at: try read.instant("at"), milliseconds: try read.whole("milliseconds"))
    }
}

extension Installment {
    fileprivate var state: JSON {
        JSON(members: [
            "commitmentExpiresAt": .instant(commitmentExpiresAt), "number": .whole(number),
            "count": .whole(count),
        ])
    }

    fileprivate init?(state: JSON?) throws(CodecError) {
        guard let state else { return nil }
        let read = BodyReader(state)
        self.init(
            commitmentExpiresAt: try read.instantIfAny("commitmentExpiresAt"),
            number: try read.wholeIfAny("number"), count: try read.wholeIfAny("count"))
    }
}

extension Period {
    fileprivate func write(to writer: inout CanonicalWriter) {
        writer.object { writer in
            writer.json("aliases", aliases.count == 1 ? nil : .array(aliases.map(JSON.string)))
            writer.text("bundle", bundle)
            writer.text("class", periodClass.rawValue)
            writer.text("currency", currency)
            writer.text("ending", ending == .expiry ? nil : ending.rawValue)
            writer.instant("expiresAt", expiresAt)
            writer.json("extensions", Period.list(extensions) { $0.state })
            writer.json("flags", .flags(flags))
            writer.instant("from", from == purchasedAt ? nil : from)
            writer.json("grace", grace?.state)
            writer.text("group", group)
            writer.json("installment", installment?.state)
            writer.truth("isRefunded", isRefunded ? true : nil)
            writer.truth("isUpgraded", isUpgraded ? true : nil)
            writer.json("moneyBack", Period.list(moneyBack) { $0.state })
            writer.text("offer", offer)
            writer.text("ownership", ownership)
            writer.whole("price", priceMilliunits)
            writer.text("product", product)
            writer.instant("purchasedAt", purchasedAt)
            writer.text("reason", reason)
            writer.whole("refundShare", refundShare)
            writer.json(
                "retries",
                Period.list(retries.flatMap { [$0.lowerBound, $0.upperBound] }) {
                    .integer($0.milliseconds)
                })
            writer.instant("revokedAt", revokedAt)
            writer.json("seatPayments", Period.list(seatPayments) { $0.state })
            writer.text("shape", shape.rawValue)
            writer.text("storefront", storefront)
            writer.whole("token", token?.number)
            writer.text("transaction", transaction)
            writer.instant("until", until)
            writer.text("webOrderLineItem", webOrderLineItem)
        }
    }

    /// A list; nothing when it is empty.
    private static func list<Part>(_ parts: [Part], _ state: (Part) -> JSON) -> JSON? {
        parts.isEmpty ? nil : .array(parts.map(state))
    }

    fileprivate init(state: JSON) throws(CodecError) {
        let read = BodyReader(state)
        guard let shape = Shape(rawValue: try read.text("shape")),
            let ending = Ending(rawValue: try read.textIfAny("ending") ?? "expiry"),
            let periodClass = PeriodClass(rawValue: try read.text("class"))
        else { throw .unreadable(member: "shape, ending or class") }
        let transaction = try read.text("transaction")
        let aliases = try read.texts("aliases")
        let purchasedAt = try read.instant("purchasedAt")
        self.init(
            transaction: transaction, aliases: aliases.isEmpty ? [transaction] : aliases,
            webOrderLineItem: try read.textIfAny("webOrderLineItem"),
            bundle: try read.text("bundle"), product: try read.text("product"),
            group: try read.textIfAny("group"), shape: shape, purchasedAt: purchasedAt,
            from: try read.instantIfAny("from") ?? purchasedAt,
            expiresAt: try read.instantIfAny("expiresAt"),
            until: try read.instantIfAny("until"), ending: ending,
            grace: try Period.grace(state), retries: try Period.retries(state),
            periodClass: periodClass, priceMilliunits: try read.wholeIfAny("price"),
            currency: try read.textIfAny("currency"), ownership: try read.textIfAny("ownership"),
            token: try read.customerIfAny("token"), reason: try read.textIfAny("reason"),
            revokedAt: try read.instantIfAny("revokedAt"),
            isRefunded: try read.truthIfAny("isRefunded") ?? false,
            refundShare: try read.wholeIfAny("refundShare"),
            isUpgraded: try read.truthIfAny("isUpgraded") ?? false,
            seatPayments: try Period.all(state["seatPayments"]) { element throws(CodecError) in
                try Payment(state: element)
            },
            installment: try Installment(state: state["installment"]),
            moneyBack: try Period.all(state["moneyBack"]) { element throws(CodecError) in
                try MoneyBack(state: element)
            },
            extensions: try Period.all(state["extensions"]) { element throws(CodecError) in
                try Extension(state: element)
            },
            storefront: try read.textIfAny("storefront"), offer: try read.textIfAny("offer"),
            flags: try read.texts("flags"))
    }

    private static func all<Part>(
        _ list: JSON?, _ read: (JSON) throws(CodecError) -> Part
    ) throws(CodecError) -> [Part] {
        var parts: [Part] = []
        for element in list?.elements ?? [] { parts.append(try read(element)) }
        return parts
    }

    private static func grace(_ state: JSON) throws(CodecError) -> Grace? {
        guard let grace = state["grace"] else { return nil }
        return try Grace(state: grace)
    }

    private static func retries(_ state: JSON) throws(CodecError) -> [Range<Instant>] {
        let edges = (state["retries"]?.elements ?? []).compactMap(\.integer)
            .map(Instant.init(milliseconds:))
        guard edges.count.isMultiple(of: 2) else { throw .unreadable(member: "retries") }
        return stride(from: 0, to: edges.count, by: 2).compactMap {
            edges[$0] <= edges[$0 + 1] ? edges[$0]..<edges[$0 + 1] : nil
        }
    }
}

extension Customer {
    /// The customer as JSON, without number and position, which stand beside it.
    public var state: JSON {
        JSON(members: [
            "grants": .array(grants.values.sorted { $0.id < $1.id }.map(\.body)),
            "merges": .array(
                merges.map {
                    JSON(members: [
                        "into": .integer($0.customer.number), "from": .instant($0.from),
                        "until": .instant($0.until),
                    ])
                }),
        ])
    }

    /// Reads what `state` wrote.
    public init(_ number: CustomerNumber, position: Position, state: JSON) throws(CodecError) {
        self.init(number)
        var grants: [Grant] = []
        for element in state["grants"]?.elements ?? [] { grants.append(try Grant(body: element)) }
        var merges: [Tenure] = []
        for element in state["merges"]?.elements ?? [] {
            let read = BodyReader(element)
            merges.append(
                Tenure(
                    customer: try read.customer("into"), from: try read.instant("from"),
                    until: try read.instantIfAny("until")))
        }
        restore(position, grants, merges)
    }
}
