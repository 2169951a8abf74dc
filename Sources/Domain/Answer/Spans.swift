/// The state of a line at an instant (R6).
public enum LineState: String, Sendable, Hashable {
    case trial, active, grace, retry, expired, revoked
    /// Renewal info is known, a transaction is not.
    case incomplete
    /// Nothing yet at that instant.
    case none
    /// Access that the backend gave.
    case granted
}

/// Time during which one period gives access, with its settings applied.
public struct Span: Sendable, Hashable {
    /// When it begins.
    public var from: Instant
    /// When it ends; `distantFuture` without an end.
    public var until: Instant
    /// `trial`, `active` or `grace`.
    public var state: LineState
    /// The period, by its place in the line.
    public var period: Int
    /// Caveats.
    public var flags: [String]
}

extension Line {
    /// When the line gives access, in order of begin; empty spans are left out.
    public func spans(_ settings: Settings) -> [Span] {
        var spans: [Span] = []
        for (index, period) in periods.enumerated() {
            let until = end(of: period, settings)
            if let until, period.from < until {
                spans.append(
                    Span(
                        from: period.from, until: until,
                        state: period.periodClass == .trial ? .trial : .active, period: index,
                        flags: period.flags))
            }
            let next = index + 1 < periods.count ? periods[index + 1].from : .distantFuture
            if let grace = grace(after: index, before: next, settings) { spans.append(grace) }
        }
        return spans
    }

    /// When a period's access without grace ends; `nil` when it gives none.
    private func end(of period: Period, _ settings: Settings) -> Instant? {
        switch period.shape {
        case .subscription, .permanent: return period.until ?? .distantFuture
        case .consumable: return nil
        case .pass, .unstated:
            let product = settings.product(period.product, at: period.purchasedAt)
            let limit = period.until ?? .distantFuture
            switch (product?.kind, product?.accessDays) {
            case ("nonRenewing", let days?):
                return min(limit, period.purchasedAt.adding(days: days))
            case ("nonConsumable", _) where period.shape == .unstated: return limit
            default: return nil
            }
        }
    }

    private func grace(after index: Int, before next: Instant, _ settings: Settings) -> Span? {
        let period = periods[index]
        guard let grace = period.grace, let from = period.expiresAt, period.from <= from else {
            return nil
        }
        var span = Span(
            from: from, until: next, state: .grace, period: index, flags: period.flags)
        switch grace {
        case .named(let until): span.until = min(until, next)
        case .inferred(let cap):
            var days = settings.rules(at: from).graceDays[period.bundle] ?? 0
            if settings.product(period.product, at: from)?.isWeekly == true { days = min(days, 6) }
            span.until = min(from.adding(days: days), cap ?? .distantFuture, next)
            span.flags.append("grace_inferred")
        }
        return span.from < span.until ? span : nil
    }

    /// The line's state at an instant.
    public func state(at instant: Instant, _ settings: Settings) -> LineState {
        state(at: instant, spans: spans(settings))
    }

    /// The line's state at an instant, given its spans.
    public func state(at instant: Instant, spans: [Span]) -> LineState {
        if let span = spans.last(where: { $0.from <= instant && instant < $0.until }) {
            return span.state
        }
        guard let index = periods.lastIndex(where: { $0.from <= instant }) else {
            let isKnown = periods.isEmpty && intents.contains { $0.signedAt <= instant }
            return isKnown ? .incomplete : .none
        }
        let last = periods[index]
        if last.ending == .revocation, last.until ?? .distantPast <= instant { return .revoked }
        if last.retries.contains(where: { $0.contains(instant) }) { return .retry }
        // What has no end of its own and gives no access is a one-time purchase, and still one.
        let isOneTime = last.shape == .consumable || last.shape == .unstated
        return isOneTime && !spans.contains { $0.period == index } ? .active : .expired
    }

    /// The period that the state at an instant speaks of: the newest begun by then.
    public func period(at instant: Instant) -> Period? {
        periods.last { $0.from <= instant }
    }

    /// The unbroken access that contains an instant, or the last one before it.
    public func run(at instant: Instant, spans: [Span]) -> Run? {
        Run.around(instant, spans.map { $0.from..<$0.until })
    }

    /// Every instant at which time alone may change what the line says.
    func boundaries(spans: [Span]) -> [Instant] {
        spans.flatMap { [$0.from, $0.until] }
            + periods.filter { $0.ending == .revocation }.compactMap(\.until)
            + periods.flatMap { [$0.from] + $0.retries.flatMap { [$0.lowerBound, $0.upperBound] } }
            + intents.map(\.signedAt)
    }
}

/// Unbroken coverage.
public struct Run: Sendable, Hashable {
    /// When it begins.
    public var since: Instant
    /// When it ends; `distantFuture` without an end.
    public var until: Instant
    /// Whether it contains the instant asked about.
    public var isCurrent: Bool

    /// The run of overlapping or adjoining ranges that contains an instant, or else the last one
    /// that ended by then; `nil` when there is neither.
    static func around(_ instant: Instant, _ ranges: [Range<Instant>]) -> Run? {
        var last: Run?
        var current: Range<Instant>?
        func close() {
            guard let run = current, run.lowerBound <= instant else { return }
            last = Run(
                since: run.lowerBound, until: run.upperBound, isCurrent: run.contains(instant))
        }
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let run = current, range.lowerBound <= run.upperBound {
                current = run.lowerBound..<max(run.upperBound, range.upperBound)
            } else {
                close()
                if last?.isCurrent == true { return last }
                current = range
            }
        }
        close()
        return last
    }
}
