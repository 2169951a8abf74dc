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

    /// Whether it is what a period itself says.
    var isTrait: Bool {
        switch self {
        case .product, .plan, .group, .storefront, .currency, .offer, .app: true
        case .reason, .day, .week, .month, .age, .period, .projection: false
        }
    }
}

extension MeasuredLine {
    /// What a period is by the asked dimensions; `nil` where it does not say.
    func key(of index: Int?, _ dimensions: [Dimension]) -> [Dimension: String?] {
        traits(of: index).key(dimensions)
    }
}
