import Domain

/// What a period is by every dimension that rows can be told apart by; `nil` where it does not say.
struct Traits: Sendable, Hashable {
    var product: String?
    var plan: String?
    var group: String?
    var storefront: String?
    var currency: String?
    var offer: String?
    var app: String?

    /// What is told apart by some dimensions.
    func key(_ dimensions: [Dimension]) -> [Dimension: String?] {
        var key: [Dimension: String?] = [:]
        for dimension in dimensions where dimension.isTrait {
            key[dimension] = .some(self[dimension])
        }
        return key
    }

    /// What it is by a dimension that is a trait.
    subscript(dimension: Dimension) -> String? {
        get {
            switch dimension {
            case .product: product
            case .plan: plan
            case .group: group
            case .storefront: storefront
            case .currency: currency
            case .offer: offer
            case .app: app
            case .reason, .day, .week, .month, .age, .period, .projection: nil
            }
        }
        set {
            switch dimension {
            case .product: product = newValue
            case .plan: plan = newValue
            case .group: group = newValue
            case .storefront: storefront = newValue
            case .currency: currency = newValue
            case .offer: offer = newValue
            case .app: app = newValue
            case .reason, .day, .week, .month, .age, .period, .projection: break
            }
        }
    }
}

extension MeasuredLine {
    /// What a period is; the line itself where none is meant.
    func traits(of index: Int?) -> Traits {
        guard let index else { return Traits(group: line.group, app: line.bundle) }
        let period = period(index)
        return Traits(
            product: period.product,
            plan: period.shape == .subscription ? plans[index].name : nil,
            group: period.group ?? line.group, storefront: period.storefront,
            currency: period.currency, offer: period.offer, app: period.bundle)
    }
}
