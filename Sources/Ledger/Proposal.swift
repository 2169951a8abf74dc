public import Domain

/// Something to be recorded: the evidence, and how to decide what it adds.
public struct Proposal: Sendable {
    /// Account tokens whose numbers are needed, in lower case.
    public var tokens: [String]
    /// The backend's customer ids whose numbers are needed.
    public var customers: [String]
    /// The streams to decide with; asked again with what is known until it names no new one.
    public var streams: @Sendable (Known) -> [StreamID]
    /// What to append, given the streams; pure, and called again when another writer was faster.
    public var decide: @Sendable (Known) -> Decision
    /// The signed text behind it.
    public var evidence: Evidence?
    /// The keys under which the record holds it when it is a repeat.
    public var keys: [String]
    /// Where the record holds what was appended with it: a repeat answers that position too.
    public var companions: @Sendable (Known) -> [(stream: StreamID, key: String)]

    /// A proposal of these parts.
    public init(
        tokens: [String] = [], customers: [String] = [], evidence: Evidence? = nil,
        keys: [String] = [],
        companions: @escaping @Sendable (Known) -> [(stream: StreamID, key: String)] = { _ in [] },
        streams: @escaping @Sendable (Known) -> [StreamID],
        decide: @escaping @Sendable (Known) -> Decision
    ) {
        self.tokens = tokens
        self.customers = customers
        self.evidence = evidence
        self.keys = keys
        self.companions = companions
        self.streams = streams
        self.decide = decide
    }
}

/// What to do with a proposal.
public enum Decision: Sendable {
    /// Append these events; none when all is held already.
    case append([Event])
    /// Append nothing, and say why.
    case refuse(Objection)
}

/// Signed text in its compact form.
public struct Evidence: Sendable {
    /// SHA-256 of the text as it arrived, hex.
    public var digest: Fingerprint
    /// When it arrived.
    public var receivedAt: Instant
    /// Where it came from.
    public var source: Source
    /// The compact form.
    public var template: [UInt8]
    /// The header segments that the form names, by digest.
    public var certificates: [Fingerprint: [UInt8]]
    /// The account tokens that the form leaves out, as written.
    public var tokens: [String]

    /// Evidence of these parts.
    public init(
        digest: Fingerprint, receivedAt: Instant, source: Source, template: [UInt8],
        certificates: [Fingerprint: [UInt8]], tokens: [String]
    ) {
        self.digest = digest
        self.receivedAt = receivedAt
        self.source = source
        self.template = template
        self.certificates = certificates
        self.tokens = tokens
    }
}

/// What the writer knows when a proposal is decided.
public struct Known: Sendable {
    /// The asked streams.
    public var streams: [StreamID: Subscription] = [:]
    /// The settings on the record.
    public var settings = Settings()
    /// Numbers of account tokens.
    public var tokens: [String: CustomerNumber] = [:]
    /// Numbers of customers.
    public var customers: [String: CustomerNumber] = [:]

    /// The fold of a stream; empty when nothing is recorded.
    public func subscription(_ stream: StreamID) -> Subscription {
        streams[stream] ?? Subscription(stream)
    }

    /// What a proposal asked for. A copy of all would make the next change copy all.
    func part(for proposal: Proposal) -> Known {
        var part = Known()
        part.settings = settings
        for stream in proposal.streams(self) { part.streams[stream] = streams[stream] }
        for token in proposal.tokens { part.tokens[token] = tokens[token] }
        for customer in proposal.customers { part.customers[customer] = customers[customer] }
        return part
    }
}

/// What became of a proposal.
public struct Appended: Sendable {
    /// The last position of what it added, or of what already held it.
    public var position: Position
    /// How many entries were added.
    public var count: Int
    /// What was known after it, of what it asked for.
    public var known: Known
}
