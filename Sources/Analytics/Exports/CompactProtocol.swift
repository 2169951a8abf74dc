/// Writes structures as Thrift's compact protocol does: the form of Parquet's headers and footer.
///
/// - Source: Apache Thrift, `thrift-compact-protocol.md`.
struct CompactProtocol {
    private(set) var bytes: [UInt8] = []
    /// The last field of each open structure.
    private var fields: [Int] = [0]

    private enum Form: UInt8 {
        case yes = 1, no = 2, i32 = 5, i64 = 6, binary = 8, list = 9, structure = 12
    }

    /// A number of 32 bits.
    mutating func i32(_ field: Int, _ value: Int) {
        begin(field, .i32)
        zigzag(Int64(value))
    }

    /// A number of 64 bits.
    mutating func i64(_ field: Int, _ value: Int64) {
        begin(field, .i64)
        zigzag(value)
    }

    mutating func truth(_ field: Int, _ value: Bool) { begin(field, value ? .yes : .no) }

    mutating func text(_ field: Int, _ value: String) {
        begin(field, .binary)
        append(value)
    }

    /// A structure within the open one.
    mutating func structure(_ field: Int, _ body: (inout CompactProtocol) -> Void) {
        begin(field, .structure)
        nested(body)
    }

    /// A list of structures.
    mutating func structures<Element>(
        _ field: Int, _ elements: [Element], _ body: (inout CompactProtocol, Element) -> Void
    ) {
        begin(field, .list)
        beginList(elements.count, .structure)
        for element in elements { nested { body(&$0, element) } }
    }

    /// A list of numbers of 32 bits.
    mutating func i32s(_ field: Int, _ values: [Int]) {
        begin(field, .list)
        beginList(values.count, .i32)
        for value in values { zigzag(Int64(value)) }
    }

    /// A list of texts.
    mutating func texts(_ field: Int, _ values: [String]) {
        begin(field, .list)
        beginList(values.count, .binary)
        for value in values { append(value) }
    }

    /// Ends the outermost structure.
    mutating func end() { bytes.append(0) }

    private mutating func nested(_ body: (inout CompactProtocol) -> Void) {
        fields.append(0)
        body(&self)
        fields.removeLast()
        bytes.append(0)
    }

    private mutating func begin(_ field: Int, _ form: Form) {
        let step = field - fields[fields.count - 1]
        precondition((1...15).contains(step), "fields are written in order")
        bytes.append(UInt8(step) << 4 | form.rawValue)
        fields[fields.count - 1] = field
    }

    private mutating func beginList(_ count: Int, _ form: Form) {
        guard count >= 15 else {
            bytes.append(UInt8(count) << 4 | form.rawValue)
            return
        }
        bytes.append(0xF0 | form.rawValue)
        CompactProtocol.append(UInt64(count), to: &bytes)
    }

    private mutating func append(_ text: String) {
        CompactProtocol.append(UInt64(text.utf8.count), to: &bytes)
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func zigzag(_ value: Int64) {
        CompactProtocol.append(UInt64(bitPattern: value << 1 ^ value >> 63), to: &bytes)
    }

    /// Seven bits a byte, the lowest first.
    static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
