extension Subscription {
    /// The line that the statements describe.
    public func line() -> Line {
        Line(
            stream: stream, position: position, periods: periods(), intents: intents(),
            claims: claims.sorted { $0.position < $1.position }.map(\.command))
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
                expirationIntent: now.expirationIntent)
            // Of several signed at one instant the weightiest, which comes last, speaks.
            if intents.last?.signedAt == copy.signedAt { intents.removeLast() }
            intents.append(intent)
        }
        return intents
    }

    private func periods() -> [Period] {
        let charges = transactions.values.compactMap { Charge($0) }
        let ordered = Charge.inOrder(
            Dictionary(grouping: charges, by: \.identity).values.map(Charge.joined))
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
        if charge.isKnownByRows, let last, let end = last.until, end < from, !hasLapsed(end..<from) {
            flags.append("gap_unknown")
        }
        if statement.isUpgraded == true, next == nil { flags.append("successor_missing") }
        var period = Period(
            transaction: charge.aliases[0], aliases: charge.aliases,
            webOrderLineItem: statement.webOrderLineItem, bundle: statement.bundle,
            product: statement.product, group: statement.group, shape: shape,
            purchasedAt: charge.purchasedAt, from: from, expiresAt: expiresAt, until: until,
            ending: ending, grace: nil, retries: [], periodClass: PeriodClass(statement),
            priceMilliunits: statement.priceMilliunits, currency: statement.currency,
            ownership: statement.ownership, token: statement.token, reason: statement.reason,
            revokedAt: charge.revokedAt, isRefunded: charge.isRefunded,
            refundShare: charge.refundShare, isUpgraded: statement.isUpgraded == true,
            flags: flags)
        if shape == .subscription, ending == .expiry, let expiresAt {
            let episode = Episode(
                heard, from: charge.purchasedAt, until: next?.purchasedAt, expiresAt: expiresAt,
                isCommitment: statement.billingPlan == "MONTHLY")
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
        let begin = charge.purchasedAt
        let span = begin..<max(next?.purchasedAt ?? .distantFuture, begin)
        return max(end, heard.extendedEnd(of: charge.aliases, in: span) ?? end)
    }
}

/// The copies of one transaction, or of several that stand for one period, merged.
struct Charge {
    private(set) var statement: TransactionStatement
    private(set) var aliases: [String]
    var purchasedAt: Instant
    /// Whether a receipt's row says when it was charged, which may be when it was restored.
    private(set) var isDatedByRow: Bool
    private(set) var revokedAt: Instant?
    private(set) var isRefunded: Bool
    private(set) var refundShare: Int64?
    /// The first signing; `nil` when no copy carried its own date.
    private var firstSignedAt: Instant?
    private var copies: [Copy<TransactionStatement>]

    /// The merged copies of one transaction; `nil` without a copy.
    init?(_ copies: Copies<TransactionStatement>) {
        guard let merged = Charge.merged(copies.inOrder) else { return nil }
        self.copies = copies.inOrder
        statement = merged
        aliases = [merged.transaction]
        purchasedAt = merged.purchasedAt
        isDatedByRow = copies.newest?.source.isReceipt == true
        firstSignedAt =
            copies.inOrder.first { !$0.content.flags.contains("no_signed_date") }?.signedAt
        revokedAt = merged.revokedAt
        isRefunded = merged.isRefund
        refundShare = merged.isRefund ? merged.refundShare : nil
        if shape == .permanent || shape == .unstated {
            purchasedAt = merged.originallyPurchasedAt ?? merged.purchasedAt
        }
    }

    /// What copies say together, the lightest first.
    private static func merged(_ copies: [Copy<TransactionStatement>]) -> TransactionStatement? {
        guard let lightest = copies.first else { return nil }
        return copies.dropFirst().reduce(lightest.content) { $0.overlaid(by: $1.content) }
    }

    /// The one period that several transactions stand for (R2).
    ///
    /// - Shape: at least one, of equal identity, in any order.
    static func joined(_ charges: [Charge]) -> Charge {
        precondition(!charges.isEmpty, "nothing to join")
        guard charges.count > 1 else { return charges[0] }
        // The weightiest copy comes first, and decides between equals.
        let charges = charges.sorted { left, right in
            guard let mine = left.copies.last, let others = right.copies.last else { return false }
            return Copy.isOutweighed(others, by: mine)
        }
        var joined = charges[0]
        joined.copies = charges.flatMap(\.copies).sorted { Copy.isOutweighed($0, by: $1) }
        joined.statement = Charge.merged(joined.copies) ?? joined.statement
        joined.aliases = charges.flatMap(\.aliases).sorted(by: Charge.idPrecedes)
        if let first = charges.min(by: { $0.purchasedAt < $1.purchasedAt }) {
            joined.purchasedAt = first.purchasedAt
            joined.isDatedByRow = charges.allSatisfy {
                $0.isDatedByRow || $0.purchasedAt != first.purchasedAt
            }
        }
        joined.firstSignedAt = charges.compactMap(\.firstSignedAt).min()
        // A copy that another device made says nothing of a revocation that this one carries.
        let revoked = charges.filter { $0.revokedAt != nil }
            .min { ($0.revokedAt ?? .distantPast) < ($1.revokedAt ?? .distantPast) }
        joined.revokedAt = revoked?.revokedAt
        joined.isRefunded = revoked?.isRefunded ?? false
        joined.refundShare = revoked?.refundShare
        return joined
    }

    /// Whether receipts alone know it, whose rows may be a selection.
    var isKnownByRows: Bool { copies.allSatisfy { $0.source.isReceipt } }

    var shape: Period.Shape {
        switch statement.type {
        case "Auto-Renewable Subscription": .subscription
        case "Non-Consumable": .permanent
        case "Non-Renewing Subscription": .pass
        case "Consumable": .consumable
        default: statement.expiresAt == nil ? .unstated : .subscription
        }
    }

    /// What makes two transactions one period (R2).
    var identity: String {
        switch shape {
        // Only permanent purchases are restored without an expiry; others begin lines of their own.
        case .permanent, .unstated: "line"
        case .subscription: statement.webOrderLineItem.map { "w" + $0 } ?? "t" + aliases[0]
        case .pass, .consumable: "t" + aliases[0]
        }
    }

    /// This charge; a cancellation at the successor's purchase that comes with the mark of an
    /// upgrade was the upgrade, not a refund (R15).
    func withoutUpgradeMark(before next: Charge?) -> Charge {
        guard statement.isUpgraded == true, statement.revocationType == nil, let revokedAt,
            revokedAt == next?.purchasedAt
        else { return self }
        var upgraded = self
        upgraded.revokedAt = nil
        upgraded.isRefunded = false
        upgraded.refundShare = nil
        return upgraded
    }

    func precedes(_ other: Charge) -> Bool {
        if purchasedAt != other.purchasedAt { return purchasedAt < other.purchasedAt }
        let (mine, others) = (statement.expiresAt, other.statement.expiresAt)
        if mine != others { return mine ?? .distantFuture < others ?? .distantFuture }
        return Charge.idPrecedes(aliases[0], other.aliases[0])
    }

    /// When access begins: for a first purchase dated ahead of its signing, that signing (R12).
    func start(after last: Period?, flags: inout [String]) -> Instant {
        guard let firstSignedAt, firstSignedAt < purchasedAt, statement.reason != "RENEWAL",
            shape != .consumable
        else { return purchasedAt }
        let isFirst = aliases.contains(statement.original)
        let isAfterLapse =
            statement.reason == "PURCHASE" && (last?.until ?? .distantPast) <= firstSignedAt
        guard isFirst || isAfterLapse else { return purchasedAt }
        flags.append("start_in_future")
        return firstSignedAt
    }

    /// Ids are decimal numbers: the shorter is the lower.
    private static func idPrecedes(_ left: String, _ right: String) -> Bool {
        (left.utf8.count, left) < (right.utf8.count, right)
    }
}

extension TransactionStatement {
    /// Whether the revocation that it states gave money back (R15).
    fileprivate var isRefund: Bool {
        guard revokedAt != nil, ownership == nil || ownership == "PURCHASED" else { return false }
        return !["FAMILY_REVOKE", "ASSIGNMENT_REVOKE"].contains(revocationType)
    }

    /// The refunded share; all when Apple does not say.
    fileprivate var refundShare: Int64 {
        min(max(revocationPercentage ?? 100_000, 0), 100_000)
    }
}
