/// What tells a row from the others.
public struct RowKey: Sendable, Hashable, Comparable {
    var parts: [Dimension: String?]

    init(_ parts: [Dimension: String?]) { self.parts = parts }

    /// The parts by their names, in order; a value that is not known is `nil`.
    public var members: [(name: String, value: String?)] {
        parts.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key.rawValue, $0.value) }
    }

    /// The order of names and values; what is not known comes last.
    public static func < (left: RowKey, right: RowKey) -> Bool {
        for (mine, others) in zip(left.members, right.members) where mine.value != others.value {
            guard let value = mine.value else { return false }
            guard let other = others.value else { return true }
            // Ages and numbers of periods are numbers.
            if mine.name == "age" || mine.name == "period", value.count != other.count {
                return value.count < other.count
            }
            return value < other
        }
        return left.parts.count < right.parts.count
    }
}

/// One row of an answer.
public struct MetricRow: Sendable, Hashable {
    /// What it is about.
    public let key: RowKey
    /// Its members in order.
    public let values: [Value]

    /// One member.
    public struct Value: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// The number.
        public let number: Number
    }

    /// A number as it is written.
    public enum Number: Sendable, Hashable {
        case whole(Int64)
        /// A ratio in millionths, rounded half to even.
        case millionths(Int64)
        /// There is none.
        case null
    }
}
