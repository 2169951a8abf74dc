import Domain

/// Something that can be bought.
struct Product: Sendable {
    /// What kind it is, as the daemon's catalogue spells it.
    enum Kind: String, Sendable, CaseIterable {
        case autoRenewable, nonRenewing, consumable, nonConsumable

        /// As transactions spell it.
        var signed: String {
            switch self {
            case .autoRenewable: "Auto-Renewable Subscription"
            case .nonRenewing: "Non-Renewing Subscription"
            case .consumable: "Consumable"
            case .nonConsumable: "Non-Consumable"
            }
        }

        /// As the history's filter spells it.
        var filter: String {
            switch self {
            case .autoRenewable: "AUTO_RENEWABLE"
            case .nonRenewing: "NON_RENEWABLE"
            case .consumable: "CONSUMABLE"
            case .nonConsumable: "NON_CONSUMABLE"
            }
        }
    }

    var id: String
    var kind: Kind
    var group: String?
    /// 1 is the highest.
    var level: Int64 = 1
    var plan: Span?
    /// In milliunits of the customer's currency.
    var price: Int64 = 9_990
    /// The free trial of first buyers, as ISO 8601 writes it.
    var trial: String?
    /// How long a pass gives access.
    var accessDays: Int64?
    var entitlements: [String] = []

    /// Whether a plan is at most a week long, which has a shorter grace.
    var isWeekly: Bool { plan.map { $0.months == 0 && $0.days <= 7 } ?? false }
}
