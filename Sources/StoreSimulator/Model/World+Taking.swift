import Domain

extension World {
    /// Does a step; why not, when it makes no sense.
    mutating func take(_ step: Step, by person: Int) -> String? {
        guard !people[person].isDeleted else { return "the account is no more" }
        switch step {
        case .buy(let product, let quantity): return buy(product, quantity, by: person)
        case .fail:
            people[person].cardWorks = false
            return nil
        case .recover: return recover(person)
        case .delete:
            people[person].isDeleted = true
            return nil
        case .refund(.transaction(let id), let percentage):
            guard let place = transactionsById[id], transactions[place].person == person else {
                return "the customer has no such transaction"
            }
            return refund(place, percentage: percentage)
        case .refund(let which, let percentage):
            guard let place = transaction(of: person, which) else {
                return "the customer has no such transaction"
            }
            return refund(place, percentage: percentage)
        case .ask(let reason):
            guard let place = transaction(of: person, .latest) else { return "nothing was bought" }
            tell("CONSUMPTION_REQUEST", nil, about: place, consumptionReason: reason)
            return nil
        case .decline:
            guard let place = transaction(of: person, .latest) else { return "nothing was bought" }
            tell("REFUND_DECLINED", nil, about: place)
            return nil
        case .reverse: return reverse(person)
        case .cancel, .resume, .change, .share, .unshare, .extend, .raisePrice, .consent:
            guard let chain = subscription(of: person), !chains[chain].isOver else {
                return "no subscription goes on"
            }
            return take(step, on: chain)
        }
    }

    /// Does a step about a subscription that goes on.
    private mutating func take(_ step: Step, on chain: Int) -> String? {
        switch step {
        case .cancel: return cancel(chain)
        case .resume: return resume(chain)
        case .change(let product): return change(chain, to: product)
        case .share(let other): return share(chain, with: other)
        case .unshare: return unshare(chain)
        case .extend(let days): return extend(chain, days: days) ? nil : "not eligible"
        case .raisePrice(let price, let needsConsent):
            return raisePrice(chain, to: price, needsConsent: needsConsent)
        case .consent: return consent(chain)
        default: return nil
        }
    }

    /// A customer's transaction: of the subscription if there is one, else of what was bought last.
    private func transaction(of person: Int, _ which: Step.Which) -> Int? {
        let chain = subscription(of: person) ?? people[person].chains.last
        guard let places = chain.map({ chains[$0].transactions }) else { return nil }
        switch which {
        case .latest: return places.last
        case .first: return places.first
        case .previous: return places.count > 1 ? places[places.count - 2] : nil
        case .transaction(let id): return transactionsById[id]
        }
    }

    // MARK: Buying

    private mutating func buy(_ id: String, _ quantity: Int64, by person: Int) -> String? {
        guard let product = products[id] else { return "no product is called \(id)" }
        guard let group = product.group, product.kind == .autoRenewable else {
            buyOnce(product, quantity, by: person)
            return nil
        }
        guard let chain = chain(of: person, group: group) else {
            subscribe(product, group, by: person)
            return nil
        }
        if chains[chain].isOver {
            begin(product, on: chain, reason: "PURCHASE")
            tellFamily("SUBSCRIBED", "RESUBSCRIBE", on: chain)
            return nil
        }
        if chains[chain].isInRetry == true {
            guard chains[chain].graceUntil == nil else { return "the store refuses during grace" }
            // While the store still tries to collect, buying begins another chain.
            subscribe(product, group, by: person)
            return nil
        }
        return change(chain, to: id)
    }

    private mutating func buyOnce(_ product: Product, _ quantity: Int64, by person: Int) {
        let place = open(product, group: nil, by: person)
        var transaction = made(product, on: place, at: now, until: nil, reason: "PURCHASE")
        transaction.quantity = product.kind == .consumable ? max(1, quantity) : 1
        transaction.price = product.price * transaction.quantity
        transaction.accessUntil =
            product.kind == .nonConsumable
            ? .distantFuture : now.adding(days: product.accessDays ?? 0)
        chains[place].isOver = true
        let kept = keep(transaction)
        tell("ONE_TIME_CHARGE", nil, about: kept)
    }

    private mutating func subscribe(_ product: Product, _ group: String, by person: Int) {
        let place = open(product, group: group, by: person)
        begin(product, on: place, reason: "PURCHASE")
        tell("SUBSCRIBED", "INITIAL_BUY", on: place)
    }

    /// Opens a chain whose first transaction is to follow.
    mutating func open(_ product: Product, group: String?, by person: Int, sharedFrom: Int? = nil)
        -> Int
    {
        let id = identifier(people[person].environment)
        return keep(
            Chain(
                id: id, person: person, group: group, nextProduct: product.id, renewsAt: now,
                runBegan: now, anchorDay: Pace.day(of: now), sharedFrom: sharedFrom))
    }

    /// A transaction of a chain that is not kept yet.
    mutating func made(
        _ product: Product, on chain: Int, at instant: Instant, until end: Instant?, reason: String
    ) -> Transaction {
        let person = chains[chain].person
        let environment = people[person].environment
        let first = chains[chain].transactions.first.map { transactions[$0] }
        let isShared = chains[chain].sharedFrom != nil
        let token = chains[chain].token ?? (people[person].showsToken ? people[person].token : nil)
        return Transaction(
            id: first == nil ? chains[chain].id : identifier(environment), chain: chain,
            person: person,
            webOrderLineItem: product.kind == .autoRenewable ? identifier(environment) : nil,
            order: identifier(environment, order: true), product: product, purchasedAt: instant,
            originallyPurchasedAt: first?.purchasedAt ?? instant, expiresAt: end,
            token: isShared ? nil : token,
            ownership: isShared ? "FAMILY_SHARED" : "PURCHASED", reason: reason,
            price: product.price, accessUntil: end ?? .distantFuture)
    }
}
