public import Domain

/// What one period, or one payment of it, adds to one cell of an answer.
public struct Trace: Sendable {
    /// Which cell, and which period.
    public var id: ID
    /// How much, rounded half to even.
    public var amount: Int64

    /// What tells a trace from others, and their order.
    public struct ID: Sendable, Hashable, Comparable {
        /// The line's stream.
        public var stream: StreamID
        /// The period's lowest transaction id; empty when it is about no period.
        public var transaction: String
        /// The row.
        public var key: RowKey
        /// The member of the row.
        public var member: String

        /// The order of lines, transactions, rows and members.
        public static func < (left: ID, right: ID) -> Bool { left.text < right.text }

        /// All of it as one text, ordered as the trace is.
        ///
        /// - Shape: parts by `U+001F`; no part contains it.
        public var text: String {
            let parts = key.members.map { "\($0.name)=\($0.value ?? "")" }
            return ([stream.name, transaction] + parts + [member]).joined(separator: "\u{1F}")
        }
    }
}

/// Gathers the traces of one page: the first ones after a place, and no more.
struct Traces: Sendable {
    /// The text of the last trace of the page before.
    private let after: String
    private let limit: Int
    private var found: [Trace.ID: ExactSum] = [:]
    /// The last text that can still be of the page.
    private var bound: String?

    init(after: String, limit: Int) {
        self.after = after
        self.limit = limit
    }

    mutating func note(_ sum: ExactSum, of id: Trace.ID) {
        let text = id.text
        guard text > after, bound.map({ text <= $0 }) ?? true else { return }
        found[id, default: ExactSum()].add(sum)
        if found.count > limit * 4 { prune() }
    }

    /// Keeps those of the page and the one after it.
    private mutating func prune() {
        let kept = found.keys.map { ($0.text, $0) }.sorted { $0.0 < $1.0 }.prefix(limit + 1)
        bound = kept.last?.0
        found = Dictionary(uniqueKeysWithValues: kept.map { ($0.1, found[$0.1] ?? ExactSum()) })
    }

    /// The page, and whether there are more.
    var page: (traces: [Trace], hasMore: Bool) {
        let ordered = found.map { ($0.key.text, $0.key, $0.value) }.sorted { $0.0 < $1.0 }
        let traces = ordered.prefix(limit).map { Trace(id: $0.1, amount: $0.2.rounded) }
        return (traces, ordered.count > limit)
    }
}

/// What some lines add to each cell: to tell why cells changed.
struct Contributions: Sendable {
    let streams: Set<StreamID>
    private(set) var found: [StreamID: [RowKey: [String: ExactSum]]] = [:]

    init(of streams: Set<StreamID>) { self.streams = streams }

    mutating func note(_ sum: ExactSum, of id: Trace.ID) {
        guard streams.contains(id.stream) else { return }
        found[id.stream, default: [:]][id.key, default: [:]][id.member, default: ExactSum()]
            .add(sum)
    }
}
