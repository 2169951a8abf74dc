/// The number PostgreSQL gives one of its own types.
///
/// - Source: PostgreSQL, catalogue `pg_type`; these never change between releases.
struct TypeID: Equatable, Hashable, Sendable {
    let number: UInt32

    init(_ number: UInt32) { self.number = number }

    static let inferred = TypeID(0)
    static let bool = TypeID(16)
    static let bytea = TypeID(17)
    static let name = TypeID(19)
    static let int8 = TypeID(20)
    static let int2 = TypeID(21)
    static let int4 = TypeID(23)
    static let text = TypeID(25)
    static let oid = TypeID(26)
    static let json = TypeID(114)
    static let float8 = TypeID(701)
    static let unknown = TypeID(705)
    static let bpchar = TypeID(1042)
    static let varchar = TypeID(1043)

    static let jsons = TypeID(199)
    static let bools = TypeID(1000)
    static let byteas = TypeID(1001)
    static let int4s = TypeID(1007)
    static let texts = TypeID(1009)
    static let names = TypeID(1003)
    static let varchars = TypeID(1015)
    static let int8s = TypeID(1016)

    /// Whether the binary form is the text itself.
    var isText: Bool {
        switch self {
        case .text, .varchar, .bpchar, .json, .name, .unknown: true
        default: false
        }
    }

    var spelling: String {
        switch self {
        case .bool: "bool"
        case .bytea: "bytea"
        case .name: "name"
        case .int8: "int8"
        case .int2: "int2"
        case .int4: "int4"
        case .text: "text"
        case .json: "json"
        case .float8: "float8"
        case .varchar: "varchar"
        case .bools: "bool[]"
        case .byteas: "bytea[]"
        case .int4s: "int4[]"
        case .texts: "text[]"
        case .int8s: "int8[]"
        default: "type \(number)"
        }
    }
}
