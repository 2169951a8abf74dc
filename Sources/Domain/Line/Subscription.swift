/// All that one line's stream says, folded: a set of statements that only grows.
///
/// The same entries in any order, however often, give an equal value but for the places of their
/// entries, which say where a repeat was first recorded.
public struct Subscription: Sendable, Hashable {
    /// The stream that it folds.
    public let stream: StreamID
    /// The last entry folded.
    public private(set) var position = Position.start
    /// Its revision.
    public private(set) var revision: Int64 = 0
    /// Where each event's key was first recorded.
    public private(set) var held: [String: Position] = [:]

    var transactions: [String: Copies<TransactionStatement>] = [:]
    var renewals = Copies<RenewalStatement>()
    var notices: [String: Notice] = [:]
    var bindings: [Placed<LineBinding>] = []
    var presentations: [Placed<Presentation>] = []
    private var links: [Placed<TokenLink>] = []
    /// The first entry that could not be read, if any; the fold stands where it was before it.
    public private(set) var haltedAt: Position?

    /// A command with its place, which decides between commands.
    struct Placed<Command: Sendable & Hashable>: Sendable, Hashable {
        var position: Position
        var command: Command
    }

    /// A stream without entries.
    public init(_ stream: StreamID) {
        self.stream = stream
    }

    /// The fold of a stream's entries.
    public init(_ stream: StreamID, entries: some Sequence<Entry>) {
        self.init(stream)
        for entry in entries { apply(entry) }
    }

    /// The subscription after one more entry.
    public func evolved(by entry: Entry) -> Subscription {
        var next = self
        next.apply(entry)
        return next
    }

    /// Takes one more entry in.
    public mutating func apply(_ entry: Entry) {
        guard haltedAt == nil else { return }
        position = max(position, entry.position)
        revision = max(revision, entry.revision)
        let event = entry.event
        held[event.key] = min(held[event.key] ?? entry.position, entry.position)
        switch event.content {
        case .notice(let notice): notices[notice.uuid] = notice
        case .transaction(let statement):
            transactions[statement.transaction, default: Copies()].insert(
                Copy(
                    content: statement, fingerprint: Fingerprint(hex: event.key),
                    source: event.source, signedAt: statement.signedAt))
        case .renewal(let statement):
            renewals.insert(
                Copy(
                    content: statement, fingerprint: Fingerprint(hex: event.key),
                    source: event.source, signedAt: statement.signedAt))
        case .confirmation(let confirmation):
            confirm(confirmation, by: Fingerprint(hex: event.key), from: event.source)
        case .binding(let binding):
            bindings.append(Placed(position: entry.position, command: binding))
        case .presentation(let presentation):
            presentations.append(Placed(position: entry.position, command: presentation))
        case .tokenLink(let link):
            links.append(Placed(position: entry.position, command: link))
        case .unreadable(let place): haltedAt = haltedAt ?? place
        case .settings, .catalog, .unrecognized:
            break  // of another fold, or kept without a meaning yet
        }
    }

    private mutating func confirm(
        _ confirmation: Confirmation, by fingerprint: Fingerprint, from source: Source
    ) {
        for (transaction, copies) in transactions {
            if var copy = copies.copy(confirmation.statement) {
                copy.content.signedAt = confirmation.signedAt
                copy.content.flags = []
                copy.resign(confirmation.signedAt, fingerprint, source)
                transactions[transaction]?.insert(copy)
                return
            }
        }
        if var copy = renewals.copy(confirmation.statement) {
            copy.content.signedAt = confirmation.signedAt
            copy.content.flags = []
            copy.resign(confirmation.signedAt, fingerprint, source)
            renewals.insert(copy)
        }
    }

    /// Whose token it is, in a token's stream.
    public var linkedCustomer: CustomerNumber? {
        links.max { $0.position < $1.position }?.command.customer
    }

    /// Whether nothing has been recorded of the line.
    public var isEmpty: Bool { revision == 0 }

    /// Where a statement or command of this key was first recorded.
    public func position(of key: String) -> Position? { held[key] }
}
