/// The copies of one transaction, or of several that stand for one period, merged.
struct Charge {
    /// The statement, mostly where its one copy keeps it.
    private var kept: Copy<TransactionStatement>.Kept
    private(set) var aliases: [String]
    var purchasedAt: Instant
    /// Whether a receipt's row says when it was charged, which may be when it was restored.
    private(set) var isDatedByRow: Bool
    private(set) var revokedAt: Instant?
    private(set) var isRefunded: Bool
    private(set) var refundShare: Int64?
    /// Money that went back, by date.
    private(set) var moneyBack: [MoneyBack]
    /// What was paid in all.
    private(set) var paidMilliunits: Int64?
    /// Each purchase of seats, by date; empty when it is not about seats.
    private(set) var seatPayments: [Payment] = []
    private let isOfSeats: Bool
    /// The first signing; `nil` when no copy carried its own date.
    private var firstSignedAt: Instant?
    private var copies: [Copy<TransactionStatement>]

    private(set) var statement: TransactionStatement {
        get { kept.content }
        set { kept = .content(newValue) }
    }

    /// The merged copies of one transaction; `nil` without a copy.
    init?(_ copies: Copies<TransactionStatement>) {
        guard let kept = Charge.merged(copies.inOrder) else { return nil }
        self.kept = kept
        let merged = kept.content
        self.copies = copies.inOrder
        aliases = [merged.transaction]
        purchasedAt = merged.purchasedAt
        isDatedByRow = copies.newest?.source.isReceipt == true
        firstSignedAt =
            copies.inOrder.first { !$0.content.flags.contains("no_signed_date") }?.signedAt
        revokedAt = merged.revokedAt
        isRefunded = merged.isRefund
        refundShare = merged.isRefund ? merged.refundShare : nil
        paidMilliunits = merged.paidMilliunits
        moneyBack = MoneyBack.history(copies.inOrder, price: merged.paidMilliunits)
        isOfSeats = merged.isOfSeats
        if shape == .permanent || shape == .unstated {
            purchasedAt = merged.originallyPurchasedAt ?? merged.purchasedAt
        }
    }

    /// What copies say together, the lightest first.
    private static func merged(_ copies: [Copy<TransactionStatement>])
        -> Copy<TransactionStatement>.Kept?
    {
        guard let lightest = copies.first else { return nil }
        guard copies.count > 1 else { return lightest.kept }
        return .content(
            copies.dropFirst().reduce(lightest.content) { $0.overlaid(by: $1.content) })
    }

    /// The one period that several transactions stand for (R2).
    ///
    /// - Shape: at least one, of equal identity, in any order.
    static func joined(_ charges: [Charge]) -> Charge {
        precondition(!charges.isEmpty, "nothing to join")
        guard charges.contains(where: { $0.isOfSeats }) else { return copied(charges) }
        // Copies that restores and other devices make repeat the date and the seats of the one
        // purchase that they stand for; seats that are added in mid-period are a purchase with a
        // date of its own, and only a period of seats (`multiSeatInfo`, or SEAT_ADDITION on any of
        // its transactions) has such. So a revoked copy ends its purchase whatever the other
        // copies say, and the period ends only when all its purchases are revoked.
        let purchases = Dictionary(grouping: charges, by: \.purchase).values
            .map(copied).sorted { $0.precedes($1) }
        return together(purchases)
    }

    /// The charge that these are copies of.
    private static func copied(_ charges: [Charge]) -> Charge {
        guard charges.count > 1 else { return charges[0] }
        // The weightiest copy comes first, and decides between equals.
        let charges = charges.sorted { left, right in
            guard let mine = left.copies.last, let others = right.copies.last else { return false }
            return Copy.isOutweighed(others, by: mine)
        }
        var joined = charges[0]
        joined.copies = charges.flatMap(\.copies).sorted { Copy.isOutweighed($0, by: $1) }
        joined.kept = Charge.merged(joined.copies) ?? joined.kept
        joined.paidMilliunits = joined.statement.paidMilliunits
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
        // Copies are one charge, so it went back once: as the copy tells that is revoked now, or else
        // the one that tells it first.
        let backs = charges.map(\.moneyBack).filter { !$0.isEmpty }
        joined.moneyBack =
            revoked?.moneyBack.isEmpty == false
            ? revoked?.moneyBack ?? [] : backs.min { $0[0].at < $1[0].at } ?? []
        for index in joined.moneyBack.indices {
            joined.moneyBack[index].priceMilliunits = joined.paidMilliunits
        }
        if joined.statement.seats != nil {
            joined.statement.seats?.revokedQuantity =
                charges.compactMap { $0.statement.seats?.revokedQuantity }.max()
        }
        return joined
    }

    /// One period of several purchases of seats, the first one first.
    private static func together(_ purchases: [Charge]) -> Charge {
        var period = purchases[0]
        period.seatPayments = purchases.map(\.seatPayment)
        guard purchases.count > 1 else { return period }
        period.aliases = purchases.flatMap(\.aliases).sorted(by: Charge.idPrecedes)
        period.statement.token = purchases.compactMap(\.statement.token).first
        period.statement.expiresAt = purchases.compactMap(\.statement.expiresAt).max()
        period.paidMilliunits = purchases.reduce(Int64?(0)) { $0?.adding($1.paidMilliunits) }
        let revocations = purchases.compactMap(\.revokedAt)
        let isRevoked = revocations.count == purchases.count
        period.revokedAt = isRevoked ? revocations.max() : nil
        period.isRefunded = isRevoked && purchases.contains(where: \.isRefunded)
        period.refundShare = nil
        period.moneyBack = purchases.flatMap(\.moneyBack).sorted { $0.at < $1.at }
        return period
    }

    /// What the copies of one purchase of seats have in common.
    private var purchase: Purchase {
        Purchase(at: purchasedAt, seats: statement.quantity)
    }

    private struct Purchase: Hashable {
        let at: Instant
        let seats: Int64?
    }

    private var seatPayment: Payment {
        Payment(
            transaction: aliases[0], purchasedAt: purchasedAt, priceMilliunits: paidMilliunits,
            currency: statement.currency, seats: statement.quantity,
            revokedSeats: statement.seats?.revokedQuantity, revokedAt: revokedAt,
            isRefunded: isRefunded, refundShare: refundShare)
    }

    /// How its end was put off; `notices` are those that speak of it.
    func extensions(_ notices: [(at: Instant, end: Instant?)]) -> [Extension] {
        Extension.history(copies, notices)
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
        upgraded.moneyBack.removeAll { $0.at == revokedAt }
        for index in seatPayments.indices where seatPayments[index].revokedAt == revokedAt {
            upgraded.seatPayments[index].revokedAt = nil
            upgraded.seatPayments[index].isRefunded = false
            upgraded.seatPayments[index].refundShare = nil
        }
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
    var isRefund: Bool {
        guard revokedAt != nil, ownership == nil || ownership == "PURCHASED" else { return false }
        return !["FAMILY_REVOKE", "ASSIGNMENT_REVOKE"].contains(revocationType)
    }

    /// The refunded share; all when Apple does not say.
    var refundShare: Int64 {
        min(max(revocationPercentage ?? 100_000, 0), 100_000)
    }
}
