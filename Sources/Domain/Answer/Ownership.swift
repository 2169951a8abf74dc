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

/// Whose a line is by its own words, before it is asked whose the tokens are.
public enum LineOwner: Sendable, Hashable {
    /// Whoever the token is bound to, or its own customer.
    case token(CustomerNumber)
    case customer(CustomerNumber)

    /// The customer, as far as links of tokens are known.
    public func customer(_ links: TokenLinks) -> CustomerNumber {
        switch self {
        case .token(let token): links[token] ?? token
        case .customer(let customer): customer
        }
    }
}

extension Line {
    /// Whose the line is, in order of time, without overlap (R13).
    ///
    /// - Shape: empty when it is nobody's, or when no transaction of it is known.
    public func tenures(_ links: TokenLinks, _ settings: Settings) -> [Tenure] {
        var tenures: [Tenure] = []
        for (instant, owner) in owners(settings) {
            let customer = owner?.customer(links)
            if let last = tenures.last, last.until == nil {
                if last.customer == customer { continue }
                tenures[tenures.count - 1].until = instant
            }
            if let customer {
                tenures.append(Tenure(customer: customer, from: instant, until: nil))
            }
        }
        return tenures
    }

    /// Whose the line is from which instants on, by its own words, in order of time; `nil`: nobody's.
    ///
    /// - Shape: the first one is when the line starts.
    public func owners(_ settings: Settings) -> [(from: Instant, owner: LineOwner?)] {
        guard let start else { return [] }
        let transfers = transfers(settings).map {
            Word(from: max($0.from ?? start, start), owner: .customer($0.customer))
        }
        let periodOwners = periodOwners
        let instants = Set(periodOwners.map(\.from)).union(transfers.map(\.from))
        var said = LastWord(transfers)
        var begun = LastWord(periodOwners)
        return instants.sorted().map { instant in
            (instant, said.word(at: instant)?.owner ?? begun.word(at: instant)?.owner)
        }
    }

    /// Every number that could make the line somebody's: what to look a customer's lines up by.
    public var namedCustomers: Set<CustomerNumber> {
        tokens.union(claims.map(\.customer))
    }

    /// Every token of its periods.
    public var tokens: Set<CustomerNumber> { Set(periods.compactMap(\.token)) }

    /// Explicit transfers by place on the record; the later word counts from its instant on.
    private func transfers(_ settings: Settings) -> [LineBinding] {
        claims.compactMap { claim in
            switch claim {
            case .binding(let binding): return binding
            case .presentation(let shown):
                guard settings.rules(at: shown.at).ownership == .lastPresenter else { return nil }
                return LineBinding(customer: shown.customer, from: shown.at)
            }
        }
    }

    /// The owner of each period without transfers: its token's, its predecessor's, the first
    /// presenter.
    private var periodOwners: [Word] {
        var owners: [Word] = []
        var owner = (presentations.first?.customer).map(LineOwner.customer)
        for period in periods {
            if let token = period.token { owner = .token(token) }
            owners.append(Word(from: period.from, owner: owner))
        }
        return owners
    }
}

extension Line.Claim {
    /// Whose the line is by this word.
    var customer: CustomerNumber {
        switch self {
        case .binding(let binding): binding.customer
        case .presentation(let shown): shown.customer
        }
    }
}

/// Whose a line is from an instant on, as far as one source knows; `nil`: nobody's.
private struct Word {
    let from: Instant
    let owner: LineOwner?
}

/// Of the words that hold by an instant, the last one in their own order.
private struct LastWord {
    private let words: [Word]
    private let byBegin: [Int]
    private var next = 0
    private var last: Int?

    init(_ words: [Word]) {
        self.words = words
        byBegin = words.indices.sorted { (words[$0].from, $0) < (words[$1].from, $1) }
    }

    /// The word that counts at an instant, which must not be before the one asked about last.
    mutating func word(at instant: Instant) -> Word? {
        while next < byBegin.count, words[byBegin[next]].from <= instant {
            last = max(last ?? byBegin[next], byBegin[next])
            next += 1
        }
        return last.map { words[$0] }
    }
}
