/// A product as the operator's catalogue describes it.
public struct Product: Sendable, Hashable {
    /// `autoRenewable`, `nonConsumable`, `nonRenewing` or `consumable`.
    public var kind: String
    /// The subscription group.
    public var group: String?
    /// The level in the group, 1 the highest.
    public var level: Int64?
    /// The plan's length, an ISO 8601 duration.
    public var plan: String?
    /// How long a pass lasts, an ISO 8601 duration in days or weeks.
    public var accessDuration: String?
    /// What it gives.
    public var entitlements: [String]

    /// A product of this kind.
    public init(
        kind: String, group: String? = nil, level: Int64? = nil, plan: String? = nil,
        accessDuration: String? = nil, entitlements: [String] = []
    ) {
        self.kind = kind
        self.group = group
        self.level = level
        self.plan = plan
        self.accessDuration = accessDuration
        self.entitlements = entitlements
    }

    /// The length of a pass. Units: days of 24 h; `nil` without a readable duration.
    public var accessDays: Int64? {
        guard let text = accessDuration, text.hasPrefix("P"), let unit = text.last,
            let count = Int64(text.dropFirst().dropLast()), (1...36_500).contains(count)
        else { return nil }
        switch unit {
        case "D": return count
        case "W": return count * 7
        default: return nil
        }
    }

    /// Whether the plan is a week long.
    public var isWeekly: Bool { plan == "P1W" || plan == "P7D" }

    var body: JSON {
        JSON(members: [
            "kind": .string(kind), "group": .text(group), "level": .whole(level),
            "plan": .text(plan), "accessDuration": .text(accessDuration),
            "entitlements": .array(entitlements.map(JSON.string)),
        ])
    }

    init(body: JSON) throws(CodecError) {
        let read = BodyReader(body)
        self.init(
            kind: try read.text("kind"), group: try read.textIfAny("group"),
            level: try read.wholeIfAny("level"), plan: try read.textIfAny("plan"),
            accessDuration: try read.textIfAny("accessDuration"),
            entitlements: try read.texts("entitlements"))
    }
}

/// Who owns a line that another customer presents (R13).
public enum OwnershipPolicy: String, Sendable, Hashable {
    /// The owner stays; the presenter's claim is recorded.
    case keep
    /// The presenter owns it from then on.
    case lastPresenter
}

/// The settings other than the catalogue, as a whole, from an instant on.
public struct SettingsChange: Sendable, Hashable {
    /// Who owns a line that another customer presents.
    public var ownership: OwnershipPolicy
    /// Whether overlapping passes add up.
    public var stackPasses: Bool
    /// Days of grace as configured at Apple, by bundle id.
    public var graceDays: [String: Int64]
    /// From when on they hold; `nil`: always.
    public var validFrom: Instant?

    /// Settings that hold from an instant on.
    public init(
        ownership: OwnershipPolicy = .keep, stackPasses: Bool = false,
        graceDays: [String: Int64] = [:], validFrom: Instant? = nil
    ) {
        self.ownership = ownership
        self.stackPasses = stackPasses
        self.graceDays = graceDays
        self.validFrom = validFrom
    }

    var body: JSON {
        let days = graceDays.sorted { $0.key < $1.key }
        return JSON(members: [
            "ownership": .string(ownership.rawValue), "stackPasses": .bool(stackPasses),
            "gracePeriodDays": .object(days.map { JSON.Member($0.key, .integer($0.value)) }),
            "validFrom": .instant(validFrom),
        ])
    }

    init(body: JSON) throws(CodecError) {
        let read = BodyReader(body)
        guard let ownership = OwnershipPolicy(rawValue: try read.text("ownership")) else {
            throw .unreadable(member: "ownership")
        }
        var days: [String: Int64] = [:]
        for member in body["gracePeriodDays"]?.members ?? [] {
            guard let count = member.value.integer else {
                throw .unreadable(member: "gracePeriodDays")
            }
            days[member.name] = count
        }
        self.init(
            ownership: ownership, stackPasses: try read.truthIfAny("stackPasses") ?? false,
            graceDays: days, validFrom: try read.instantIfAny("validFrom"))
    }
}

/// A catalogue that replaces the whole set of products from an instant on.
public struct CatalogChange: Sendable, Hashable {
    /// The products by their id.
    public var products: [String: Product]
    /// From when on it holds; `nil`: always.
    public var validFrom: Instant?
    /// Products that it describes for all time, since no catalogue had named them.
    public var alwaysFor: [String]

    /// A catalogue that holds from an instant on.
    public init(
        products: [String: Product], validFrom: Instant? = nil, alwaysFor: [String] = []
    ) {
        self.products = products
        self.validFrom = validFrom
        self.alwaysFor = alwaysFor
    }

    /// The products as an object of their ids.
    public var productsBody: JSON {
        .object(products.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value.body) })
    }

    var body: JSON {
        JSON(members: [
            "products": productsBody,
            "validFrom": .instant(validFrom),
            "alwaysFor": .flags(alwaysFor.sorted()),
        ])
    }

    init(body: JSON) throws(CodecError) {
        let read = BodyReader(body)
        guard let members = body["products"]?.members else {
            throw .unreadable(member: "products")
        }
        var products: [String: Product] = [:]
        for member in members { products[member.name] = try Product(body: member.value) }
        self.init(
            products: products, validFrom: try read.instantIfAny("validFrom"),
            alwaysFor: try read.texts("alwaysFor"))
    }
}

/// All settings that the record holds up to a position: what decides answers.
public struct Settings: Sendable, Hashable {
    /// The last entry folded.
    public private(set) var position = Position.start
    /// Its revision in the stream of settings.
    public private(set) var revision: Int64 = 0
    private var changes: [SettingsChange] = []
    private var catalogs: [CatalogChange] = []

    /// No settings yet.
    public init() {}

    /// The settings after one more entry of their stream; entries come in order of position.
    public func evolved(by entry: Entry) -> Settings {
        var next = self
        switch entry.event.content {
        case .settings(let change): next.changes.append(change)
        case .catalog(let change):
            next.catalogs.append(change)
            next.catalogIsFromConfiguration = entry.event.key.hasPrefix(entry.event.kind.name)
        default: break
        }
        next.position = entry.position
        next.revision = entry.revision
        return next
    }

    /// The settings that hold at an instant: the last recorded of those valid by then.
    public func rules(at instant: Instant) -> SettingsChange {
        changes.last { ($0.validFrom ?? .distantPast) <= instant } ?? SettingsChange()
    }

    /// The newest recorded settings, whenever they are valid from.
    public var latest: SettingsChange? { changes.last }

    /// The newest recorded catalogue, whenever it is valid from.
    public var latestCatalog: CatalogChange? { catalogs.last }

    /// A product as the catalogue in force at an instant describes it.
    public func product(_ id: String, at instant: Instant) -> Product? {
        for catalog in catalogs.reversed() {
            if catalog.alwaysFor.contains(id) || (catalog.validFrom ?? .distantPast) <= instant {
                return catalog.products[id]
            }
        }
        return nil
    }

    /// Whether the newest catalogue came with the configuration, not over HTTP.
    public private(set) var catalogIsFromConfiguration = true

    /// Whether any catalogue has ever named a product.
    public func hasNamed(_ product: String) -> Bool {
        catalogs.contains { $0.products[product] != nil }
    }

    /// The instants at which a catalogue begins to hold, in order.
    public var catalogBoundaries: [Instant] {
        Array(Set(catalogs.compactMap(\.validFrom))).sorted()
    }
}
