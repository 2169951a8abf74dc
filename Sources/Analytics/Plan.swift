import Domain

/// How a plan's price becomes a month's (metrics §3.2).
public enum Profile: String, Sendable, Hashable, CaseIterable {
    /// A year has 365 days and 52 weeks.
    case calendar
    /// As RevenueCat's charts count.
    case revenuecat
}

/// How long a subscription's plan is.
struct Plan: Sendable, Hashable {
    /// An ISO 8601 duration, or `P<n>D` when it was inferred.
    let name: String
    /// Whether the catalogue does not say it, so that it was read from a period's dates.
    let isInferred: Bool

    /// The plan of this name.
    init(name: String) {
        self.name = name
        isInferred = false
    }

    /// The plan of a period: a commitment's is a month, else what the catalogue says, else what its
    /// days come nearest to.
    init(of period: Period, _ settings: Settings) {
        if period.installment != nil {
            name = "P1M"
            isInferred = false
        } else if let plan = settings.product(period.product, at: period.purchasedAt)?.plan {
            name = plan
            isInferred = false
        } else {
            name = Plan.inferred(period)
            isInferred = true
        }
    }

    private static func inferred(_ period: Period) -> String {
        let end = period.expiresAt ?? period.purchasedAt
        let span = end.milliseconds - period.purchasedAt.milliseconds
        let days = max(0, (span + 43_200_000) / 86_400_000)
        switch days {
        case 0...1: return "P1D"
        case 3: return "P3D"
        case 6...8: return "P1W"
        case 12...16: return "P2W"
        case 27...33: return "P1M"
        case 58...62: return "P2M"
        case 88...95: return "P3M"
        case 179...185: return "P6M"
        case 363...375: return "P1Y"
        default: return "P\(days)D"
        }
    }

    /// Of how many days it is, when it is of days; weeks are seven.
    private var days: Int64? {
        guard name.hasPrefix("P"), let unit = name.last,
            let count = Int64(name.dropFirst().dropLast()), count > 0
        else { return nil }
        switch unit {
        case "D": return count
        case "W": return count * 7
        default: return nil
        }
    }

    /// Of how many months it is, when it is of months; years are twelve.
    private var months: Int64? {
        guard name.hasPrefix("P"), let unit = name.last,
            let count = Int64(name.dropFirst().dropLast()), count > 0
        else { return nil }
        switch unit {
        case "M": return count
        case "Y": return count * 12
        default: return nil
        }
    }

    /// What its price is multiplied by to be a month's.
    func multiplier(_ profile: Profile) -> Fraction {
        if let months { return Fraction(Int64(1), months) }
        guard let days else { return Fraction(Int64(1), Int64(1)) }
        switch (profile, days) {
        case (.calendar, 7): return Fraction(Int64(52), Int64(12))
        case (.calendar, 14): return Fraction(Int64(26), Int64(12))
        case (.calendar, 28): return Fraction(Int64(13), Int64(12))
        case (.calendar, _): return Fraction(365, 12 * days)
        case (.revenuecat, 1): return Fraction(Int64(30), Int64(1))
        case (.revenuecat, 3): return Fraction(Int64(10), Int64(1))
        case (.revenuecat, _): return Fraction(28, days)
        }
    }

    /// When its period of this number, from 1, begins by the calendar after the first one began.
    func start(of number: Int64, after first: Instant) -> Instant {
        if let days { return first.adding(days: days * (number - 1)) }
        return first.adding(months: (months ?? 1) * (number - 1))
    }

    /// How long it is, for counting periods. Units: milliseconds; months as twelfths of a year of
    /// 365.25 days.
    var milliseconds: Int64 {
        if let days { return days * 86_400_000 }
        return (months ?? 1) * 2_629_800_000
    }
}
