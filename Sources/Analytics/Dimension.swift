import Domain

/// What rows can be told apart by.
public enum Dimension: String, Sendable, Hashable, CaseIterable {
    case product, plan, group, storefront, currency, offer, app, reason
    case day, week, month

    /// Whether it is a part of time.
    public var isTime: Bool { self == .day || self == .week || self == .month }
}

extension MeasuredLine {
    /// What a period is by the asked dimensions; `nil` where it does not say.
    func key(of index: Int?, _ dimensions: [Dimension]) -> [Dimension: String?] {
        var key: [Dimension: String?] = [:]
        let period = index.map { self.period($0) }
        for dimension in dimensions {
            switch dimension {
            case .product: key[dimension] = .some(period?.product)
            case .plan:
                key[dimension] = .some(
                    period.flatMap {
                        $0.shape == .subscription ? Plan(of: $0, settings).name : nil
                    })
            case .group: key[dimension] = .some(period?.group ?? line.group)
            case .storefront: key[dimension] = .some(period?.storefront)
            case .currency: key[dimension] = .some(period?.currency)
            case .offer: key[dimension] = .some(period?.offer)
            case .app: key[dimension] = .some(period?.bundle ?? line.bundle)
            case .reason, .day, .week, .month: break
            }
        }
        return key
    }
}
