import Domain

/// A line as metrics look at it: what it covered as what, worked out once.
struct MeasuredLine {
    let line: Line
    let settings: Settings
    /// When it gave access, in whatever way.
    let rawSpans: [Span]
    /// When its subscription gave access, for metrics: never before its purchase (R12).
    let spans: [Span]
    /// The subscription's periods that are not empty, by purchase date, as places in the line.
    let subscriptions: [Int]
    /// Those of them that were paid for.
    let paid: [Int]
    /// The plan of each of the line's periods.
    let plans: [Plan]
    /// Whether Apple was ever trying to collect.
    let hasRetries: Bool
    /// For each period the one of the subscription before it.
    private let predecessors: [Int?]

    init(_ line: Line, _ settings: Settings) {
        self.line = line
        self.settings = settings
        rawSpans = line.spans(settings)
        var spans: [Span] = []
        for var span in rawSpans {
            let period = line.periods[span.period]
            guard period.shape == .subscription else { continue }
            if span.state != .grace { span.from = max(span.from, period.purchasedAt) }
            if span.from < span.until { spans.append(span) }
        }
        self.spans = spans
        var subscriptions: [Int] = []
        var predecessors: [Int?] = []
        for (index, period) in line.periods.enumerated() {
            predecessors.append(subscriptions.last)
            if period.shape == .subscription,
                period.purchasedAt < (period.until ?? period.purchasedAt)
            {
                subscriptions.append(index)
            }
        }
        self.subscriptions = subscriptions
        self.predecessors = predecessors
        paid = subscriptions.filter {
            let counted = line.periods[$0].periodClass
            return counted == .paid || counted == .intro
        }
        plans = line.periods.map { Plan(of: $0, settings) }
        hasRetries = line.periods.contains { !$0.retries.isEmpty }
    }

    func period(_ index: Int) -> Period { line.periods[index] }

    /// The span that covers an instant.
    func span(at instant: Instant) -> Span? {
        spans.last { $0.from <= instant && instant < $0.until }
    }

    /// The span that covers an instant and counts as paid: paid or introductory, or its grace.
    func paidSpan(at instant: Instant) -> Span? {
        guard let span = span(at: instant), isPaid(span.period) else { return nil }
        return span
    }

    /// What a period counts for in a month; `nil` when its price is not known.
    func monthly(_ index: Int, _ profile: Profile) -> (price: Int64, multiplier: Fraction)? {
        guard let price = period(index).priceMilliunits else { return nil }
        return (price, plans[index].multiplier(profile))
    }

    func isPaid(_ index: Int) -> Bool {
        let counted = period(index).periodClass
        return counted == .paid || counted == .intro
    }

    /// When the first period that was paid for was bought.
    var firstPaidAt: Instant? { paid.map { period($0).purchasedAt }.min() }

    /// When the access of a period ended, grace included.
    func end(of index: Int) -> Instant {
        let grace = spans.last { $0.period == index && $0.state == .grace }
        return grace?.until ?? period(index).until ?? .distantFuture
    }

    /// The subscription period before another one.
    func predecessor(of index: Int) -> Int? { predecessors[index] }

    /// How a period follows its predecessor.
    enum Joint {
        /// It is the first.
        case first
        /// Without a gap; in grace when `isInGrace`.
        case contiguous(isInGrace: Bool)
        /// After a gap in which Apple still tried to collect.
        case recovered
        /// After a gap about which nothing is known.
        case unknown
        /// Bought again after a gap.
        case bought
    }

    func joint(_ index: Int) -> Joint {
        guard let before = predecessor(of: index) else { return .first }
        let previous = period(before)
        let start = period(index).purchasedAt
        if let until = previous.until, start <= until { return .contiguous(isInGrace: false) }
        if start <= end(of: before) { return .contiguous(isInGrace: true) }
        if period(index).flags.contains("gap_unknown") { return .unknown }
        let wasTrying = previous.retries.contains {
            $0.lowerBound < start && start <= $0.upperBound
        }
        return wasTrying ? .recovered : .bought
    }

    /// How the product changed with a period, when it did.
    enum PlanChange: String { case upgrade, downgrade, crossgrade }

    func planChange(_ index: Int) -> PlanChange? {
        guard let before = predecessor(of: index), period(before).product != period(index).product
        else { return nil }
        switch joint(index) {
        case .first, .bought, .unknown: return nil
        case .contiguous, .recovered: break
        }
        if isImmediate(index) { return .upgrade }
        let at = period(index).purchasedAt
        guard let old = settings.product(period(before).product, at: at)?.level,
            let new = settings.product(period(index).product, at: at)?.level, old != new
        else { return .crossgrade }
        // Level 1 is the highest.
        return new < old ? .upgrade : .downgrade
    }

    /// Whether a period began before its predecessor's paid time was over.
    func isImmediate(_ index: Int) -> Bool {
        guard let before = predecessor(of: index) else { return false }
        let previous = period(before)
        return previous.isUpgraded
            || period(index).purchasedAt < previous.expiresAt ?? .distantPast
    }

    /// Why a line that was covered at an instant ended.
    func churnReason(coveredBy index: Int) -> String {
        let period = period(index)
        if period.ending == .revocation { return "refund" }
        let next = subscriptions.first { $0 > index }.map { self.period($0).purchasedAt }
        let said = line.intents.last {
            $0.expirationIntent != nil && $0.signedAt >= period.purchasedAt
                && $0.signedAt < next ?? .distantFuture
        }
        switch said?.expirationIntent {
        case 1: return "voluntary"
        case 2: return "billing"
        case 3: return "price_consent"
        case 4: return "product_gone"
        case nil: return "unknown"
        default: return "other"
        }
    }
}
