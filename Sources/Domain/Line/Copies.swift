/// One signed copy of a statement, ordered by how much it counts.
struct Copy<Content: Sendable & Hashable>: Sendable, Hashable {
    var content: Content
    var fingerprint: Fingerprint
    var source: Source
    var signedAt: Instant

    /// Makes this the copy that was signed then, with a fingerprint and a source of its own.
    mutating func resign(_ signedAt: Instant, _ fingerprint: Fingerprint, _ source: Source) {
        self.signedAt = signedAt
        self.fingerprint = fingerprint
        self.source = source
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
struct Copies<Content: Sendable & Hashable>: Sendable, Hashable {
    private(set) var inOrder: [Copy<Content>] = []

    var newest: Copy<Content>? { inOrder.last }

    /// Adds a copy. The same fingerprint from a weightier source takes the place of the lighter.
    mutating func insert(_ copy: Copy<Content>) {
        if let known = inOrder.firstIndex(where: { $0.fingerprint == copy.fingerprint }) {
            guard copy.source < inOrder[known].source else { return }
            inOrder.remove(at: known)
        }
        let place = inOrder.firstIndex { Copy.isOutweighed(copy, by: $0) } ?? inOrder.count
        inOrder.insert(copy, at: place)
    }

    /// The copy that a further one would follow.
    func predecessor(of copy: Copy<Content>) -> Copy<Content>? {
        inOrder.last { Copy.isOutweighed($0, by: copy) }
    }

    /// The copy of this fingerprint.
    func copy(_ fingerprint: Fingerprint) -> Copy<Content>? {
        inOrder.first { $0.fingerprint == fingerprint }
    }
}

extension TransactionStatement {
    /// This statement with its newer copies' members laid over it (R3).
    ///
    /// Absence takes nothing back, but for revocation and upgrade, which only the newest copy says.
    func overlaid(by newer: TransactionStatement) -> TransactionStatement {
        var merged = newer
        merged.webOrderLineItem = newer.webOrderLineItem ?? webOrderLineItem
        merged.group = newer.group ?? group
        merged.originallyPurchasedAt = newer.originallyPurchasedAt ?? originallyPurchasedAt
        merged.expiresAt = newer.expiresAt ?? expiresAt
        merged.quantity = newer.quantity ?? quantity
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
        merged.previousOriginal = newer.previousOriginal ?? previousOriginal
        merged.flags = Array(Set(flags).union(newer.flags)).sorted()
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
        merged.renewalBillingPlan = newer.renewalBillingPlan ?? renewalBillingPlan
        merged.commitmentWillRenew = newer.commitmentWillRenew ?? commitmentWillRenew
        merged.commitmentRenewsAt = newer.commitmentRenewsAt ?? commitmentRenewsAt
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
