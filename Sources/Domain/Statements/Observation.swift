/// Where a statement came from, in falling order of weight for ties (R3).
public enum Source: String, Sendable, Hashable, CaseIterable, Comparable {
    case notification
    case serverAPI
    case app
    case receipt
    case importedAnswer
    /// Commands of the backend or the operator.
    case command

    /// 0 is the weightiest.
    public var rank: Int { Source.allCases.firstIndex(of: self) ?? Source.allCases.count }

    /// Whether the left source outweighs the right one.
    public static func < (left: Source, right: Source) -> Bool { left.rank < right.rank }
}

/// One statement with the identity of its decoded payload.
public struct Stated<Content: Sendable & Hashable>: Sendable, Hashable {
    /// What it says.
    public var content: Content
    /// SHA-256 of the decoded payload: the statement's sameness (R1).
    public var fingerprint: Fingerprint

    /// A statement and its fingerprint.
    public init(_ content: Content, _ fingerprint: Fingerprint) {
        self.content = content
        self.fingerprint = fingerprint
    }
}

/// What one piece of believed evidence says, in our words.
///
/// - Shape: at least one part; all parts belong to one stream (one environment, one line).
public struct Observation: Sendable, Hashable {
    /// The notification around the statements.
    public var notice: Notice?
    /// The transaction that it states.
    public var transaction: Stated<TransactionStatement>?
    /// The renewal info that it states.
    public var renewal: Stated<RenewalStatement>?
    /// Where it came from.
    public var source: Source
    /// When we received it.
    public var observedAt: Instant
    /// SHA-256 of the exact signed text that arrived.
    public var evidence: Fingerprint?

    /// An observation of these parts.
    public init(
        notice: Notice? = nil, transaction: Stated<TransactionStatement>? = nil,
        renewal: Stated<RenewalStatement>? = nil, source: Source, observedAt: Instant,
        evidence: Fingerprint? = nil
    ) {
        self.notice = notice
        self.transaction = transaction
        self.renewal = renewal
        self.source = source
        self.observedAt = observedAt
        self.evidence = evidence
    }

    /// The stream that all parts belong to; `nil` only without any part.
    public var stream: StreamID? {
        transaction?.content.stream ?? renewal?.content.stream ?? notice?.stream
    }
}
