import Domain

/// What a line counts as during some time: the facts that the metrics of states rest on.
struct Standing: Sendable, Hashable {
    /// What it counts as.
    enum Kind: String, Sendable, Hashable {
        case paid, trial, free, family, retry
    }

    /// What follows a paid line's period, as the newest renewal info signed by then says.
    enum Outlook: String, Sendable, Hashable {
        case renewal = "set_to_renew"
        case cancellation = "set_to_cancel"
        case billingIssue = "billing_issue"
    }

    var kind: Kind
    /// Whether grace alone covers it.
    var isInGrace = false
    /// Of a paid line.
    var outlook: Outlook?
    var traits = Traits()
    /// Of a paid line: what its period cost; `nil` when that is not known. Units: milliunits.
    var price: Int64?
    /// Why it has ended when it does with this period, of a paid line.
    var reason: String?
    /// Whether it is known to end with this period when no other one follows: not before a gap about
    /// which nothing is known.
    var isEnded = true
}

/// So many lines of one standing, or one.
struct Crowd: Sendable {
    /// How many there are.
    var count: Int64
    /// How many of them have no known price.
    var unpriced: Int64
    /// The prices of the others together. Units: milliunits.
    var price: Int128
    /// What they have in common, as far as it was asked for.
    var standing: Standing

    /// Lines that were counted.
    init(count: Int64, unpriced: Int64, price: Int128, _ standing: Standing) {
        self.count = count
        self.unpriced = unpriced
        self.price = price
        self.standing = standing
    }

    /// One line.
    init(_ standing: Standing) {
        self.init(
            count: 1, unpriced: standing.price == nil ? 1 : 0,
            price: Int128(standing.price ?? 0), standing)
    }
}

extension MeasuredLine {
    /// A standing and how long it lasts.
    struct Stretch: Sendable, Hashable {
        var from: Instant
        var until: Instant
        var standing: Standing
    }

    /// What the line counts as, in order of time, without overlap; what adjoins differs.
    func stretches() -> [Stretch] {
        var edges: Set<Instant> = []
        for span in spans + rawSpans { edges.formUnion([span.from, span.until]) }
        guard !edges.isEmpty || hasRetries else { return [] }
        edges.formUnion(line.intents.map(\.signedAt))
        for period in line.periods {
            edges.insert(period.from)
            for retry in period.retries { edges.formUnion([retry.lowerBound, retry.upperBound]) }
        }
        let order = edges.sorted()
        var found: [Stretch] = []
        for (place, from) in order.enumerated() where from < .distantFuture {
            guard let standing = standing(at: from) else { continue }
            let until = place + 1 < order.count ? order[place + 1] : .distantFuture
            if let last = found.last, last.until == from, last.standing == standing {
                found[found.count - 1].until = until
            } else {
                found.append(Stretch(from: from, until: until, standing: standing))
            }
        }
        return found
    }

    /// What the line counts as at an instant; `nil` when as nothing.
    func standing(at instant: Instant) -> Standing? {
        guard let span = span(at: instant) else {
            guard hasRetries, line.state(at: instant, spans: rawSpans) == .retry else { return nil }
            let last = subscriptions.last { period($0).from <= instant }
            return Standing(kind: .retry, traits: traits(of: last))
        }
        let kind: Standing.Kind
        switch period(span.period).periodClass {
        case .paid, .intro: return paid(span, at: instant)
        case .trial: kind = .trial
        case .free: kind = .free
        case .family: kind = .family
        case .other: return nil
        }
        return Standing(
            kind: kind, isInGrace: span.state == .grace, traits: traits(of: span.period))
    }

    private func paid(_ span: Span, at instant: Instant) -> Standing {
        let isInGrace = span.state == .grace
        let isLeaving = line.intent(at: instant)?.willRenew == false
        return Standing(
            kind: .paid, isInGrace: isInGrace,
            outlook: isInGrace ? .billingIssue : isLeaving ? .cancellation : .renewal,
            traits: traits(of: span.period), price: period(span.period).priceMilliunits,
            reason: churnReason(coveredBy: span.period), isEnded: isEnded(after: span.period))
    }
}
