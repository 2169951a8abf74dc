public import Domain
import Ledger
import Postgres
public import Projecting

/// The projection `entitlements`: which lines may be whose, and whose the tokens are.
public struct HoldingsProjection: Projection {
    /// `entitlements`.
    public let name = "entitlements"
    /// Raised when what is held changes its meaning.
    public let edition: Int64 = 2

    static let holdings = ProjectionTable(
        "holding", key: ["customer": .int8, "bucket": .int2, "stream": .text])
    static let links = ProjectionTable(
        "token_link", key: ["token": .int8, "customer": .int8], ["position": .int8])
    static let customers = ProjectionTable(
        "customer", key: ["customer": .int8], ["position": .int8, "state": .json])
    static let merges = ProjectionTable(
        "merge", key: ["customer": .int8, "into_customer": .int8])

    /// Who may hold which line, whose the tokens are, grants, and who may read as whom.
    public let tables = [
        HoldingsProjection.holdings, HoldingsProjection.links, HoldingsProjection.customers,
        HoldingsProjection.merges,
    ]

    /// The projection.
    public init() {}

    /// Of lines, tokens and customers.
    public func fold(of stream: StreamID) -> (any StreamFold)? {
        if stream.line != nil { return HolderFold(stream) }
        if stream.customer != nil { return PersonFold(stream) }
        return stream.name.hasPrefix("token/") ? LinkFold(stream) : nil
    }
}

/// The customers that a line's entries name, whatever else they say.
private struct HolderFold: StreamFold {
    static let needsHistory = false
    static let readsContent = false

    private let stream: StreamID
    private var holders: [CustomerNumber: Position] = [:]

    init(_ stream: StreamID) { self.stream = stream }

    let haltedAt: Position? = nil

    mutating func apply(_ entry: Entry) {
        guard let subject = entry.event.subject else { return }
        holders[subject] = holders[subject] ?? entry.position
    }

    func addRows(since position: Position, to rows: inout ProjectedRows) {
        for (holder, place) in holders where place > position {
            rows.add(
                to: HoldingsProjection.holdings,
                [.int8(holder.number), .int2(Int16(Bucket.of(stream))), .text(stream.name)])
        }
    }
}

/// Everybody that a token was ever bound to.
private struct LinkFold: StreamFold {
    static let needsHistory = true

    private var links: [TokenLink: Position] = [:]
    private(set) var haltedAt: Position?

    init(_ stream: StreamID) {}

    mutating func apply(_ entry: Entry) {
        guard haltedAt == nil else { return }
        switch entry.event.content {
        case .tokenLink(let link): links[link] = entry.position
        case .unreadable(let place): haltedAt = place
        default: break
        }
    }

    func addRows(since position: Position, to rows: inout ProjectedRows) {
        for (link, place) in links where place > position {
            rows.add(
                to: HoldingsProjection.links,
                [.int8(link.token.number), .int8(link.customer.number), .int8(place.number)])
        }
    }
}

/// A customer's grants, and everybody it was ever merged into.
private struct PersonFold: StreamFold {
    static let needsHistory = true

    private var subscription: Subscription
    private var others: [CustomerNumber: Position] = [:]

    init(_ stream: StreamID) { subscription = Subscription(stream) }

    var haltedAt: Position? { subscription.haltedAt }

    mutating func apply(_ entry: Entry) {
        subscription.apply(entry)
        guard haltedAt == nil, case .merge(let merge) = entry.event.content else { return }
        others[merge.into] = others[merge.into] ?? entry.position
    }

    func addRows(since position: Position, to rows: inout ProjectedRows) {
        let customer = subscription.customer
        rows.add(
            to: HoldingsProjection.customers,
            [
                .int8(customer.number.number), .int8(customer.position.number),
                .json(String(decoding: customer.state.canonicalBytes(), as: UTF8.self)),
            ])
        for (other, place) in others where place > position {
            rows.add(
                to: HoldingsProjection.merges,
                [.int8(customer.number.number), .int8(other.number)])
        }
    }
}
