/// A fact in the past tense, not yet placed in the ledger.
public struct Event: Sendable, Hashable {
    /// What the evidence taught.
    public var kind: Kind
    /// The stream that it belongs to.
    public var stream: StreamID
    /// The identity within its stream: a notification's UUID, a statement's fingerprint, or a
    /// command's own identity.
    public var key: String
    /// The world it belongs to; `nil` for settings, tokens and customers.
    public var environment: Environment?
    /// The customer that it names.
    public var subject: CustomerNumber?
    /// When it happened, by the statement or the command.
    public var occurredAt: Instant
    /// When Apple signed it.
    public var signedAt: Instant?
    /// When we received it.
    public var observedAt: Instant
    /// Where it came from.
    public var source: Source
    /// SHA-256 of the signed text that says it.
    public var evidence: Fingerprint?
    /// What it says.
    public var content: Content

    /// An event of these parts.
    public init(
        kind: Kind, stream: StreamID, key: String, environment: Environment? = nil,
        subject: CustomerNumber? = nil, occurredAt: Instant, signedAt: Instant? = nil,
        observedAt: Instant, source: Source, evidence: Fingerprint? = nil, content: Content
    ) {
        self.kind = kind
        self.stream = stream
        self.key = key
        self.environment = environment
        self.subject = subject
        self.occurredAt = occurredAt
        self.signedAt = signedAt
        self.observedAt = observedAt
        self.source = source
        self.evidence = evidence
        self.content = content
    }

    /// What an event can say.
    public enum Content: Sendable, Hashable {
        // Large, and moved about much: kept elsewhere.
        indirect case notice(Notice)
        indirect case transaction(TransactionStatement)
        indirect case renewal(RenewalStatement)
        case confirmation(Confirmation)
        case tokenLink(TokenLink)
        case binding(LineBinding)
        case presentation(Presentation)
        case grant(Grant)
        case grantEnd(GrantEnd)
        case merge(Merge)
        case unmerge(Merge)
        case settings(SettingsChange)
        case catalog(CatalogChange)
        case rates(RatesSet)
        /// Kept as recorded; it means nothing here yet.
        case unrecognized(JSON)
        /// A known form that lacks what it must have: it halts the fold of its stream.
        case unreadable(Position)
    }
}

/// The same statement again, signed at another time.
public struct Confirmation: Sendable, Hashable {
    /// The statement that was repeated.
    public var statement: Fingerprint
    /// When this copy was signed.
    public var signedAt: Instant

    /// A repetition of a statement.
    public init(statement: Fingerprint, signedAt: Instant) {
        self.statement = statement
        self.signedAt = signedAt
    }
}

/// An account token was bound to a customer, from the token's beginning on.
public struct TokenLink: Sendable, Hashable {
    /// The token's number.
    public var token: CustomerNumber
    /// Whose it is from now on known to be.
    public var customer: CustomerNumber

    /// A binding of a token.
    public init(token: CustomerNumber, customer: CustomerNumber) {
        self.token = token
        self.customer = customer
    }
}

/// The backend said whose a line is.
public struct LineBinding: Sendable, Hashable {
    /// Whose it is.
    public var customer: CustomerNumber
    /// From when on; `nil`: from the line's start.
    public var from: Instant?

    /// A binding of a line.
    public init(customer: CustomerNumber, from: Instant?) {
        self.customer = customer
        self.from = from
    }
}

/// A customer's app showed a transaction of a line.
public struct Presentation: Sendable, Hashable {
    /// Who showed it.
    public var customer: CustomerNumber
    /// When we received it.
    public var at: Instant

    /// A presentation of a line.
    public init(customer: CustomerNumber, at: Instant) {
        self.customer = customer
        self.at = at
    }
}

/// An event with its place in the ledger.
public struct Entry: Sendable, Hashable {
    /// Its place in the whole ledger.
    public var position: Position
    /// Its place in its stream, from 1.
    public var revision: Int64
    /// When the ledger recorded it.
    public var recordedAt: Instant
    /// What happened.
    public var event: Event

    /// An event at its place.
    public init(position: Position, revision: Int64, recordedAt: Instant, event: Event) {
        self.position = position
        self.revision = revision
        self.recordedAt = recordedAt
        self.event = event
    }
}
