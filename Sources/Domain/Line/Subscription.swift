/// All that one line's stream says, folded: a set of statements that only grows.
///
/// Entries are taken in their recorded order, each however often. The same evidence recorded in
/// another order gives other entries and the same line.
public struct Subscription: Sendable, Hashable {
    /// The stream that it folds.
    public let stream: StreamID
    /// The last entry folded.
    public private(set) var position = Position.start
    /// The revision of the stream's last entry, folded or not.
    public private(set) var revision: Int64 = 0
    /// Where each event's key was first recorded.
    public private(set) var held: [String: Position] = [:]

    var transactions: [String: Copies<TransactionStatement>] = [:]
    /// Which transaction a fingerprint states, confirmations included.
    private var transactionStated: [Fingerprint: String] = [:]
    var renewals = Copies<RenewalStatement>()
    var notices: [String: Notice] = [:]
    var claims: [Placed<Line.Claim>] = []
    private var links: [Placed<TokenLink>] = []
    /// Grants and merges, in a customer's stream.
    public private(set) var customer: Customer
    /// Exchange rates, in a stream of them.
    public private(set) var rates = ExchangeRates()
    /// The first entry that could not be read, if any; from it on nothing more is learnt.
    public private(set) var haltedAt: Position?

    /// A command with its place, which decides between commands.
    struct Placed<Command: Sendable & Hashable>: Sendable, Hashable {
        var position: Position
        var command: Command
    }

    /// A stream without entries.
    public init(_ stream: StreamID) {
        self.stream = stream
        customer = Customer(stream.customer ?? CustomerNumber(0))
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

    /// Takes one more entry in; a key that is held already teaches nothing.
    public mutating func apply(_ entry: Entry) {
        // Even a halted stream must know what it holds, or nothing could be appended to it.
        revision = max(revision, entry.revision)
        let event = entry.event
        let earlier = held.updateValue(entry.position, forKey: event.key)
        if let earlier, earlier < entry.position { held[event.key] = earlier }
        guard haltedAt == nil else { return }
        position = max(position, entry.position)
        guard earlier == nil else { return }
        learn(event, at: entry.position)
        customer.apply(entry)
    }

    private mutating func learn(_ event: Event, at place: Position) {
        switch event.content {
        case .notice(let notice):
            notices[notice.uuid] = notice
            for fingerprint in notice.repeats { strengthen(fingerprint, by: event.source) }
        case .transaction(let statement):
            let copy = Copy(statement, Fingerprint(hex: event.key), from: event.source)
            transactions[statement.transaction, default: Copies()].insert(copy)
            transactionStated[copy.fingerprint] = statement.transaction
        case .renewal(let statement):
            renewals.insert(Copy(statement, Fingerprint(hex: event.key), from: event.source))
        case .confirmation(let confirmation):
            confirm(confirmation, by: Fingerprint(hex: event.key), from: event.source)
        case .binding(let binding):
            claims.append(Placed(position: place, command: .binding(binding)))
        case .presentation(let presentation):
            claims.append(Placed(position: place, command: .presentation(presentation)))
        case .tokenLink(let link):
            links.append(Placed(position: place, command: link))
        case .rates(let set): rates.apply(set)
        case .unreadable(let place): haltedAt = place
        case .grant, .grantEnd, .merge, .unmerge, .settings, .catalog, .unrecognized:
            break  // of another fold, or kept without a meaning yet
        }
    }

    private mutating func confirm(
        _ confirmation: Confirmation, by fingerprint: Fingerprint, from source: Source
    ) {
        if let transaction = transactionStated[confirmation.statement] {
            transactionStated[fingerprint] = transaction
            transactions[transaction]?.confirm(confirmation, by: fingerprint, from: source)
        } else {
            renewals.confirm(confirmation, by: fingerprint, from: source)
        }
    }

    private mutating func strengthen(_ fingerprint: Fingerprint, by source: Source) {
        if let transaction = transactionStated[fingerprint] {
            transactions[transaction]?.strengthen(fingerprint, by: source)
        } else {
            renewals.strengthen(fingerprint, by: source)
        }
    }

    /// Where a statement that is held came from: the weightiest source that stated it.
    func source(of fingerprint: Fingerprint) -> Source? {
        guard held[fingerprint.hex] != nil else { return nil }
        if let transaction = transactionStated[fingerprint] {
            return transactions[transaction]?.copy(fingerprint)?.source
        }
        return renewals.copy(fingerprint)?.source
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
