public import Domain

/// A rate that the record lacks.
public struct MissingRate: Sendable, Hashable, Comparable {
    /// ISO 4217.
    public let currency: String
    /// The day whose rate, or that of the week before it, is needed.
    public let day: Day

    /// The order of days, then of currencies.
    public static func < (left: MissingRate, right: MissingRate) -> Bool {
        (left.day, left.currency) < (right.day, right.currency)
    }
}

/// How amounts become those of one currency: by the rates of the days on which they were paid.
struct Conversion: Sendable {
    /// The currency asked for; `nil` when amounts stay as they are.
    let currency: String?
    let rates: ExchangeRates
    /// Rates that were needed and are not there.
    private(set) var missing: Set<MissingRate> = []

    /// The most missing rates that are named.
    static let mostMissing = 100

    init(_ currency: String?, _ rates: ExchangeRates) {
        self.currency = currency
        self.rates = rates
    }

    /// What one unit of a currency paid on a day is worth; `nil` without a rate, which is noted.
    mutating func factor(of paid: String, on day: Day) -> Fraction? {
        guard let currency, currency != paid else { return .one }
        // Through the base: so many of the wanted one over so many of the paid one.
        let (to, from) = (value(currency, day), value(paid, day))
        guard let to, let from else { return nil }
        return Fraction(to.numerator * from.denominator, to.denominator * from.numerator)
    }

    private mutating func value(_ currency: String, _ day: Day) -> Fraction? {
        guard currency != ExchangeRates.base else { return .one }
        guard let value = rates.value(of: currency, on: day) else {
            if missing.count < Conversion.mostMissing {
                missing.insert(MissingRate(currency: currency, day: day))
            }
            return nil
        }
        return Fraction(value.mantissa, value.divisor)
    }
}
