/// Time during which one period gives one customer one entitlement.
struct Coverage: Sendable, Hashable {
    var entitlement: String
    var from: Instant
    var until: Instant
    var state: LineState
    /// The line, by its place among the customer's lines.
    var owned: Int
    var line: String
    var transaction: String
    var product: String
    var shape: Period.Shape
    var flags: [String]
    var reason: Entitlement.Reason
}

/// A line with the times during which one customer owns it.
struct OwnedLine: Sendable {
    let line: Line
    let tenures: [Tenure]
    var spans: [Span]
    var index = 0
    /// The line's original transaction id.
    let original: String

    init(line: Line, tenures: [Tenure], spans: [Span]) {
        self.line = line
        self.tenures = tenures
        self.spans = spans
        original = line.original
    }

    /// What the line gives its owner, entitlement by entitlement.
    func coverages(_ settings: Settings) -> [Coverage] {
        var found: [Coverage] = []
        let boundaries = settings.catalogBoundaries
        for span in spans {
            for tenure in tenures {
                let from = max(span.from, tenure.from)
                let until = min(span.until, tenure.until ?? .distantFuture)
                if from < until { add(span, from, until, settings, boundaries, to: &found) }
            }
        }
        return found
    }

    /// Adds what the catalogue says of one span, cut where a catalogue begins to hold.
    private func add(
        _ span: Span, _ from: Instant, _ until: Instant, _ settings: Settings,
        _ boundaries: [Instant], to found: inout [Coverage]
    ) {
        let period = line.periods[span.period]
        let cuts = boundaries.filter { from < $0 && $0 < until }
        var start = from
        var open: [String: Int] = [:]
        for end in cuts + [until] {
            var next: [String: Int] = [:]
            for name in settings.product(period.product, at: start)?.entitlements ?? [] {
                if let known = open[name] {
                    found[known].until = end
                    found[known].reason.until = end == .distantFuture ? nil : end
                    next[name] = known
                } else {
                    found.append(coverage(name, span, period, start, end))
                    next[name] = found.count - 1
                }
            }
            open = next
            start = end
        }
    }

    private func coverage(
        _ name: String, _ span: Span, _ period: Period, _ from: Instant, _ until: Instant
    ) -> Coverage {
        Coverage(
            entitlement: name, from: from, until: until, state: span.state, owned: index,
            line: original, transaction: period.transaction, product: period.product,
            shape: period.shape, flags: span.flags,
            reason: Entitlement.Reason(
                line: original, transaction: period.transaction, product: period.product,
                from: from, until: until == .distantFuture ? nil : until))
    }

    /// The state to show when the line gives this customer nothing at an instant: the line's own,
    /// unless that speaks of another owner's access.
    func stateWithoutAccess(at instant: Instant) -> LineState {
        let state = line.state(at: instant, spans: spans)
        switch state {
        case .trial, .active, .grace: return .expired
        default: return state
        }
    }

    /// Every instant at which time alone may change what the line gives.
    var boundaries: [Instant] {
        line.boundaries(spans: spans) + tenures.flatMap { [$0.from, $0.until ?? .distantFuture] }
    }
}
