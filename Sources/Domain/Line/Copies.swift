/// A statement that can be signed anew.
protocol Signed: Sendable, Hashable {
    var signedAt: Instant { get set }
    var flags: [String] { get set }
}

extension TransactionStatement: Signed {}
extension RenewalStatement: Signed {}

/// One signed copy of a statement, ordered by how much it counts.
struct Copy<Content: Signed>: Sendable, Hashable {
    /// Kept elsewhere, so that a copy is small to move while many are put in order.
    indirect enum Kept: Sendable, Hashable {
        case content(Content)

        var content: Content {
            switch self {
            case .content(let content): content
            }
        }
    }

    let kept: Kept
    let fingerprint: Fingerprint
    let source: Source
    let signedAt: Instant

    var content: Content { kept.content }

    init(_ content: Content, _ fingerprint: Fingerprint, from source: Source) {
        kept = .content(content)
        self.fingerprint = fingerprint
        self.source = source
        signedAt = content.signedAt
    }

    /// The same statement signed at another time, with a fingerprint and a source of its own.
    func resigned(_ signedAt: Instant, _ fingerprint: Fingerprint, from source: Source) -> Copy {
        var content = content
        content.signedAt = signedAt
        content.flags = []
        return Copy(content, fingerprint, from: source)
    }

    /// Whether the right copy outweighs the left one (R3): signed later; then the weightier
    /// source; then the lower fingerprint.
    static func isOutweighed(_ left: Copy, by right: Copy) -> Bool {
        if left.signedAt != right.signedAt { return left.signedAt < right.signedAt }
        if left.source != right.source { return right.source < left.source }
        return right.fingerprint < left.fingerprint
    }
}

/// The copies of one statement's subject, lightest first; each fingerprint once.
struct Copies<Content: Signed>: Sendable, Hashable {
    private(set) var inOrder: [Copy<Content>] = []

    var newest: Copy<Content>? { inOrder.last }

    /// Adds a copy whose fingerprint is not yet among them.
    mutating func insert(_ copy: Copy<Content>) {
        inOrder.insert(copy, at: place(of: copy))
    }

    /// Adds the copy that a confirmation stands for.
    mutating func confirm(
        _ confirmation: Confirmation, by fingerprint: Fingerprint, from source: Source
    ) {
        guard let known = copy(confirmation.statement) else { return }
        insert(known.resigned(confirmation.signedAt, fingerprint, from: source))
    }

    /// Moves a copy to the place that a weightier source gives it.
    mutating func strengthen(_ fingerprint: Fingerprint, by source: Source) {
        guard let place = inOrder.lastIndex(where: { $0.fingerprint == fingerprint }),
            source < inOrder[place].source
        else { return }
        let copy = inOrder.remove(at: place)
        insert(Copy(copy.content, fingerprint, from: source))
    }

    /// The copy of this fingerprint.
    func copy(_ fingerprint: Fingerprint) -> Copy<Content>? {
        inOrder.last { $0.fingerprint == fingerprint }
    }

    /// The copy that a further one would follow.
    func predecessor(of copy: Copy<Content>) -> Copy<Content>? {
        let place = place(of: copy)
        return place > 0 ? inOrder[place - 1] : nil
    }

    private func place(of copy: Copy<Content>) -> Int {
        // Copies mostly arrive in order.
        guard let newest, Copy.isOutweighed(copy, by: newest) else { return inOrder.count }
        return inOrder.firstPlace { Copy.isOutweighed(copy, by: $0) }
    }
}

extension Array {
    /// The first place at which a condition holds that holds at every later one too; the count
    /// when it holds nowhere.
    func firstPlace(where holds: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension TransactionStatement {
    /// This statement with its newer copies' members laid over it (R3).
    ///
    /// Absence takes nothing back, but for revocation (seats taken back too) and upgrade, which
    /// only the newest copy that is not partial says.
    func overlaid(by newer: TransactionStatement) -> TransactionStatement {
        var merged = newer
        merged.webOrderLineItem = newer.webOrderLineItem ?? webOrderLineItem
        merged.group = newer.group ?? group
        merged.originallyPurchasedAt = newer.originallyPurchasedAt ?? originallyPurchasedAt
        merged.expiresAt = newer.expiresAt ?? expiresAt
        merged.quantity = newer.quantity ?? quantity
        merged.seats = seats?.overlaid(by: newer.seats) ?? newer.seats
        merged.additionalReason = newer.additionalReason ?? additionalReason
        merged.type = newer.type ?? type
        merged.ownership = newer.ownership ?? ownership
        merged.token = newer.token ?? token
        merged.offerType = newer.offerType ?? offerType
        merged.offerIdentifier = newer.offerIdentifier ?? offerIdentifier
        merged.offerDiscountType = newer.offerDiscountType ?? offerDiscountType
        merged.offerPeriod = newer.offerPeriod ?? offerPeriod
        merged.storefront = newer.storefront ?? storefront
        merged.reason = newer.reason ?? reason
        merged.priceMilliunits = newer.priceMilliunits ?? priceMilliunits
        merged.currency = newer.currency ?? currency
        merged.billingPlan = newer.billingPlan ?? billingPlan
        merged.commitmentExpiresAt = newer.commitmentExpiresAt ?? commitmentExpiresAt
        merged.billingPeriodNumber = newer.billingPeriodNumber ?? billingPeriodNumber
        merged.totalBillingPeriods = newer.totalBillingPeriods ?? totalBillingPeriods
        merged.advancedCommerce = newer.advancedCommerce ?? advancedCommerce
        merged.previousOriginal = newer.previousOriginal ?? previousOriginal
        if newer.isPartial {
            merged.isPartial = isPartial
            merged.isUpgraded = newer.isUpgraded ?? isUpgraded
            if newer.revokedAt == nil {
                merged.revokedAt = revokedAt
                merged.revocationReason = revocationReason
                merged.revocationType = revocationType
                merged.revocationPercentage = revocationPercentage
            }
        }
        if !flags.isEmpty { merged.flags = Array(Set(flags).union(newer.flags)).sorted() }
        return merged
    }

    /// What it says apart from its signing and our caveats.
    var saying: TransactionStatement {
        var bare = self
        bare.signedAt = .distantPast
        bare.flags = []
        bare.appAccountToken = nil
        return bare
    }
}

extension RenewalStatement {
    /// This statement with its newer copies' members laid over it (R3).
    ///
    /// Absence takes nothing back, but for grace, expiration intent and billing retry.
    func overlaid(by newer: RenewalStatement) -> RenewalStatement {
        var merged = newer
        merged.product = newer.product ?? product
        merged.renewsProduct = newer.renewsProduct ?? renewsProduct
        merged.willRenew = newer.willRenew ?? willRenew
        merged.priceIncreaseStatus = newer.priceIncreaseStatus ?? priceIncreaseStatus
        merged.offerType = newer.offerType ?? offerType
        merged.offerIdentifier = newer.offerIdentifier ?? offerIdentifier
        merged.renewsAt = newer.renewsAt ?? renewsAt
        merged.renewalPriceMilliunits = newer.renewalPriceMilliunits ?? renewalPriceMilliunits
        merged.currency = newer.currency ?? currency
        merged.recentStartAt = newer.recentStartAt ?? recentStartAt
        merged.renewalQuantity = newer.renewalQuantity ?? renewalQuantity
        merged.renewalBillingPlan = newer.renewalBillingPlan ?? renewalBillingPlan
        merged.commitmentWillRenew = newer.commitmentWillRenew ?? commitmentWillRenew
        merged.commitmentRenewsProduct = newer.commitmentRenewsProduct ?? commitmentRenewsProduct
        merged.commitmentRenewsAt = newer.commitmentRenewsAt ?? commitmentRenewsAt
        merged.advancedCommerce = newer.advancedCommerce ?? advancedCommerce
        merged.token = newer.token ?? token
        return merged
    }

    /// What it says apart from its signing and our caveats.
    var saying: RenewalStatement {
        var bare = self
        bare.signedAt = .distantPast
        bare.flags = []
        bare.appAccountToken = nil
        return bare
    }
}
