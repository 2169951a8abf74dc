import Domain
import HTTP

extension Store {
    /// Answers a call that may be made.
    func route(_ call: APICall) throws(APIError) -> Response {
        let rest = call.path.dropFirst().joined(separator: "/")
        let parts = Array(call.path.dropFirst(2))
        switch (call.method, rest.hasPrefix("v2/"), parts.first, parts.count) {
        case ("GET", _, "history", 2): return try history(call, of: parts[1])
        case ("GET", _, "refund", 3) where parts[1] == "lookup":
            return try refunds(call, of: parts[2])
        case ("GET", false, "subscriptions", 2): return try statuses(call, of: parts[1])
        case ("PUT", false, "subscriptions", 3) where parts[1] == "extend":
            return try extend(call, parts[2])
        case ("GET", false, "lookup", 2): return lookUp(parts[1], in: call.environment)
        case ("GET", false, "transactions", 2): return try transactionInfo(call, parts[1])
        case ("GET", false, "transactions", 3) where parts[1] == "appTransactions":
            return try appTransaction(call, parts[2])
        case ("PUT", _, "transactions", 3) where parts[1] == "consumption":
            return try consumption(call, parts[2], isSecond: rest.hasPrefix("v2/"))
        case ("PUT", false, "transactions", 3) where parts[2] == "appAccountToken":
            return try setToken(call, parts[1])
        case ("POST", false, "transactions", 3) where parts[2] == "finish":
            _ = try transaction(parts[1], in: call.environment)
            return Response(status: 200)
        case ("POST", false, "notifications", 2) where parts[1] == "history":
            return try notificationHistory(call)
        case ("POST", false, "notifications", 2) where parts[1] == "test":
            return try test(call.environment)
        case ("GET", false, "notifications", 3) where parts[1] == "test":
            return try testStatus(parts[2])
        default: return Response(status: 404)
        }
    }

    // MARK: Finding

    /// The customer whom an id of any kind belongs to.
    func customer(_ any: String, in environment: Environment) throws(APIError) -> Int {
        guard !any.isEmpty, any.allSatisfy(\.isNumber) else { throw .badTransaction }
        guard let person = world.person(any, in: environment) else { throw .noTransaction }
        guard !world.people[person].isDeleted else { throw .noAccount }
        return person
    }

    /// A transaction by its own id.
    func transaction(_ id: String, in environment: Environment) throws(APIError) -> Int {
        guard !id.isEmpty, id.allSatisfy(\.isNumber) else { throw .badTransaction }
        guard let place = world.transactionsById[id],
            world.people[world.transactions[place].person].environment == environment
        else {
            guard world.appTransactions[id] == nil else { throw .appTransactionUnsupported }
            throw .noTransaction
        }
        guard !world.people[world.transactions[place].person].isDeleted else { throw .noAccount }
        return place
    }

    /// A subscription by its original transaction id.
    func subscription(_ id: String, in environment: Environment) throws(APIError) -> Int {
        guard !id.isEmpty, id.allSatisfy(\.isNumber) else { throw .badOriginal }
        guard let chain = world.chainsById[id],
            world.people[world.chains[chain].person].environment == environment
        else { throw world.transactionsById[id] == nil ? .noOriginal : .notOriginal }
        return chain
    }

    func sign(_ transaction: Transaction) -> JSON {
        .string(authority.sign(world.payload(of: transaction, signedAt: world.now)))
    }

    // MARK: One transaction

    private func transactionInfo(_ call: APICall, _ id: String) throws(APIError) -> Response {
        let place = try transaction(id, in: call.environment)
        return .api(
            JSON(members: ["signedTransactionInfo": sign(world.transactions[place])]))
    }

    private func appTransaction(_ call: APICall, _ any: String) throws(APIError) -> Response {
        let person = try customer(any, in: call.environment)
        let text = authority.sign(world.appPayload(of: person))
        return .api(JSON(members: ["signedAppTransactionInfo": .string(text)]))
    }

    private func lookUp(_ order: String, in environment: Environment) -> Response {
        let found = world.transactions.filter {
            $0.order == order && world.people[$0.person].environment == environment
                && environment == .production
        }
        return .api(
            JSON(members: [
                "status": .integer(found.isEmpty ? 1 : 0),
                "signedTransactions": .array(found.map { sign($0) }),
            ]))
    }

    // MARK: Statuses

    private func statuses(_ call: APICall, of any: String) throws(APIError) -> Response {
        let person = try customer(any, in: call.environment)
        var wanted: Set<Int64> = []
        for text in call.values("status") {
            guard let number = Int64(text), (1...5).contains(number) else { throw .badStatus }
            wanted.insert(number)
        }
        var groups: [String: [JSON]] = [:]
        for place in world.people[person].chains {
            guard let group = world.chains[place].group else { continue }
            let status = world.status(place, at: world.now)
            guard wanted.isEmpty || wanted.contains(status) else { continue }
            let renewal = authority.sign(world.renewalPayload(of: place, signedAt: world.now))
            groups[group, default: []].append(
                JSON(members: [
                    "originalTransactionId": .string(world.chains[place].id),
                    "status": .integer(status),
                    "signedTransactionInfo": sign(world.transactions[world.latest(place)]),
                    "signedRenewalInfo": .string(renewal),
                ]))
        }
        let data = groups.sorted { $0.key < $1.key }.map { group, items in
            JSON(members: [
                "subscriptionGroupIdentifier": .string(group), "lastTransactions": .array(items),
            ])
        }
        return .api(
            JSON(members: [
                "environment": .string(call.environment.name),
                "bundleId": .string(world.app.bundleId),
                "appAppleId": .integer(world.app.appAppleId), "data": .array(data),
            ]))
    }
}
