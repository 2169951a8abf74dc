public import Domain
import Ledger
public import Postgres
public import Projecting

/// The projection `periods`: every span of access that one charge paid for.
public struct PeriodsProjection: Projection {
    /// `periods`.
    public let name = "periods"
    /// Raised when what a period is changes its meaning.
    public let edition: Int64 = 1

    static let periods = ProjectionTable(
        "period", key: ["bucket": .int2, "stream": .text, "transaction": .text],
        [
            "purchased_at": .int8, "from_at": .int8, "until_at": .int8, "expires_at": .int8,
            "revoked_at": .int8, "reversed_at": .int8, "refund_share": .int8, "price": .int8,
            "paid_number": .int8, "customer": .int8,
            "plan_is_inferred": .bool, "is_refunded": .bool, "is_upgraded": .bool,
            "environment": .text, "original": .text, "bundle": .text, "product": .text,
            "product_group": .text, "shape": .text, "class": .text, "plan": .text,
            "web_order_line_item": .text, "currency": .text, "storefront": .text,
            "offer": .text, "ownership": .text, "ending": .text, "flags": .text,
            "evidence": .text,
        ], isWhole: true)

    /// Periods.
    public let tables = [PeriodsProjection.periods]
    /// Plans and the rules of ownership decide rows.
    public let context: StreamID? = .settings
    private let settings: Settings

    /// The projection, without settings.
    public init() { settings = Settings() }

    private init(_ settings: Settings) { self.settings = settings }

    /// The projection by these settings.
    public func knowing(_ context: [Entry]) -> any Projection {
        PeriodsProjection(SettingsContext(entries: context).settings)
    }

    /// Whether no stored product has other terms, and no rule is another one.
    public func sameness(from old: [Entry], to new: [Entry], generation: Int64) -> Statement? {
        SettingsContext(entries: old).sameness(
            with: SettingsContext(entries: new), generation: generation,
            of: tables.map(\.name))
    }

    /// Of lines alone.
    public func fold(of stream: StreamID) -> (any StreamFold)? {
        LineFold(stream, settings) { fold, measured, rows in
            measured.addPeriods(fold.evidence, to: &rows)
        }
    }
}

extension MeasuredLine {
    /// Adds the line's periods; `evidence` has the entries that state each transaction.
    func addPeriods(_ evidence: [String: [Position]], to rows: inout ProjectedRows) {
        let bucket = Parameter.int2(Int16(Bucket.of(line.stream)))
        let tenures = line.tenures([:], settings)
        for (index, period) in line.periods.enumerated() {
            let back = period.moneyBack
            let isSubscription = period.shape == .subscription
            let owner = tenures.last { $0.holds(at: period.from) }?.customer
            let stated = period.aliases.flatMap { evidence[$0] ?? [] }.sorted()
            let times: [Instant?] = [
                period.purchasedAt, period.from, period.until, period.expiresAt,
                period.revokedAt, back.last?.reversedAt,
            ]
            let numbers: [Int64?] = [
                period.refund?.share, period.priceMilliunits,
                paid.firstIndex(of: index).map { Int64($0) + 1 }, owner?.number,
            ]
            let truths = [
                isSubscription && plans[index].isInferred, period.isRefunded, period.isUpgraded,
            ]
            let texts: [String?] = [
                line.environment.name, line.original, period.bundle, period.product,
                period.group ?? line.group, period.shape.rawValue, period.periodClass.rawValue,
                isSubscription ? plans[index].name : nil, period.webOrderLineItem,
                period.currency, period.storefront, period.offer, period.ownership,
                period.ending.rawValue,
                period.flags.isEmpty ? nil : period.flags.joined(separator: ","),
                stated.map { "\($0.number)" }.joined(separator: ","),
            ]
            rows.add(
                to: PeriodsProjection.periods,
                [bucket, .text(line.stream.name), .text(period.transaction)]
                    + times.map { .int8(ifAny: $0?.milliseconds) }
                    + numbers.map { .int8(ifAny: $0) } + truths.map { .bool($0) }
                    + texts.map { .text(ifAny: $0) })
        }
    }
}
