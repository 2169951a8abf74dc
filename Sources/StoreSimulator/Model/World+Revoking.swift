import Domain

// Access taken back and given back.
extension World {
    /// Gives money back for a transaction, all of it or a share in thousandths of a percent.
    mutating func refund(_ place: Int, percentage: Int64) -> String? {
        let transaction = transactions[place]
        guard transaction.revocation == nil else { return "it is refunded already" }
        guard transaction.ownership == "PURCHASED" else { return "the customer did not pay for it" }
        let isFull = percentage >= 100_000
        revoke(
            place,
            Revocation(
                at: now, reason: 0, type: isFull ? "REFUND_FULL" : "REFUND_PRORATED",
                percentage: min(100_000, percentage)))
        let chain = transaction.chain
        if place == latest(chain) { stop(chain) }
        tell("REFUND", nil, about: place)
        // Members lose what the purchaser got money back for.
        for member in chains[chain].members {
            for copy in chains[member].transactions
            where transactions[copy].purchasedAt == transaction.purchasedAt
                && transactions[copy].revocation == nil
            {
                revoke(copy, Revocation(at: now, reason: 0, type: "FAMILY_REVOKE"))
                if copy == latest(member) { stop(member) }
                tell("REVOKE", nil, about: copy)
            }
        }
        return nil
    }

    /// Takes the customer's latest refund back.
    mutating func reverse(_ person: Int) -> String? {
        let refunded = people[person].chains.flatMap { chains[$0].transactions }.filter {
            transactions[$0].revocation?.percentage != nil
        }
        let latest = refunded.max {
            let (one, other) = (transactions[$0], transactions[$1])
            return one.modification < other.modification
        }
        guard let place = latest else { return "nothing was refunded" }
        transactions[place].revocation = nil
        let chain = transactions[place].chain
        let following = chains[chain].transactions.drop { $0 <= place }
            .map { transactions[$0].purchasedAt }.min()
        let before = transactions[place].accessBefore ?? transactions[place].accessUntil
        transactions[place].accessUntil = min(before, following ?? before)
        transactions[place].accessBefore = nil
        touch(place)
        if place == self.latest(chain), chains[chain].group != nil {
            reopen(chain)
        }
        tell("REFUND_REVERSED", nil, about: place)
        return nil
    }

    /// A refunded period that runs on: it ends as if it had been cancelled.
    private mutating func reopen(_ chain: Int) {
        guard now < chains[chain].renewsAt else {
            chains[chain].expirationIntent = 1
            chains[chain].isInRetry = false
            return
        }
        settle(chain, until: chains[chain].renewsAt)
    }

    /// Takes access back from now on.
    mutating func revoke(_ place: Int, _ revocation: Revocation) {
        transactions[place].revocation = revocation
        transactions[place].accessBefore = transactions[place].accessUntil
        transactions[place].accessUntil = max(
            transactions[place].purchasedAt, min(transactions[place].accessUntil, revocation.at))
        touch(place)
    }

    /// Nothing happens by itself any more.
    private mutating func stop(_ chain: Int) {
        guard chains[chain].group != nil, !chains[chain].isOver else { return }
        endGraceNow(chain)
        chains[chain].autoRenews = false
        chains[chain].isOver = true
        chains[chain].isInRetry = nil
        chains[chain].graceUntil = nil
        chains[chain].expirationIntent = nil
        chains[chain].epoch += 1
    }

    // MARK: Families

    mutating func share(_ chain: Int, with id: String) -> String? {
        let owner = chains[chain].person
        let environment = people[owner].environment
        let member = peopleById[id] ?? add(id, environment: environment)
        guard member != owner, people[member].environment == environment else {
            return "that is no family member"
        }
        let source = transactions[latest(chain)]
        guard let end = source.expiresAt, now < end, chains[chain].isInRetry != true,
            source.purchasedAt <= now
        else { return "there is nothing to share" }
        guard !followers(chain).contains(where: { chains[$0].person == member }) else {
            return "it is shared already"
        }
        let former = people[member].chains.last {
            chains[$0].group == chains[chain].group && chains[$0].sharedFrom != nil
        }
        let place =
            former
            ?? open(source.product, group: chains[chain].group, by: member, sharedFrom: chain)
        chains[place].sharedFrom = chain
        if !chains[chain].members.contains(place) { chains[chain].members.append(place) }
        begin(source.product, on: place, reason: "PURCHASE", at: now, until: end)
        tell("SUBSCRIBED", former == nil ? "INITIAL_BUY" : "RESUBSCRIBE", on: place)
        return nil
    }

    mutating func unshare(_ chain: Int) -> String? {
        let members = followers(chain)
        guard !members.isEmpty else { return "it is shared with nobody" }
        for member in members {
            let place = latest(member)
            revoke(place, Revocation(at: now, reason: 0, type: "FAMILY_REVOKE"))
            stop(member)
            chains[chain].members.removeAll { $0 == member }
            tell("REVOKE", nil, about: place)
        }
        return nil
    }
}
