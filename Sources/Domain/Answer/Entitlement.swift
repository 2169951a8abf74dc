/// The verdict about one entitlement at one instant.
public struct Entitlement: Sendable, Hashable {
    /// The entitlement's name.
    public var name: String
    /// Whether the customer may use it.
    public var mayUse: Bool
    /// The deciding line's state, or `granted`.
    public var state: LineState
    /// When the unbroken coverage began; `nil` when there never was any.
    public var since: Instant?
    /// When the coverage ends or ended; `nil` without an end, or when there never was any.
    public var until: Instant?
    /// Whether the deciding line is set to renew; `nil` when unknown or not a subscription.
    public var willRenew: Bool?
    /// The deciding product.
    public var product: String?
    /// Every covering period, the deciding one first.
    public var because: [Reason]
    /// Caveats of the deciding coverage.
    public var flags: [String]

    /// One period that covers the instant.
    public struct Reason: Sendable, Hashable {
        /// The line's original transaction id.
        public var line: String
        /// The period's transaction.
        public var transaction: String
        /// The product.
        public var product: String
        /// When this period's access begins.
        public var from: Instant
        /// When it ends; `nil` without an end.
        public var until: Instant?
    }

    /// An entitlement that was never held.
    public static func never(_ name: String) -> Entitlement {
        Entitlement(name: name, mayUse: false, state: .none, because: [], flags: [])
    }
}

/// All verdicts about one customer at one instant.
public struct Verdicts: Sendable, Hashable {
    /// Every entitlement held by then, by name.
    public var entitlements: [Entitlement]
    /// The first instant after the one asked about at which time alone may change the answer.
    public var freshUntil: Instant?
    /// The last instant up to the one asked about at which time alone may have changed it.
    public var freshSince: Instant?

    /// The verdicts about somebody who never held anything.
    public static let none = Verdicts(entitlements: [], freshUntil: nil, freshSince: nil)
}

/// What a customer's answer is computed from: lines as merged, links, settings.
public struct Holdings: Sendable {
    /// Lines that may be the customer's, of one environment.
    public var lines: [Line]
    /// The tokens' customers.
    public var links: TokenLinks
    /// The settings on the record.
    public var settings: Settings

    /// The holdings of one customer.
    public init(lines: [Line], links: TokenLinks, settings: Settings) {
        self.lines = lines
        self.links = links
        self.settings = settings
    }

    /// What the customer may use at an instant (R8).
    public func verdicts(for customer: CustomerNumber, at instant: Instant) -> Verdicts {
        let owned = ownedLines(by: customer)
        var byName: [String: [Coverage]] = [:]
        for line in owned {
            for coverage in line.coverages(settings) {
                byName[coverage.entitlement, default: []].append(coverage)
            }
        }
        let held = byName.filter { $0.value.contains { $0.from <= instant } }
        let verdicts = held.keys.sorted().map { name in
            entitlement(name, byName[name] ?? [], owned: owned, at: instant)
        }
        let boundaries =
            owned.flatMap(\.boundaries) + settings.catalogBoundaries
            + byName.values.flatMap { $0.flatMap { [$0.from, $0.until] } }
        let finite = boundaries.filter { $0 != .distantFuture && $0 != .distantPast }
        return Verdicts(
            entitlements: verdicts, freshUntil: finite.filter { $0 > instant }.min(),
            freshSince: finite.filter { $0 <= instant }.max())
    }

    private func ownedLines(by customer: CustomerNumber) -> [OwnedLine] {
        var owned: [OwnedLine] = []
        for line in lines {
            let tenures = line.tenures(links, settings).filter { $0.customer == customer }
            guard !tenures.isEmpty else { continue }
            owned.append(OwnedLine(line: line, tenures: tenures, spans: line.spans(settings)))
        }
        return stacked(owned)
    }

    private func entitlement(
        _ name: String, _ coverages: [Coverage], owned: [OwnedLine], at instant: Instant
    ) -> Entitlement {
        let run = Run.around(instant, coverages.map { $0.from..<$0.until })
        guard let run else { return .never(name) }
        let covering = coverages.filter { $0.from <= instant && instant < $0.until }
        let candidates =
            run.isCurrent ? covering : coverages.filter { $0.until == run.until }
        let ordered = candidates.map { ($0, lineEnd(of: $0, coverages)) }.sorted { left, right in
            if left.1 != right.1 { return left.1 > right.1 }
            if left.0.from != right.0.from { return left.0.from > right.0.from }
            return (left.0.line.utf8.count, left.0.line) < (right.0.line.utf8.count, right.0.line)
        }.map(\.0)
        guard let deciding = ordered.first else { return .never(name) }
        let owner = owned[deciding.owned]
        return Entitlement(
            name: name, mayUse: run.isCurrent,
            state: run.isCurrent ? deciding.state : owner.stateWithoutAccess(at: instant),
            since: run.since, until: run.until == .distantFuture ? nil : run.until,
            willRenew: deciding.shape == .subscription
                ? owner.line.intent(at: instant)?.willRenew : nil,
            product: deciding.product, because: run.isCurrent ? ordered.map(\.reason) : [],
            flags: deciding.flags)
    }

    /// Where a line's own unbroken coverage that goes on from this one ends.
    private func lineEnd(of coverage: Coverage, _ coverages: [Coverage]) -> Instant {
        let own = coverages.filter { $0.owned == coverage.owned }.map { $0.from..<$0.until }
        return Run.around(coverage.from, own)?.until ?? coverage.until
    }

    /// Lines whose overlapping passes of one product add up, when the settings say so (R16).
    private func stacked(_ owned: [OwnedLine]) -> [OwnedLine] {
        var result = owned
        var ends: [String: Instant] = [:]
        let passes = owned.indices.flatMap { line in
            owned[line].spans.indices.map { (line: line, span: $0) }
        }.filter {
            owned[$0.line].line.periods[owned[$0.line].spans[$0.span].period].shape == .pass
        }
        .sorted {
            (owned[$0.line].spans[$0.span].from, owned[$0.line].original)
                < (owned[$1.line].spans[$1.span].from, owned[$1.line].original)
        }
        for place in passes {
            let span = owned[place.line].spans[place.span]
            let period = owned[place.line].line.periods[span.period]
            guard settings.rules(at: period.purchasedAt).stackPasses else { continue }
            let from = max(span.from, ends[period.product] ?? span.from)
            let length = span.until.milliseconds - span.from.milliseconds
            result[place.line].spans[place.span].from = from
            result[place.line].spans[place.span].until =
                period.ending == .revocation
                ? max(from, span.until) : from.adding(milliseconds: length)
            ends[period.product] = result[place.line].spans[place.span].until
        }
        for index in result.indices { result[index].index = index }
        return result
    }
}
