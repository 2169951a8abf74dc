import Domain
import Ledger
import Postgres

/// What some entries' lines, owners and settings were, folded entry by entry.
struct Surroundings {
    private(set) var settings: Settings
    private var folds: [StreamID: Subscription] = [:]
    private var lines: [StreamID: Line] = [:]
    private var group: [StreamID: Int] = [:]
    private let groups: [[StreamID]]

    /// What concerns the owners of some streams, as of a position.
    ///
    /// - Parameter last: entries up to here name who may be concerned later on.
    init(
        of streams: Set<StreamID>, asOf position: Position, upTo last: Position,
        reader: LedgerReader, pool: ConnectionPool
    ) async throws(LedgerError) {
        groups = try await Kinship.groups(of: streams, upTo: last, pool)
        settings = Settings()
        for (number, streams) in groups.enumerated() {
            for stream in streams {
                group[stream] = number
                folds[stream] = Subscription(stream)
            }
        }
        for entry in try await reader.entries(of: folds.keys.sorted() + [.settings], upTo: position)
        {
            apply(entry)
        }
    }

    /// Takes one more entry in; entries come in order.
    mutating func apply(_ entry: Entry) {
        let stream = entry.event.stream
        if stream == .settings {
            settings = settings.evolved(by: entry)
        } else {
            folds[stream]?.apply(entry)
            lines[stream] = nil
        }
    }

    /// A line as it is now; `nil` when nothing is known of it.
    mutating func line(_ stream: StreamID) -> Line? {
        if let known = lines[stream] { return known }
        guard let fold = folds[stream], !fold.isEmpty else { return nil }
        let line = fold.line()
        lines[stream] = line
        return line
    }

    /// The revision of a stream's last entry.
    func revision(_ stream: StreamID) -> Int64 { folds[stream]?.revision ?? 0 }

    /// Whose a token is; `nil` while it is nobody's but its own.
    func linked(_ stream: StreamID) -> CustomerNumber? { folds[stream]?.linkedCustomer }

    /// Who reads a customer's things at an instant.
    func reader(of customer: CustomerNumber, at instant: Instant) -> CustomerNumber {
        people(group[.customer(customer)]).read(customer, at: instant)
    }

    /// Who owns a line at an instant, or reads as its owner.
    mutating func owner(of stream: StreamID, at instant: Instant) -> CustomerNumber? {
        guard let line = line(stream) else { return nil }
        let tenures = line.tenures(links(group[stream]), settings)
        let tenure = tenures.last { $0.holds(at: instant) } ?? tenures.first
        return tenure.map { people(group[stream]).read($0.customer, at: instant) }
    }

    /// What a customer may use at an instant in one environment.
    mutating func entitlements(
        of customer: CustomerNumber, _ environment: Environment, at instant: Instant
    ) -> [Entitlement] {
        guard let number = group[.customer(customer)] else { return [] }
        var mine: [Line] = []
        for stream in groups[number] where stream.line?.environment == environment {
            if let line = line(stream) { mine.append(line) }
        }
        let holdings = Holdings(
            lines: mine, links: links(number), settings: settings, customers: people(number))
        return holdings.verdicts(for: customer, at: instant).entitlements
    }

    private func links(_ number: Int?) -> TokenLinks {
        var links: TokenLinks = [:]
        for stream in number.map({ groups[$0] }) ?? [] {
            if let token = stream.person, stream.customer == nil {
                links[token] = folds[stream]?.linkedCustomer
            }
        }
        return links
    }

    private func people(_ number: Int?) -> Customers {
        var people: [CustomerNumber: Customer] = [:]
        for stream in number.map({ groups[$0] }) ?? [] {
            guard let customer = stream.customer, let fold = folds[stream], !fold.isEmpty else {
                continue
            }
            people[customer] = fold.customer
        }
        return Customers(people)
    }
}
