import Domain
import Projecting

/// The fold of a line whose rows are made of the whole line each time.
struct LineFold: StreamFold {
    static let needsHistory = true

    private let settings: Settings
    private let make: @Sendable (LineFold, MeasuredLine, inout ProjectedRows) -> Void
    private var subscription: Subscription
    /// The entries that state each transaction.
    private(set) var evidence: [String: [Position]] = [:]

    init?(
        _ stream: StreamID, _ settings: Settings,
        _ make: @escaping @Sendable (LineFold, MeasuredLine, inout ProjectedRows) -> Void
    ) {
        guard stream.line != nil else { return nil }
        subscription = Subscription(stream)
        self.settings = settings
        self.make = make
    }

    var haltedAt: Position? { subscription.haltedAt }

    mutating func apply(_ entry: Entry) {
        subscription.apply(entry)
        guard haltedAt == nil, case .transaction(let statement) = entry.event.content else {
            return
        }
        evidence[statement.transaction, default: []].append(entry.position)
    }

    func addRows(since position: Position, to rows: inout ProjectedRows) {
        make(self, MeasuredLine(subscription.line(), settings), &rows)
    }
}
