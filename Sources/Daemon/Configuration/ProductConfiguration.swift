/// One product of the catalogue.
struct ProductConfiguration: Sendable, Equatable {
    /// Apple's product id.
    var id: String
    var terms: ProductTerms
    /// Unique, in the order written; may be empty.
    var entitlements: [String]
}

/// What kind a product is, with what that kind alone has.
enum ProductTerms: Sendable, Equatable {
    /// `level` counts from 1, the highest service; nil when the catalogue does not say.
    case autoRenewable(group: String, level: Int?, plan: CalendarLength)
    case nonConsumable
    case nonRenewing(accessDuration: CalendarLength)
    case consumable
}

/// A length in calendar units.
///
/// - Source: ISO 8601, durations, without a time part: `P1W`, `P1M`, `P1Y`, `P90D`.
struct CalendarLength: Sendable, Equatable, CustomStringConvertible {
    /// Years are 12 of them.
    var months: Int
    /// Weeks are 7 of them.
    var days: Int
    /// As it was written.
    var description: String

    /// Nil when it is no such duration, nothing at all, or longer than a hundred years.
    init?(_ text: String) {
        guard text.first == "P", text.count > 1 else { return nil }
        (months, days, description) = (0, 0, text)
        var digits = ""
        var units = Substring("YMWD")
        for character in text.dropFirst() {
            if "0"..."9" ~= character {
                digits.append(character)
                continue
            }
            guard let number = Int(digits), number <= 36_525,
                let place = units.firstIndex(of: character)
            else { return nil }
            units = units[units.index(after: place)...]
            digits = ""
            switch character {
            case "Y": months += 12 * number
            case "M": months += number
            case "W": days += 7 * number
            default: days += number
            }
        }
        guard digits.isEmpty, months + days > 0, months <= 1_200, days <= 36_525 else { return nil }
    }
}
