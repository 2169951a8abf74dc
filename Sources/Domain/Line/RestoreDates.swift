extension Charge {
    /// Charges by purchase date, those that carry a restore date put where they belong (R4).
    ///
    /// Receipts name for some rows when they were restored in place of when they were charged. By
    /// expiry, each such charge begins at the end of the one before, the first at its original
    /// purchase date.
    static func inOrder(_ charges: [Charge]) -> [Charge] {
        var charges = charges
        guard charges.contains(where: \.isDatedByRow) else {
            return charges.sorted { $0.precedes($1) }
        }
        let rows = charges.filter { $0.isDatedByRow && $0.shape == .subscription }
        if rows.contains(where: { $0.isRestored(among: rows) }) {
            charges.sort { $0.expiryPrecedes($1) }
            var end: Instant?
            for index in charges.indices where charges[index].shape == .subscription {
                let charge = charges[index]
                if charge.isDatedByRow, charge.isRestored(among: rows) {
                    charges[index].purchasedAt = charge.begin(after: end)
                }
                end = charge.statement.expiresAt ?? end
            }
        }
        return charges.sorted { $0.precedes($1) }
    }

    /// Whether the date of purchase cannot be one.
    private func isRestored(among rows: [Charge]) -> Bool {
        guard let expiresAt = statement.expiresAt else { return false }
        return purchasedAt >= expiresAt
            || rows.contains {
                $0.purchasedAt == purchasedAt && $0.statement.expiresAt != expiresAt
            }
    }

    private func begin(after end: Instant?) -> Instant {
        end ?? statement.originallyPurchasedAt
            ?? min(
                purchasedAt, statement.expiresAt ?? purchasedAt)
    }

    private func expiryPrecedes(_ other: Charge) -> Bool {
        let (mine, others) = (statement.expiresAt, other.statement.expiresAt)
        if mine != others { return mine ?? .distantFuture < others ?? .distantFuture }
        return precedes(other)
    }
}

extension Source {
    /// Whether it states rows of receipts, which nobody signed one by one.
    var isReceipt: Bool { self == .receipt || self == .importedAnswer }
}
