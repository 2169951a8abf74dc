/// What rows can be told apart by.
public enum Dimension: String, Sendable, Hashable, CaseIterable {
    case product, plan, group, storefront, currency, offer, app, reason
    case day, week, month

    /// Whether it is a part of time.
    public var isTime: Bool { self == .day || self == .week || self == .month }
}
