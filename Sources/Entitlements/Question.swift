public import Domain

/// What is asked about a customer.
public struct Question: Sendable {
    /// The backend's id, or an unbound account token.
    public var customer: String
    /// The world asked about.
    public var environment: Environment
    /// The instant asked about.
    public var at: Instant
    /// As known at this position; `nil`: as known now.
    public var knownAt: Position?
    /// Lines of this app only.
    public var app: String?

    /// A question.
    public init(
        customer: String, environment: Environment = .production, at: Instant,
        knownAt: Position? = nil, app: String? = nil
    ) {
        self.customer = customer
        self.environment = environment
        self.at = at
        self.knownAt = knownAt
        self.app = app
    }
}

/// What a customer's answers are computed from, as of one position.
public struct CustomerView: Sendable {
    /// The position that the view includes everything up to.
    public var position: Position
    /// The customer's number; `nil` when the ledger has never heard of it.
    public var number: CustomerNumber?
    /// The customer's lines, links and settings.
    public var holdings: Holdings
    /// Lines that do not follow the record, by stream.
    public var halted: Set<StreamID>
    /// The last entry that concerns the customer or the settings.
    public var lastEntry: Position

    /// Whether a line is the customer's, or reads as the customer's, at some instant, or at one.
    public func owns(_ line: Line, at instant: Instant?) -> Bool {
        guard let number else { return false }
        let reader = instant.map { holdings.customers.read(number, at: $0) } ?? number
        return holdings.tenures(of: line, readAs: reader).contains { tenure in
            instant.map { tenure.holds(at: $0) } ?? true
        }
    }

    /// What the customer may use at an instant.
    public func verdicts(at instant: Instant) -> Verdicts {
        guard let number else { return .none }
        var verdicts = holdings.verdicts(for: number, at: instant)
        guard !halted.isEmpty else { return verdicts }
        let lines = Set(halted.compactMap { $0.line?.original })
        for index in verdicts.entitlements.indices {
            let entitlement = verdicts.entitlements[index]
            if entitlement.because.contains(where: { lines.contains($0.line ?? "") })
                || entitlement.because.isEmpty
            {
                verdicts.entitlements[index].flags.append("halted")
            }
        }
        return verdicts
    }
}
