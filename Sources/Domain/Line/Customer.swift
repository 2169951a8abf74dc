/// An entitlement that the backend gave.
public struct Grant: Sendable, Hashable {
    /// What it is called when it is to be ended.
    public var id: String
    /// What it gives.
    public var entitlement: String
    /// From when on.
    public var from: Instant
    /// Until when; `nil` without an end.
    public var until: Instant?
    /// Why it was given, in the backend's words.
    public var reason: String

    /// A grant of these parts.
    public init(id: String, entitlement: String, from: Instant, until: Instant?, reason: String) {
        self.id = id
        self.entitlement = entitlement
        self.from = from
        self.until = until
        self.reason = reason
    }
}

/// The backend took a grant back.
public struct GrantEnd: Sendable, Hashable {
    /// The grant.
    public var id: String
    /// From when on it gives nothing.
    public var at: Instant

    /// The end of a grant.
    public init(id: String, at: Instant) {
        self.id = id
        self.at = at
    }
}

/// The backend said that a customer is another one, or is so no longer.
public struct Merge: Sendable, Hashable {
    /// The other one.
    public var into: CustomerNumber
    /// From when on.
    public var at: Instant

    /// A merge, or its undoing.
    public init(into: CustomerNumber, at: Instant) {
        self.into = into
        self.at = at
    }
}

/// What the stream of one customer says: grants, and who the customer was merged into.
public struct Customer: Sendable, Hashable {
    /// The customer.
    public let number: CustomerNumber
    /// The last entry folded.
    public private(set) var position = Position.start
    /// All grants by their id, ended where they were taken back.
    public private(set) var grants: [String: Grant] = [:]
    /// Whom the customer is read as, by time; never overlapping.
    public private(set) var merges: [Tenure] = []

    /// A customer of whom nothing is recorded.
    public init(_ number: CustomerNumber) { self.number = number }

    /// Takes one more entry of the customer's stream in; entries come in order.
    public mutating func apply(_ entry: Entry) {
        position = entry.position
        switch entry.event.content {
        case .grant(let grant): grants[grant.id] = grant
        case .grantEnd(let end):
            if let until = grants[end.id]?.until, until <= end.at { break }
            grants[end.id]?.until = end.at
        case .merge(let merge):
            cut(at: merge.at)
            merges.append(Tenure(customer: merge.into, from: merge.at, until: nil))
        case .unmerge(let merge): cut(at: merge.at)
        default: break
        }
    }

    /// Takes up what a projection kept.
    mutating func restore(_ position: Position, _ grants: [Grant], _ merges: [Tenure]) {
        self.position = position
        self.grants = Dictionary(grants.map { ($0.id, $0) }) { _, new in new }
        self.merges = merges
    }

    /// Ends what holds at an instant, and forgets what would begin after it.
    private mutating func cut(at instant: Instant) {
        merges.removeAll { $0.from >= instant }
        for index in merges.indices where merges[index].holds(at: instant) {
            merges[index].until = instant
        }
    }

    /// Whom the customer is merged into at an instant; `nil` when into nobody.
    public func merged(at instant: Instant) -> CustomerNumber? {
        merges.last { $0.holds(at: instant) }?.customer
    }
}

/// All customers that have to do with each other, and as whom each is read at an instant.
public struct Customers: Sendable, Hashable {
    private var known: [CustomerNumber: Customer]

    /// These customers.
    public init(_ known: [CustomerNumber: Customer] = [:]) { self.known = known }

    /// What is recorded of a customer.
    public subscript(_ number: CustomerNumber) -> Customer {
        known[number] ?? Customer(number)
    }

    /// Every customer of whom something is recorded.
    public var all: [Customer] { known.values.sorted { $0.number < $1.number } }

    /// The customer as whom another is read at an instant: merges followed to their end.
    public func read(_ number: CustomerNumber, at instant: Instant) -> CustomerNumber {
        var current = number
        // A circle cannot be recorded; that many steps end it all the same.
        for _ in 0...known.count {
            guard let next = known[current]?.merged(at: instant) else { return current }
            current = next
        }
        return current
    }

    /// Every instant at which somebody begins or ends to be read as somebody else.
    public var boundaries: [Instant] {
        known.values.flatMap { $0.merges.flatMap { [$0.from, $0.until ?? .distantFuture] } }
    }

    /// The parts of a span of time during which one customer's things are another's.
    public func parts(
        of owner: CustomerNumber, from: Instant, until: Instant, readAs reader: CustomerNumber
    ) -> [Range<Instant>] {
        guard from < until else { return [] }
        guard !known.isEmpty else { return owner == reader ? [from..<until] : [] }
        let cuts = Set(boundaries.filter { from < $0 && $0 < until }).sorted()
        var parts: [Range<Instant>] = []
        var start = from
        for end in cuts + [until] {
            if read(owner, at: start) == reader {
                if let last = parts.last, last.upperBound == start {
                    parts[parts.count - 1] = last.lowerBound..<end
                } else {
                    parts.append(start..<end)
                }
            }
            start = end
        }
        return parts
    }
}
