import Domain
import TestLives

/// One line's life of renewals, decided by its number alone: plans, countries, trials, price rises,
/// refunds and cancellations as a shop has them.
struct Subscriber {
    /// The plans of its products.
    static let plans = ["pro.monthly": "P1M", "pro.weekly": "P1W", "pro.yearly": "P1Y"]
    /// When the first of all begin: 2022-01-01.
    static let dawn = Instant(milliseconds: 1_640_995_200_000)
    /// How long they go on beginning. Units: days.
    static let span = 1_400

    private static let countries = [
        ("USA", "USD"), ("DEU", "EUR"), ("FRA", "EUR"), ("GBR", "GBP"), ("JPN", "JPY"),
    ]

    private let number: Int64
    private let product: String
    private let days: Int64
    private let price: Int64
    private let country: (storefront: String, currency: String)
    private let start: Instant
    private let hasTrial: Bool
    private let riseAt: Int64
    private let refundedAt: Int64
    private let leaves: Bool
    /// How many periods it has.
    let periods: Int64

    /// A line of a number.
    init(_ number: Int64) {
        var random = SplitMix64(seed: UInt64(number))
        self.number = number
        let kind = random.below(10)
        (product, days, price) =
            kind == 0
            ? ("pro.yearly", 365, 59_990)
            : kind == 1 ? ("pro.weekly", 7, 2_990) : ("pro.monthly", 30, 9_990)
        periods = 1 + Int64(random.below(kind == 0 ? 3 : kind == 1 ? 40 : 24))
        country = Subscriber.countries[random.below(Subscriber.countries.count)]
        start = Subscriber.dawn.adding(
            milliseconds: Int64(random.below(Subscriber.span * 86_400)) * 1_000)
        hasTrial = random.once(in: 3)
        riseAt = random.once(in: 5) ? 6 : .max
        refundedAt = random.once(in: 33) ? periods - 1 : .max
        leaves = random.once(in: 2)
    }

    /// When a period is bought, from 0.
    func purchase(_ period: Int64) -> Instant { start.adding(days: period * days) }

    /// What the record holds of a period, in order.
    func contents(_ period: Int64) -> [(content: Event.Content, kind: Kind)] {
        let from = purchase(period)
        let isTrial = hasTrial && period == 0
        var statement = TransactionStatement(
            transaction: "\(number)-\(period)", original: "\(number)", bundle: Forge.bundle,
            product: product, purchasedAt: from, signedAt: from, environment: .production)
        statement.expiresAt = from.adding(days: days)
        statement.type = "Auto-Renewable Subscription"
        statement.group = "20500000"
        statement.ownership = "PURCHASED"
        // One in ten has another's token: a customer with two lines.
        statement.token = CustomerNumber(number % 10 == 9 ? number : number + 1)
        statement.reason = period == 0 ? "PURCHASE" : "RENEWAL"
        statement.storefront = country.storefront
        statement.currency = country.currency
        statement.priceMilliunits = isTrial ? 0 : period >= riseAt ? price * 5 / 4 : price
        if isTrial {
            statement.offerType = 1
            statement.offerDiscountType = "FREE_TRIAL"
        }
        var found: [(Event.Content, Kind)] = [
            (.transaction(statement), period == 0 ? .purchased : .renewed)
        ]
        if period == refundedAt, !isTrial {
            statement.revokedAt = from.adding(milliseconds: days * Instant.millisecondsPerDay / 2)
            statement.signedAt = from.adding(days: days)
            statement.revocationReason = 0
            found.append((.transaction(statement), .revoked))
        }
        if period == periods - 1, leaves {
            var renewal = RenewalStatement(
                original: "\(number)", signedAt: from.adding(days: days),
                environment: .production)
            renewal.willRenew = false
            renewal.expirationIntent = 1
            found.append((.renewal(renewal), .lapsed))
        }
        return found
    }
}
