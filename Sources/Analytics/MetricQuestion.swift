public import Domain

/// A metric with its parameters, in full: the same question has the same answer for ever.
public struct MetricQuestion: Sendable {
    /// The part of time that one set of rows is about, and its name when there are several.
    public struct Bucket: Sendable, Hashable {
        /// Such as `2025-06`; `nil` when time is not told apart.
        public var label: String?
        /// An instant for what takes `at` is an empty range.
        public var window: Range<Instant>

        /// A part of time.
        public init(label: String? = nil, window: Range<Instant>) {
            self.label = label
            self.window = window
        }
    }

    /// What is asked.
    public var metric: Metric
    /// When; one, or the parts that rows are told apart by.
    public var buckets: [Bucket]
    /// What rows are told apart by, besides time.
    public var dimensions: [Dimension]
    /// The name of the part of time in keys: `day`, `week` or `month`.
    public var timeDimension: Dimension?
    /// When money counts.
    public var basis = Basis.asTransacted
    /// How plans become months.
    public var profile = Profile.calendar
    /// The world.
    public var environment = Environment.production
    /// This app's lines only.
    public var app: String?
    /// Days: of a window after a customer's beginning, or of each step of its age.
    public var days: Int64 = 30
    /// Whether lines that came and went within the window count as new and as lost.
    public var isGross = false
    /// The most steps of age that are told.
    static let mostAges: Int64 = 120
    /// The most paid periods of a line that are told.
    static let mostPeriods: Int64 = 120
    /// The currency that money is told in; `nil`: each in its own, and rows are told apart by it.
    public let currency: String?
    /// The instant of knowledge: when what the answer rests on was recorded.
    public var knownAt: Instant
    /// Everything up to here, and nothing later.
    public var position: Position

    /// A question about this much of the record.
    public init(
        _ metric: Metric, buckets: [Bucket], by dimensions: [Dimension] = [],
        in currency: String? = nil, knownAt: Instant, position: Position
    ) {
        self.metric = metric
        self.currency = metric.isMoney ? currency : nil
        self.buckets = buckets
        timeDimension = dimensions.first(where: \.isTime)
        var kept = dimensions.filter { !$0.isTime }
        if metric.isMoney, currency == nil, !kept.contains(.currency) { kept.append(.currency) }
        self.dimensions = kept
        self.knownAt = knownAt
        self.position = position
    }
}

/// Whose lines are, beside what the lines say themselves.
public struct People: Sendable {
    /// Which customer each token is bound to.
    public var links: TokenLinks
    /// Grants and merges.
    public var customers: Customers

    /// Nobody known.
    public init(links: TokenLinks = [:], customers: Customers = Customers()) {
        self.links = links
        self.customers = customers
    }
}
