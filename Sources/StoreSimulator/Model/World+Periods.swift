import Domain

// How periods of a subscription begin, follow each other and end.
extension World {
    /// Begins a period of a product that a customer bought now, or the store renewed.
    ///
    /// - Parameter start: where it begins: now, or where the one before ended.
    mutating func begin(
        _ product: Product, on chain: Int, reason: String, at start: Instant? = nil,
        until end: Instant? = nil
    ) {
        let start = start ?? now
        let previous = chains[chain].transactions.last.map { transactions[$0] }
        if reason == "PURCHASE" { beginRun(chain, at: start, after: previous) }
        var offer: Offer?
        var span = product.plan ?? .days(30)
        let person = chains[chain].person
        if let trial = product.trial, let length = Span(trial), let group = product.group,
            previous == nil, chains[chain].sharedFrom == nil,
            !people[person].triedGroups.contains(group)
        {
            offer = Offer(type: 1, discount: "FREE_TRIAL", period: trial)
            span = length
            people[person].triedGroups.insert(group)
        }
        let end = end ?? pace.adding(span, to: start, anchorDay: chains[chain].anchorDay)
        var transaction = made(product, on: chain, at: start, until: end, reason: reason)
        transaction.offer = offer
        if offer != nil { transaction.price = 0 }
        if let raised = chains[chain].priceIncrease, raised.hasConsent, reason == "RENEWAL" {
            transaction.price = raised.price
        }
        cutShort(chain, at: start)
        _ = keep(transaction)
        chains[chain].nextProduct = product.id
        settle(chain, until: end)
        for member in chains[chain].members where chains[member].sharedFrom == chain {
            begin(product, on: member, reason: reason, at: start, until: end)
        }
    }

    /// The store's own account of access: what follows begins where the one before ends.
    private mutating func cutShort(_ chain: Int, at start: Instant) {
        for place in chains[chain].transactions where transactions[place].accessUntil > start {
            transactions[place].accessUntil = max(start, transactions[place].purchasedAt)
        }
        for index in chains[chain].graces.indices where chains[chain].graces[index].until > start {
            chains[chain].graces[index].until = max(start, chains[chain].graces[index].from)
        }
    }

    /// Notes what a paid period means for its chain, and plans its end.
    mutating func settle(_ chain: Int, until end: Instant) {
        chains[chain].renewsAt = end
        chains[chain].isOver = false
        chains[chain].isInRetry = nil
        chains[chain].graceUntil = nil
        chains[chain].expirationIntent = nil
        chains[chain].epoch += 1
        // A family member's periods follow the purchaser's, and nothing else.
        guard chains[chain].sharedFrom == nil else { return }
        let lead = pace.month == nil ? Int64(chance.below(24)) * 3_600_000 : 0
        let epoch = chains[chain].epoch
        if lead > 0 {
            agenda.add(
                .renewal(chain: chain, epoch: epoch),
                at: max(now, end.adding(milliseconds: -lead)))
        }
        agenda.add(.end(chain: chain, epoch: epoch), at: end)
    }

    private mutating func beginRun(_ chain: Int, at start: Instant, after previous: Transaction?) {
        chains[chain].autoRenews = true
        guard let previous else { return }
        let gap = start.milliseconds - (previous.expiresAt ?? start).milliseconds
        if gap > pace.duration(days: 60) { chains[chain].runBegan = start }
        if gap > 0 { chains[chain].anchorDay = Pace.day(of: start) }
    }

    /// The next period, paid.
    mutating func renew(_ chain: Int, recovering: Bool = false) {
        let end = chains[chain].renewsAt
        // Collected during grace, it begins where the one before ended; later, now.
        let inTime = !recovering || (chains[chain].graceUntil.map { now < $0 } ?? false)
        if !inTime { chains[chain].anchorDay = Pace.day(of: now) }
        guard let product = products[chains[chain].nextProduct] else { return }
        begin(product, on: chain, reason: "RENEWAL", at: inTime ? end : now)
        chains[chain].priceIncrease = nil
        tellFamily("DID_RENEW", recovering ? "BILLING_RECOVERY" : nil, on: chain)
    }

    /// Whether a price increase that needs consent has none.
    func needsConsent(_ chain: Int) -> Bool {
        chains[chain].priceIncrease.map { $0.needsConsent && !$0.hasConsent } ?? false
    }

    /// Whether a Sandbox subscription has renewed as often as it may.
    ///
    /// - Source: Apple, testing in-app purchases with Sandbox: twelve renewals.
    func hasRenewedOut(_ chain: Int) -> Bool {
        guard people[chains[chain].person].environment == .sandbox else { return false }
        let run = chains[chain].transactions.reversed().prefix {
            transactions[$0].reason == "RENEWAL"
        }
        return run.count >= 12
    }

    /// A period's end, and nothing followed so far.
    mutating func end(_ chain: Int) {
        if needsConsent(chain), chains[chain].autoRenews {
            expire(chain, intent: 3, subtype: "PRICE_INCREASE")
        } else if !chains[chain].autoRenews || hasRenewedOut(chain) {
            chains[chain].autoRenews = false
            expire(chain, intent: 1, subtype: "VOLUNTARY")
        } else if people[chains[chain].person].cardWorks {
            renew(chain)
        } else {
            fail(chain)
        }
    }

    /// The store could not collect, and goes on trying for 60 days.
    private mutating func fail(_ chain: Int) {
        let end = chains[chain].renewsAt
        let product = product(chain)
        let isTrial = transactions[latest(chain)].offer?.type == 1
        let days = app.graceDays == 0 || isTrial ? 0 : grace(of: product)
        let until = days > 0 ? end.adding(milliseconds: pace.duration(days: days)) : nil
        for place in [chain] + followers(chain) {
            chains[place].isInRetry = true
            chains[place].graceUntil = until
            chains[place].expirationIntent = until == nil ? 2 : nil
            if let until { chains[place].graces.append((from: end, until: until)) }
            chains[place].epoch += 1
        }
        let epoch = chains[chain].epoch
        if let until { agenda.add(.graceEnd(chain: chain, epoch: epoch), at: until) }
        agenda.add(
            .retryEnd(chain: chain, epoch: epoch),
            at: end.adding(milliseconds: pace.duration(days: 60)))
        tellFamily("DID_FAIL_TO_RENEW", until == nil ? nil : "GRACE_PERIOD", on: chain)
    }

    /// Plans of a week have at most six days of grace.
    private func grace(of product: Product) -> Int64 {
        product.isWeekly ? (app.graceDays <= 3 ? 3 : 6) : app.graceDays
    }

    /// Grace ends, and the store goes on trying.
    mutating func endGrace(_ chain: Int) {
        for place in [chain] + followers(chain) {
            chains[place].graceUntil = nil
            chains[place].expirationIntent = 2
        }
        tellFamily("GRACE_PERIOD_EXPIRED", nil, on: chain)
    }

    /// The subscription is over.
    mutating func expire(_ chain: Int, intent: Int64, subtype: String?) {
        for place in [chain] + followers(chain) {
            chains[place].isInRetry = false
            chains[place].graceUntil = nil
            chains[place].expirationIntent = intent
            chains[place].isOver = true
            chains[place].epoch += 1
        }
        tellFamily("EXPIRED", subtype, on: chain)
    }

    /// The members who take part in a purchaser's subscription.
    func followers(_ chain: Int) -> [Int] {
        chains[chain].members.filter { chains[$0].sharedFrom == chain && !chains[$0].isOver }
    }
}
