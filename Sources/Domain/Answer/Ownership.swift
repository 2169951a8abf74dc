/// Whose a line is from one instant to another.
public struct Tenure: Sendable, Hashable {
    /// The owner.
    public var customer: CustomerNumber
    /// When it begins.
    public var from: Instant
    /// When it ends; `nil` while nothing is known to end it.
    public var until: Instant?

    /// Whether it holds at an instant.
    public func holds(at instant: Instant) -> Bool {
        from <= instant && instant < until ?? .distantFuture
    }
}

/// Which customer each token is bound to, as far as known.
public typealias TokenLinks = [CustomerNumber: CustomerNumber]

extension Line {
    /// Whose the line is, in order of time, without overlap (R13).
    ///
    /// - Shape: empty when it is nobody's, or when no transaction of it is known.
    public func tenures(_ links: TokenLinks, _ settings: Settings) -> [Tenure] {
        guard let start else { return [] }
        let transfers = transfers(settings)
        let periodOwners = periodOwners(links)
        var instants = Set(periodOwners.map(\.from))
        instants.formUnion(transfers.compactMap(\.from).filter { $0 > start })
        instants.insert(start)
        var tenures: [Tenure] = []
        for instant in instants.sorted() {
            let transfer = transfers.last { ($0.from ?? start) <= instant }
            let owner =
                transfer?.customer ?? periodOwners.last { $0.from <= instant }?.customer
            if let last = tenures.last, last.until == nil {
                if last.customer == owner { continue }
                tenures[tenures.count - 1].until = instant
            }
            if let owner { tenures.append(Tenure(customer: owner, from: instant, until: nil)) }
        }
        return tenures
    }

    /// Every number that could make the line somebody's: what to look a customer's lines up by.
    public var namedCustomers: Set<CustomerNumber> {
        Set(periods.compactMap(\.token)).union(bindings.map(\.customer))
            .union(presentations.map(\.customer))
    }

    /// Every token of its periods.
    public var tokens: Set<CustomerNumber> { Set(periods.compactMap(\.token)) }

    /// Explicit transfers by place on the record; the later word counts from its instant on.
    private func transfers(_ settings: Settings) -> [LineBinding] {
        let taken = presentations.filter {
            settings.rules(at: $0.at).ownership == .lastPresenter
        }
        return bindings + taken.map { LineBinding(customer: $0.customer, from: $0.at) }
    }

    /// The owner of each period without transfers: its token's, its predecessor's, the first
    /// presenter.
    private func periodOwners(_ links: TokenLinks) -> [(from: Instant, customer: CustomerNumber?)] {
        var owners: [(from: Instant, customer: CustomerNumber?)] = []
        var owner = presentations.first?.customer
        for period in periods {
            if let token = period.token { owner = links[token] ?? token }
            owners.append((period.from, owner))
        }
        return owners
    }
}
