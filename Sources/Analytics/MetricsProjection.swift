public import Domain
import Ledger
public import Postgres
public import Projecting

/// The projection `metrics`: what lines count as over time, what happened to them, whose they are,
/// how they began and how long they stayed.
public struct MetricsProjection: Projection {
    /// `metrics`.
    public let name = "metrics"
    /// Raised when what a line counts as, or what counts as happened, changes its meaning.
    public let edition: Int64 = 5

    /// What rows of lines are told apart by.
    private static let traits: KeyValuePairs<String, ProjectionTable.ColumnType> = [
        "environment": .text, "bundle": .text, "other_app": .text, "product": .text,
        "plan": .text, "product_group": .text, "storefront": .text, "currency": .text,
        "offer": .text,
    ]

    static let coverage = ProjectionTable(
        "coverage", key: ["bucket": .int2, "stream": .text, "from_at": .int8],
        [
            "until_at": .int8, "first_paid_at": .int8, "price": .int8, "is_in_grace": .bool,
            "is_ended": .bool, "kind": .text, "outlook": .text, "reason": .text,
            "paid_at": .int8, "first_currency": .text,
        ], traits, isWhole: true)
    static let movements = ProjectionTable(
        "movement", key: ["bucket": .int2, "stream": .text, "number": .int8],
        [
            "at": .int8, "known_from": .int8, "known_until": .int8, "marks": .int8,
            "amount": .int8, "share": .int8, "first_at": .int8, "paid_at": .int8,
            "first_currency": .text,
        ], traits, isWhole: true)
    static let tenures = ProjectionTable(
        "tenure", key: ["bucket": .int2, "stream": .text, "from_at": .int8],
        [
            "until_at": .int8, "customer": .int8, "is_token": .bool, "first_at": .int8,
            "paid_at": .int8, "has_tried": .bool, "has_converted": .bool, "transaction": .text,
            "first_currency": .text, "moved_from": .int8, "moved_until": .int8,
            "moved_at": .int8s, "amounts": .int8s, "facts": .int8s, "shares": .int8s,
            "currencies": .texts, "present_from": .int8s,
            "present_until": .int8s, "paid_from": .int8s, "paid_until": .int8s,
        ], traits, isWhole: true)
    static let beginnings = ProjectionTable(
        "beginning", key: ["bucket": .int2, "stream": .text],
        [
            "start_at": .int8, "first_at": .int8, "paid_at": .int8, "has_tried": .bool,
            "has_converted": .bool, "transaction": .text, "first_currency": .text,
        ], traits, isWhole: true)
    static let retentions = ProjectionTable(
        "retention", key: ["bucket": .int2, "stream": .text],
        ["first_at": .int8, "periods": .text], traits, isWhole: true)

    /// Where its rows are.
    public let tables = [coverage, movements, tenures, beginnings, retentions]
    /// Plans, levels and days of grace decide rows.
    public let context: StreamID? = .settings
    private let settings: Settings

    /// The projection, without settings.
    public init() { settings = Settings() }

    private init(_ settings: Settings) { self.settings = settings }

    /// The projection by these settings.
    public func knowing(_ context: [Entry]) -> any Projection {
        MetricsProjection(SettingsContext(entries: context).settings)
    }

    /// Whether no stored product has other terms, and no rule is another one.
    public func sameness(from old: [Entry], to new: [Entry], generation: Int64) -> Statement? {
        SettingsContext(entries: old).sameness(
            with: SettingsContext(entries: new), generation: generation,
            of: [Self.coverage.name, Self.movements.name])
    }

    /// Of lines alone.
    public func fold(of stream: StreamID) -> (any StreamFold)? {
        LineFold(stream, settings) { _, measured, rows in
            MetricsOfLine(measured).add(to: &rows)
        }
    }
}

extension MeasuredLine {
    func columns(_ traits: Traits) -> [Parameter] {
        [
            .text(line.environment.name), .text(ifAny: line.bundle),
            .text(ifAny: traits.app == line.bundle ? nil : traits.app),
            .text(ifAny: traits.product), .text(ifAny: traits.plan), .text(ifAny: traits.group),
            .text(ifAny: traits.storefront), .text(ifAny: traits.currency),
            .text(ifAny: traits.offer),
        ]
    }
}

extension Instant {
    /// As rows hold it: with room to count from it in either direction.
    var stored: Int64 { min(max(milliseconds, -(1 << 60)), 1 << 60) }
}
