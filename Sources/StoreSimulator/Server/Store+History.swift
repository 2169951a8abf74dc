import Crypto
import Domain
import HTTP

// Pages of transactions, in the order of their latest change.
extension Store {
    /// How many transactions or notifications a page has at most.
    static let pageSize = 20

    /// The history of a customer.
    func history(_ call: APICall, of any: String) throws(APIError) -> Response {
        let person = try customer(any, in: call.environment)
        let filter = try HistoryFilter(call)
        let place = try PagePlace(call.value("revision"), filter: filter.fingerprint(any))
        var found = world.transactions(of: person).filter { filter.takes($0, in: world) }
        if filter.isDescending {
            found = found.reversed().filter { $0.modification < place.change ?? .max }
        } else {
            found = found.filter { $0.modification > place.change ?? 0 }
        }
        let page = found.prefix(Store.pageSize)
        let reached = page.last?.modification ?? place.change ?? 0
        let next = PagePlace(change: reached, filter: filter.fingerprint(any))
        return .api(
            JSON(members: [
                "revision": .string(next.text), "bundleId": .string(world.app.bundleId),
                "appAppleId": .integer(world.app.appAppleId),
                "environment": .string(call.environment.name),
                "hasMore": .bool(found.count > page.count),
                "signedTransactions": .array(page.map { sign($0) }),
            ]))
    }

    /// What a customer got money back for, in the order in which that happened.
    func refunds(_ call: APICall, of any: String) throws(APIError) -> Response {
        let person = try customer(any, in: call.environment)
        let place = try PagePlace(call.value("revision"), filter: "refunds/" + any)
        let found = world.transactions(of: person)
            .filter { $0.revocation?.percentage != nil && $0.modification > place.change ?? 0 }
        let page = found.prefix(Store.pageSize)
        let reached = page.last?.modification ?? place.change ?? 0
        return .api(
            JSON(members: [
                "signedTransactions": .array(page.map { sign($0) }),
                "revision": .string(PagePlace(change: reached, filter: "refunds/" + any).text),
                "hasMore": .bool(found.count > page.count),
            ]))
    }
}

/// Where a page begins: after a change, under a filter that must stay the same.
struct PagePlace {
    let change: Int64?
    private let filter: String

    init(change: Int64?, filter: String) {
        self.change = change
        self.filter = filter
    }

    /// The place that a text names.
    ///
    /// - Throws: for a text of other filters, or of nobody's making.
    init(_ text: String?, filter: String) throws(APIError) {
        self.filter = filter
        guard let text else {
            change = nil
            return
        }
        let parts = text.split(separator: "_")
        guard parts.count == 2, let change = Int64(parts[0]), change >= 0,
            String(parts[1]) == Self.mark(filter)
        else { throw .badRevision }
        self.change = change
    }

    /// The text that names the place.
    var text: String { "\(change ?? 0)_" + Self.mark(filter) }

    private static func mark(_ filter: String) -> String {
        String(SHA256.digest(of: filter).description.prefix(24))
    }
}

/// Which transactions of a history are asked for.
struct HistoryFilter {
    private let from: Int64
    private let until: Int64
    private let products: [String]
    private let kinds: [String]
    private let groups: [String]
    private let ownership: String?
    private let revoked: Bool?
    let isDescending: Bool
    private let all: [QueryItem]

    init(_ call: APICall) throws(APIError) {
        all = call.query.filter { $0.name != "revision" }
        from = try Self.milliseconds(call.value("startDate"), .badStart) ?? .min
        until = try Self.milliseconds(call.value("endDate"), .badEnd) ?? .max
        guard from < until else { throw .startAfterEnd }
        products = call.values("productId")
        guard !products.contains("") else { throw .badProduct }
        kinds = call.values("productType")
        let known = Product.Kind.allCases.map(\.filter)
        guard kinds.allSatisfy(known.contains) else { throw .badProductType }
        groups = call.values("subscriptionGroupIdentifier")
        ownership = call.value("inAppOwnershipType")
        guard ownership.map({ ["PURCHASED", "FAMILY_SHARED", "ASSIGNED"].contains($0) }) != false
        else { throw .badOwnership }
        switch call.value("revoked")?.lowercased() {
        case nil: revoked = nil
        case "true": revoked = true
        case "false": revoked = false
        default: throw .badRevoked
        }
        switch call.value("sort") {
        case nil, "ASCENDING": isDescending = false
        case "DESCENDING": isDescending = true
        default: throw .badSort
        }
    }

    private static func milliseconds(
        _ text: String?, _ refusal: APIError
    ) throws(APIError) -> Int64? {
        guard let text else { return nil }
        guard let number = Int64(text), number >= 0 else { throw refusal }
        return number
    }

    func takes(_ transaction: Transaction, in world: World) -> Bool {
        let purchased = transaction.purchasedAt.milliseconds
        return from <= purchased && purchased < until
            && (products.isEmpty || products.contains(transaction.product.id))
            && (kinds.isEmpty || kinds.contains(transaction.product.kind.filter))
            && (groups.isEmpty || transaction.product.group.map(groups.contains) == true)
            && (ownership == nil || transaction.ownership == ownership)
            && (revoked == nil || (transaction.revocation != nil) == revoked)
    }

    /// What makes the question the same: whose history it is, and every filter.
    func fingerprint(_ any: String) -> String {
        "history/\(any)?" + all.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: "&")
    }
}
