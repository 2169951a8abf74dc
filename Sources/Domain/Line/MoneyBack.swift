/// Money that went back for one payment, and perhaps was taken again (R15).
public struct MoneyBack: Sendable, Hashable {
    /// The payment's transaction.
    public var transaction: String
    /// When access was taken back, which dates the refund.
    public var at: Instant
    /// The refunded share. Units: thousandths of a percent.
    public var share: Int64
    /// What the payment was. Units: milliunits of the period's currency; `nil` when not known.
    public var priceMilliunits: Int64?
    /// The first signing that said that it is not refunded any more.
    public var reversedAt: Instant?
}

/// One time that the end of a period was put off.
public struct Extension: Sendable, Hashable {
    /// When it was signed first.
    public var at: Instant
    /// By how much. Units: milliseconds; 0 when the earlier end is not known.
    public var milliseconds: Int64
}

extension MoneyBack {
    /// What the copies of one transaction say of money that went back, by signing.
    ///
    /// Statements that follow each other without a reversal between them are one refund, whose date
    /// and share the newest of them says.
    static func history(_ copies: [Copy<TransactionStatement>], price: Int64?) -> [MoneyBack] {
        guard copies.contains(where: { $0.content.revokedAt != nil }) else { return [] }
        var history: [MoneyBack] = []
        var merged: TransactionStatement?
        for copy in copies {
            let now = merged?.overlaid(by: copy.content) ?? copy.content
            merged = now
            let isOpen = history.last.map { $0.reversedAt == nil } ?? false
            if now.isRefund, let at = now.revokedAt {
                if isOpen { history.removeLast() }
                history.append(
                    MoneyBack(
                        transaction: now.transaction, at: at, share: now.refundShare,
                        priceMilliunits: price))
            } else if isOpen {
                history[history.count - 1].reversedAt = copy.signedAt
            }
        }
        return history
    }
}

extension Extension {
    /// How copies and notices put off the end of a period, by signing.
    static func history(
        _ copies: [Copy<TransactionStatement>], _ notices: [(at: Instant, end: Instant?)]
    ) -> [Extension] {
        guard copies.count > 1 || !notices.isEmpty else { return [] }
        let stated = copies.compactMap { copy in
            copy.content.expiresAt.map { (at: copy.signedAt, end: Optional($0), isNotice: false) }
        }
        let heard = notices.map { (at: $0.at, end: $0.end, isNotice: true) }
        var latest: Instant?
        var history: [Extension] = []
        // A notice comes with the copy that it speaks of.
        let words = (stated + heard).sorted { left, right in
            left.at != right.at ? left.at < right.at : !left.isNotice && right.isNotice
        }
        for word in words {
            let by = word.end.flatMap { end in latest.map { end.milliseconds - $0.milliseconds } }
            latest = [latest, word.end].compactMap(\.self).max()
            guard (by ?? 0) > 0 || word.isNotice else { continue }
            if let last = history.last, last.at == word.at {
                history[history.count - 1].milliseconds += max(by ?? 0, 0)
            } else {
                history.append(Extension(at: word.at, milliseconds: max(by ?? 0, 0)))
            }
        }
        return history
    }
}
