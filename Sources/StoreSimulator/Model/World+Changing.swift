import Domain

// What customers change about a subscription that goes on, and what the store changes for them.
extension World {
    mutating func cancel(_ chain: Int) -> String? {
        guard chains[chain].autoRenews else { return "renewal is off already" }
        for place in [chain] + followers(chain) { chains[place].autoRenews = false }
        guard chains[chain].isInRetry == true else {
            let subtype = chains[chain].priceIncrease == nil ? "AUTO_RENEW_DISABLED" : nil
            tellFamily("DID_CHANGE_RENEWAL_STATUS", subtype, on: chain)
            return nil
        }
        // While the store tries to collect, it ends at once, and grace with it.
        for place in [chain] + followers(chain) { endGraceNow(place) }
        expire(chain, intent: 1, subtype: "VOLUNTARY")
        return nil
    }

    /// Ends access by grace at the instant at which what follows will be signed.
    mutating func endGraceNow(_ chain: Int) {
        let instant = max(now, chains[chain].stamp.adding(milliseconds: 1))
        for index in chains[chain].graces.indices where chains[chain].graces[index].until > instant
        {
            chains[chain].graces[index].until = max(chains[chain].graces[index].from, instant)
        }
    }

    mutating func resume(_ chain: Int) -> String? {
        guard !chains[chain].autoRenews else { return "renewal is on already" }
        for place in [chain] + followers(chain) { chains[place].autoRenews = true }
        tellFamily("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", on: chain)
        return nil
    }

    mutating func change(_ chain: Int, to id: String) -> String? {
        guard let next = products[id], next.group == chains[chain].group else {
            return "no product of the group is called \(id)"
        }
        let current = product(chain)
        if id == current.id {
            guard chains[chain].nextProduct != id else { return "it is that product already" }
            chains[chain].nextProduct = id
            tell("DID_CHANGE_RENEWAL_PREF", nil, on: chain)
            return nil
        }
        guard chains[chain].isInRetry != true, now < chains[chain].renewsAt,
            transactions[latest(chain)].purchasedAt < now
        else { return "the period is not one that can be changed" }
        let isUp = next.level < current.level
        let isAcross = next.level == current.level && next.plan == current.plan
        guard isUp || isAcross else {
            chains[chain].nextProduct = id
            tell("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", on: chain)
            return nil
        }
        for place in [chain] + followers(chain) {
            let old = latest(place)
            transactions[old].isUpgraded = true
            touch(old)
        }
        chains[chain].anchorDay = Pace.day(of: now)
        begin(next, on: chain, reason: "PURCHASE")
        tellFamily("DID_CHANGE_RENEWAL_PREF", "UPGRADE", on: chain)
        return nil
    }

    /// What is owed is collected, now that the bank pays.
    mutating func recover(_ person: Int) -> String? {
        people[person].cardWorks = true
        for chain in people[person].chains
        where chains[chain].isInRetry == true && !chains[chain].isOver
            && chains[chain].sharedFrom == nil
        {
            renew(chain, recovering: true)
        }
        return nil
    }

    mutating func raisePrice(_ chain: Int, to price: Int64, needsConsent: Bool) -> String? {
        guard chains[chain].autoRenews, chains[chain].isInRetry != true else {
            return "it does not renew"
        }
        chains[chain].priceIncrease = Chain.PriceIncrease(
            price: price, hasConsent: !needsConsent, needsConsent: needsConsent)
        tell("PRICE_INCREASE", needsConsent ? "PENDING" : "ACCEPTED", on: chain)
        return nil
    }

    mutating func consent(_ chain: Int) -> String? {
        guard needsConsent(chain) else { return "nobody asked" }
        chains[chain].priceIncrease?.hasConsent = true
        tell("PRICE_INCREASE", "ACCEPTED", on: chain)
        return nil
    }

    /// Moves the end of the period; whether that is possible.
    mutating func extend(_ chain: Int, days: Int64) -> Bool {
        let place = latest(chain)
        guard chains[chain].isInRetry != true, !chains[chain].isOver, now < chains[chain].renewsAt,
            transactions[place].price > 0, transactions[place].revocation == nil,
            let end = transactions[place].expiresAt
        else { return false }
        let later = end.adding(milliseconds: pace.duration(days: days))
        for other in [chain] + followers(chain) {
            let place = latest(other)
            transactions[place].expiresAt = later
            transactions[place].accessUntil = later
            touch(place)
            chains[other].extensions.append(now)
        }
        settle(chain, until: later)
        for member in followers(chain) { chains[member].renewsAt = later }
        tellFamily("RENEWAL_EXTENDED", nil, on: chain)
        return true
    }
}
