public import Domain
import Ledger
import Postgres
public import Projecting

/// The projection `subscriptions`: every line, its statements merged.
public struct LinesProjection: Projection {
    /// `subscriptions`.
    public let name = "subscriptions"
    /// Raised when what a line is made of changes.
    public let edition: Int64 = 4

    static let lines = ProjectionTable(
        "line", key: ["bucket": .int2, "stream": .text],
        [
            "position": .int8, "environment": .text, "original": .text, "bundle": .text,
            "product_group": .text, "state": .json, "halted": .text, "doubt": .text,
            "doubt_from": .int8,
        ])
    static let transactions = ProjectionTable(
        "transaction", key: ["environment": .text, "transaction": .text, "original": .text])

    /// Lines, and which of them each transaction id belongs to.
    public let tables = [LinesProjection.lines, LinesProjection.transactions]

    /// The projection.
    public init() {}

    /// Of lines alone.
    public func fold(of stream: StreamID) -> (any StreamFold)? {
        stream.line == nil ? nil : LineFold(stream)
    }
}

/// A line's statements, and where each transaction was first named.
struct LineFold: StreamFold {
    static let needsHistory = true

    private var subscription: Subscription
    /// Where each id was first named. A statement's environment and original id are its stream's.
    private var transactions: [String: Position] = [:]

    init(_ stream: StreamID) { subscription = Subscription(stream) }

    var haltedAt: Position? { subscription.haltedAt }

    mutating func apply(_ entry: Entry) {
        subscription.apply(entry)
        if case .transaction(let statement) = entry.event.content {
            let id = statement.transaction
            let earlier = transactions.updateValue(entry.position, forKey: id)
            if let earlier, earlier < entry.position { transactions[id] = earlier }
        }
    }

    func addRows(since position: Position, to rows: inout ProjectedRows) {
        let line = subscription.line()
        let (environment, original) = (Parameter.text(line.environment.name), line.original)
        rows.add(
            to: LinesProjection.lines,
            [
                .int2(Int16(Bucket.of(line.stream))), .text(line.stream.name),
                .int8(line.position.number), environment, .text(original),
                .text(ifAny: line.bundle), .text(ifAny: line.group), .json(line.state),
                .text(ifAny: haltedAt.map { "entry \($0) cannot be read" }),
                .text(ifAny: line.doubt?.kind.rawValue),
                .int8(ifAny: line.doubt?.from.milliseconds),
            ])
        for (id, place) in transactions where place > position {
            rows.add(
                to: LinesProjection.transactions,
                [environment, .text(id), .text(original)])
        }
    }
}
