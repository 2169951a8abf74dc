/// A JSON text as a value, exact: integers stay integers, other numbers stay as written.
///
/// - Source: RFC 8259. Member names are unique; a text that names one twice is refused.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without fraction or exponent that fits 64 bits.
    case integer(Int64)
    /// Any other number, as it was written.
    case number(String)
    case string(String)
    case array([JSON])
    case object([Member])

    /// One member of an object.
    public struct Member: Sendable, Hashable {
        /// The name, unescaped.
        public let name: String
        /// The value.
        public let value: JSON

        /// A member of this name and value.
        public init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// An object of these members; those without a value are left out.
    public init(members: KeyValuePairs<String, JSON?>) {
        self = .object(
            members.compactMap { member in member.value.map { Member(member.key, $0) } })
    }

    /// The member of this name; `nil` when there is none, when it is null, or on no object.
    public subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        let count = name.utf8.count
        for index in members.indices
        where members[index].name.utf8.count == count && members[index].name == name {
            if case .null = members[index].value { return nil }
            return members[index].value
        }
        return nil
    }

    /// The text, when this is one.
    public var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, when this is an integer.
    public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The truth value, when this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements, when this is an array.
    public var elements: [JSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members, when this is an object.
    public var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// What kind of value this is, in words for an error.
    public var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .integer, .number: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}

extension JSON {
    /// A text, or nothing for `nil`.
    public static func text(_ value: String?) -> JSON? { value.map(JSON.string) }
    /// An integer, or nothing for `nil`.
    public static func whole(_ value: Int64?) -> JSON? { value.map(JSON.integer) }
    /// An instant as milliseconds, or nothing for `nil`.
    public static func instant(_ value: Instant?) -> JSON? {
        value.map { .integer($0.milliseconds) }
    }
    /// A truth value, or nothing for `nil`.
    public static func truth(_ value: Bool?) -> JSON? { value.map(JSON.bool) }
}
