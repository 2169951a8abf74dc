import Domain

/// Which part of a history is asked for; every page and every later run asks for the same part.
public struct HistoryFilter: Sendable, Hashable {
    /// Purchased at or after.
    public var from: Instant?
    /// Purchased before.
    public var to: Instant?
    /// Of these products only; all when empty.
    public var products: [String] = []
    /// Of these types only, such as `AUTO_RENEWABLE`; all when empty.
    public var types: [String] = []
    /// Of these groups only; all when empty.
    public var groups: [String] = []
    /// Revoked ones only, or none of them; both when `nil`.
    public var isRevoked: Bool?

    /// The whole history.
    public init() {}

    fileprivate var query: [(name: String, value: String?)] {
        [
            ("startDate", from.map { String($0.milliseconds) }),
            ("endDate", to.map { String($0.milliseconds) }),
            ("revoked", isRevoked.map { String($0) }),
        ] + products.map { ("productId", $0) } + types.map { ("productType", $0) }
            + groups.map { ("subscriptionGroupIdentifier", $0) }
    }
}

/// The last of one line's transactions and its renewal info, as they stand.
public struct LastTransaction: Sendable, Hashable {
    /// The line.
    public var original: String
    /// 1 active, 2 expired, 3 billing retry, 4 grace, 5 revoked, or a later one.
    public var status: Int64
    /// The signed transaction; `nil` when Apple sends none.
    public var signedTransaction: String?
    /// The signed renewal info; `nil` when Apple sends none.
    public var signedRenewal: String?
}

// What is asked about one customer, by any transaction of theirs.
extension ServerAPI {
    /// The signed transaction of this id.
    public func transaction(_ id: String) async throws(ServerAPIError) -> String {
        let call = Call("transaction", ["v1", "transactions", id])
        return try AnswerReading(try await answer(to: call)).text("signedTransactionInfo")
    }

    /// All transactions of the customer who made this one, the latest changed last.
    ///
    /// - Parameter revision: the cursor of an earlier run's last page: what changed since then.
    public func history(
        of id: String, after revision: String? = nil, filter: HistoryFilter = HistoryFilter()
    ) -> Pages<String> {
        Pages(after: revision) { (revision) async throws(ServerAPIError) in
            let call = Call(
                "history", ["v2", "history", id], filter.query + [("revision", revision)])
            return try AnswerReading(try await self.answer(to: call)).transactions()
        }
    }

    /// The customer's refunded transactions, the latest refund last.
    public func refunds(of id: String, after revision: String? = nil) -> Pages<String> {
        Pages(after: revision) { (revision) async throws(ServerAPIError) in
            let call = Call(
                "refunds", ["v2", "refund", "lookup", id], [("revision", revision)],
                rate: .lookUps)
            return try AnswerReading(try await self.answer(to: call)).transactions()
        }
    }

    /// How each subscription of the customer stands, of all groups.
    ///
    /// - Shape: may lack the line that was asked about when a newer one replaced it.
    public func statuses(of id: String) async throws(ServerAPIError) -> Page<LastTransaction> {
        let call = Call("statuses", ["v1", "subscriptions", id])
        let reading = try AnswerReading(try await answer(to: call))
        var found: [LastTransaction] = []
        for group in try reading.list("data") {
            for last in try AnswerReading(group).list("lastTransactions") {
                let last = try AnswerReading(last)
                found.append(
                    LastTransaction(
                        original: try last.text("originalTransactionId"),
                        status: try last.whole("status"),
                        signedTransaction: try last.textIfAny("signedTransactionInfo"),
                        signedRenewal: try last.textIfAny("signedRenewalInfo")))
            }
        }
        return Page(items: found, cursor: nil, hasMore: false, environment: reading.environment)
    }

    /// The signed transactions of an order, as the customer's receipt mail names it; empty when
    /// there is no such order.
    ///
    /// - Shape: Production alone has orders.
    public func order(_ id: String) async throws(ServerAPIError) -> [String] {
        let call = Call("order", ["v1", "lookup", id], rate: .lookUps)
        let reading = try AnswerReading(try await answer(to: call))
        return try reading.whole("status") == 0 ? try reading.texts("signedTransactions") : []
    }
}
