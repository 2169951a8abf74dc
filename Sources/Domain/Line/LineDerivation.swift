extension Subscription {
    /// The line that the statements describe.
    public func line() -> Line {
        let charges = charges()
        return Line(
            stream: stream, position: position, periods: periods(charges), intents: intents(),
            claims: claims.sorted { $0.position < $1.position }.map(\.command),
            previousOriginal: charges.last { $0.statement.previousOriginal != nil }?
                .statement.previousOriginal)
    }

    private func intents() -> [Intent] {
        var merged: RenewalStatement?
        var intents: [Intent] = []
        for copy in renewals.inOrder {
            let now = merged?.overlaid(by: copy.content) ?? copy.content
            merged = now
            let intent = Intent(
                signedAt: copy.signedAt, willRenew: now.willRenew,
                nextProduct: now.renewsProduct ?? now.product,
                expirationIntent: now.expirationIntent,
                commitmentWillRenew: now.commitmentWillRenew,
                commitmentNextProduct: now.commitmentRenewsProduct,
                commitmentRenewsAt: now.commitmentRenewsAt)
            // Of several signed at one instant the weightiest, which comes last, speaks.
            if intents.last?.signedAt == copy.signedAt { intents.removeLast() }
            intents.append(intent)
        }
        return intents
    }

    /// What was charged for each period, in order.
    private func charges() -> [Charge] {
        // Ids mostly grow with time, so that little is left to be put in order.
        let charges = transactions.sorted { $0.key < $1.key }.compactMap { Charge($0.value) }
        // Mostly each transaction is a period of its own.
        if Set(charges.map(\.identity)).count == charges.count {
            return Charge.inOrder(charges.map { Charge.joined([$0]) })
        }
        return Charge.inOrder(
            Dictionary(grouping: charges, by: \.identity).values.map(Charge.joined))
    }

    private func periods(_ ordered: [Charge]) -> [Period] {
        let heard = Heard(self)
        var periods: [Period] = []
        for (index, charge) in ordered.enumerated() {
            let next = index + 1 < ordered.count ? ordered[index + 1] : nil
            periods.append(
                period(of: charge, after: periods.last, before: next, heard))
        }
        return periods
    }

    private func period(
        of charge: Charge, after last: Period?, before next: Charge?, _ heard: Heard
    ) -> Period {
        let charge = charge.withoutUpgradeMark(before: next)
        let statement = charge.statement
        let shape = charge.shape
        var flags = statement.flags.filter { $0 == "clock_skew" || $0 == "no_signed_date" }
        let expiresAt = end(of: charge, next: next, heard)
        let from = charge.start(after: last, flags: &flags)
        // A subscription that states no end gives nothing yet, rather than access for ever.
        var until = shape == .subscription ? expiresAt ?? from : nil
        var ending = Period.Ending.expiry
        if shape == .subscription, let next, next.purchasedAt < until ?? .distantFuture {
            until = max(next.purchasedAt, from)
            ending = .succession
        }
        if let revokedAt = charge.revokedAt, revokedAt < until ?? .distantFuture {
            until = max(revokedAt, from)
            ending = .revocation
        }
        if charge.isKnownByRows, let last, let end = last.until, end < from, !hasLapsed(end..<from)
        {
            flags.append("gap_unknown")
        }
        if statement.isUpgraded == true, next == nil { flags.append("successor_missing") }
        var period = Period(
            transaction: charge.aliases[0], aliases: charge.aliases,
            webOrderLineItem: statement.webOrderLineItem, bundle: statement.bundle,
            product: statement.product, group: statement.group, shape: shape,
            purchasedAt: charge.purchasedAt, from: from, expiresAt: expiresAt, until: until,
            ending: ending, grace: nil, retries: [], periodClass: PeriodClass(statement),
            priceMilliunits: charge.paidMilliunits, currency: statement.currency,
            ownership: statement.ownership, token: statement.token, reason: statement.reason,
            revokedAt: charge.revokedAt, isRefunded: charge.isRefunded,
            refundShare: charge.refundShare, isUpgraded: statement.isUpgraded == true,
            seatPayments: charge.seatPayments, installment: statement.installment,
            moneyBack: charge.moneyBack,
            extensions: charge.extensions(
                heard.extensions(of: charge.aliases, in: span(of: charge, before: next))),
            storefront: statement.storefront, offer: statement.offerIdentifier, flags: flags)
        if shape == .subscription, ending == .expiry, let expiresAt {
            let episode = Episode(
                heard, from: charge.purchasedAt, until: next?.purchasedAt, expiresAt: expiresAt,
                isCommitment: period.installment != nil)
            period.grace = episode.grace
            period.retries = episode.retries
        }
        return period
    }

    /// Whether a renewal info signed in a gap says that nothing was paid for it.
    private func hasLapsed(_ gap: Range<Instant>) -> Bool {
        renewals.inOrder.contains {
            gap.contains($0.signedAt)
                && ($0.content.expirationIntent != nil || $0.content.isInBillingRetry == true
                    || $0.content.willRenew == false)
        }
    }

    /// The end of the paid time: Apple's date, or a later one that an extension named (R4).
    private func end(of charge: Charge, next: Charge?, _ heard: Heard) -> Instant? {
        guard let end = charge.statement.expiresAt else { return nil }
        let span = span(of: charge, before: next)
        return max(end, heard.extendedEnd(of: charge.aliases, in: span) ?? end)
    }

    /// From a charge to the next.
    private func span(of charge: Charge, before next: Charge?) -> Range<Instant> {
        charge.purchasedAt..<max(next?.purchasedAt ?? .distantFuture, charge.purchasedAt)
    }
}
