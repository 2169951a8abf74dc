/// One value for a place `$1`, `$2`, … of a statement, sent in binary with its type.
///
/// - Shape: text and JSON may not contain a NUL character; arrays have one dimension.
public enum Parameter: Sendable, Hashable {
    /// SQL NULL, of the type the statement implies.
    case null
    case bool(Bool)
    case int2(Int16)
    case int4(Int32)
    case int8(Int64)
    case double(Double)
    case text(String)
    /// JSON text, sent as `json`.
    case json(String)
    case bytes([UInt8])

    case bools([Bool])
    case int4s([Int32])
    case int8s([Int64])
    /// `int8[]` in which some elements are NULL.
    case int8sIfAny([Int64?])
    case texts([String?])
    /// JSON texts, sent as `json[]`.
    case jsons([String?])
    case byteas([[UInt8]?])

    /// The number, or NULL.
    public static func int8(ifAny value: Int64?) -> Parameter { value.map { .int8($0) } ?? .null }
    /// The number, or NULL.
    public static func int4(ifAny value: Int32?) -> Parameter { value.map { .int4($0) } ?? .null }
    /// The truth value, or NULL.
    public static func bool(ifAny value: Bool?) -> Parameter { value.map { .bool($0) } ?? .null }
    /// The text, or NULL.
    public static func text(ifAny value: String?) -> Parameter { value.map { .text($0) } ?? .null }
    /// The bytes, or NULL.
    public static func bytes(ifAny value: [UInt8]?) -> Parameter {
        value.map { .bytes($0) } ?? .null
    }

    var type: TypeID {
        switch self {
        case .null: .inferred
        case .bool: .bool
        case .int2: .int2
        case .int4: .int4
        case .int8: .int8
        case .double: .float8
        case .text: .text
        case .json: .json
        case .bytes: .bytea
        case .bools: .bools
        case .int4s: .int4s
        case .int8s, .int8sIfAny: .int8s
        case .texts: .texts
        case .jsons: .jsons
        case .byteas: .byteas
        }
    }
}

/// A statement and the values for its places.
public struct Statement: Sendable, Equatable {
    /// One SQL statement, with `$1`, `$2`, … for values.
    public let sql: String
    /// The values, in the order of their numbers.
    public let parameters: [Parameter]

    /// The statement with these values.
    public init(_ sql: String, _ parameters: [Parameter] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}
