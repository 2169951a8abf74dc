/// All exchange rates that the record holds up to a position: what decides conversions.
public struct ExchangeRates: Sendable, Hashable {
    /// The base of the rates that are read and written here.
    public static let base = "EUR"
    /// How old a rate may be, since none is published on weekends and holidays. Units: days.
    public static let oldest: Int64 = 7

    /// The last entry folded.
    public private(set) var position = Position.start
    private var days: [Day: [String: ExactDecimal]] = [:]

    /// No rates yet.
    public init() {}

    /// Whether no rate is known.
    public var isEmpty: Bool { days.isEmpty }

    /// Takes one more entry in: what is set again is corrected. Entries of one day come in order.
    public mutating func apply(_ entry: Entry) {
        guard case .rates(let set) = entry.event.content else { return }
        position = max(position, entry.position)
        apply(set)
    }

    mutating func apply(_ set: RatesSet) {
        guard set.base == ExchangeRates.base else { return }
        days[set.day, default: [:]].merge(set.values) { $1 }
    }

    /// What of these rates says something new; `nil` when all of it is known.
    public func news(in set: RatesSet) -> RatesSet? {
        let known = days[set.day] ?? [:]
        var news = set
        news.values = set.values.filter { known[$0.key] != $0.value }
        return news.values.isEmpty ? nil : news
    }

    /// What one unit of the base is worth in a currency on a day: by that day's rate, or by the
    /// latest before it that is not too old.
    ///
    /// - Shape: `nil` when there is none; never asked about the base itself.
    public func value(of currency: String, on day: Day) -> ExactDecimal? {
        for age in 0...ExchangeRates.oldest {
            if let value = days[day.adding(-age)]?[currency] { return value }
        }
        return nil
    }

    /// The streams that decide conversions of some days.
    public static func streams(of days: ClosedRange<Day>) -> [StreamID] {
        let first = days.lowerBound.adding(-oldest).year
        return (first...max(first, days.upperBound.year)).map { .rates(base: base, year: $0) }
    }
}
