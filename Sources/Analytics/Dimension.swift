import Domain

/// What rows can be told apart by.
public enum Dimension: String, Sendable, Hashable, CaseIterable {
    case product, plan, group, storefront, currency, offer, app, reason
    case day, week, month
    /// Days since a person's beginning, and the number of a paid period: some metrics tell their rows
    /// apart by them, unasked.
    case age, period, projection

    /// Those that can be asked for.
    public static let askable = allCases.filter { ![.age, .period, .projection].contains($0) }

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
            case .reason, .day, .week, .month, .age, .period, .projection: break
            }
        }
        return key
    }
}
