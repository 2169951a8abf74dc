import Domain
import TestLives

/// What some customers must be told: a fold of what was posted, without a database.
struct Expectation {
    private var folds: [StreamID: Subscription] = [:]
    private var links: TokenLinks = [:]
    private var customers: [CustomerNumber: Customer] = [:]
    private var places: Int64 = 0
    /// Later than everything that the lives name.
    private static let now = at("2026-01-01")

    /// Takes in what one text says, and who presented it.
    mutating func hear(
        _ observation: Observation, presenter: CustomerNumber?, _ settings: Settings
    ) {
        guard let stream = observation.stream else { return }
        let fold = folds[stream] ?? Subscription(stream)
        for event in decide(observation, given: fold) { record(event) }
        guard let presenter, let transaction = observation.transaction?.content else { return }
        if let token = transaction.token, links[token] == nil {
            links[token] = presenter
            return
        }
        let line = line(stream)
        let hasClaim = line.presentations.contains { $0.customer == presenter }
        guard !hasClaim, owner(of: line, at: Expectation.now, settings) != presenter else { return }
        record(
            .presentation(Presentation(customer: presenter, at: Expectation.now)), in: stream)
    }

    /// Binds a token; false when it is another's and this is no transfer.
    mutating func bind(_ token: CustomerNumber, to customer: CustomerNumber, transfer: Bool)
        -> Bool
    {
        let owner = links[token]
        guard owner == nil || owner == customer || transfer else { return false }
        links[token] = customer
        return true
    }

    /// Transfers a line from an instant on.
    mutating func bind(
        _ stream: StreamID, to customer: CustomerNumber, from: Instant, _ settings: Settings
    ) {
        let line = line(stream)
        if owner(of: line, at: from, settings) == customer { return }
        let binding = LineBinding(customer: customer, from: from)
        if line.periods.isEmpty, line.bindings.last == binding { return }
        record(.binding(binding), in: stream)
    }

    /// Gives an entitlement.
    mutating func give(_ grant: Grant, to customer: CustomerNumber) {
        learn(.grant(grant), of: customer)
    }

    /// Merges a customer into another; false when that cannot be.
    mutating func merge(_ customer: CustomerNumber, _ merge: Merge) -> Bool {
        let isElsewhere = known(merge.into).merges.contains {
            merge.at < $0.until ?? .distantFuture
        }
        if customer == merge.into || isElsewhere { return false }
        let current = known(customer).merged(at: merge.at)
        if current == nil { learn(.merge(merge), of: customer) }
        return current == nil || current == merge.into
    }

    /// Undoes a merge; false when there was none.
    mutating func unmerge(_ customer: CustomerNumber, _ merge: Merge) -> Bool {
        if known(customer).merged(at: merge.at) == merge.into {
            learn(.unmerge(merge), of: customer)
            return true
        }
        return known(customer).merges.contains { $0.customer == merge.into }
    }

    /// What the answers are computed from.
    func holdings(_ settings: Settings) -> Holdings {
        Holdings(
            lines: folds.keys.sorted().map(line), links: links, settings: settings,
            customers: Customers(customers))
    }

    /// Instants at which something begins or ends, in order.
    func boundaries(_ settings: Settings) -> [Instant] {
        let holdings = holdings(settings)
        let spans = holdings.lines.flatMap { $0.spans(settings) }
        let tenures = holdings.lines.flatMap { $0.tenures(links, settings) }
        let grants = customers.values.flatMap(\.grants.values)
        let all =
            spans.flatMap { [$0.from, $0.until] } + tenures.map(\.from)
            + grants.flatMap { [$0.from, $0.until ?? $0.from] }
            + holdings.customers.boundaries + settings.catalogBoundaries
        return Set(all.filter { $0 < .latestStated }).sorted()
    }

    private func line(_ stream: StreamID) -> Line {
        (folds[stream] ?? Subscription(stream)).line()
    }

    private func known(_ number: CustomerNumber) -> Customer {
        customers[number] ?? Customer(number)
    }

    private func owner(of line: Line, at instant: Instant, _ settings: Settings)
        -> CustomerNumber?
    {
        let tenures = line.tenures(links, settings)
        return (tenures.last { $0.holds(at: instant) } ?? tenures.first)?.customer
    }

    private mutating func record(_ content: Event.Content, in stream: StreamID) {
        record(event(content, in: stream))
    }

    private mutating func record(_ event: Event) {
        folds[event.stream, default: Subscription(event.stream)].apply(entry(event))
    }

    private mutating func learn(_ content: Event.Content, of customer: CustomerNumber) {
        let event = event(content, in: .customer(customer))
        customers[customer, default: Customer(customer)].apply(entry(event))
    }

    private mutating func entry(_ event: Event) -> Entry {
        places += 1
        return Entry(
            position: Position(places), revision: places,
            recordedAt: Instant(milliseconds: places), event: event)
    }

    private func event(_ content: Event.Content, in stream: StreamID) -> Event {
        Event(
            kind: .linked, stream: stream, key: "command/\(places + 1)",
            occurredAt: Expectation.now, observedAt: Expectation.now, source: .command,
            content: content)
    }
}
