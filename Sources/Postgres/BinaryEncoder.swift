internal import Glibc

/// Writes values in PostgreSQL's binary format, one after another, into one buffer.
///
/// - Source: PostgreSQL, the `…send` functions of each type and `array_send`.
struct BinaryEncoder {
    /// Text that cannot be sent because it contains a NUL.
    struct ContainsNUL: Error {}

    private(set) var bytes: [UInt8] = []

    mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

    mutating func append<T: FixedWidthInteger>(_ value: T) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(raw: some Sequence<UInt8>) { bytes.append(contentsOf: raw) }

    mutating func append(text: String) throws(ContainsNUL) {
        guard !text.containsNUL else { throw ContainsNUL() }
        bytes.append(contentsOf: text.utf8)
    }

    /// Writes the value without its length; nothing for NULL.
    mutating func append(_ parameter: Parameter) throws(ContainsNUL) {
        switch parameter {
        case .null: break
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int2(let value): append(value)
        case .int4(let value): append(value)
        case .int8(let value): append(value)
        case .double(let value): append(value.bitPattern)
        case .text(let value), .json(let value): try append(text: value)
        case .bytes(let value): append(raw: value)
        case .bools(let values):
            arrayHead(of: .bool, count: values.count, hasNull: false)
            for value in values {
                append(Int32(1))
                bytes.append(value ? 1 : 0)
            }
        case .int4s(let values): append(integers: values, of: .int4)
        case .int8s(let values): append(integers: values, of: .int8)
        case .int8sIfAny(let values):
            arrayHead(of: .int8, count: values.count, hasNull: values.contains(nil))
            for value in values {
                append(Int32(value == nil ? -1 : 8))
                if let value { append(value) }
            }
        case .texts(let values): try append(texts: values, of: .text)
        case .jsons(let values): try append(texts: values, of: .json)
        case .byteas(let values):
            reserve(values.reduce(20) { $0 + 4 + ($1?.count ?? 0) })
            arrayHead(of: .bytea, count: values.count, hasNull: values.contains(nil))
            for value in values {
                append(value.map { Int32($0.count) } ?? -1)
                if let value { append(raw: value) }
            }
        }
    }

    /// Writes the value behind its length, which is -1 for NULL.
    mutating func appendWithLength(_ parameter: Parameter) throws(ContainsNUL) {
        switch parameter {
        case .null: append(Int32(-1))
        case .int8(let value):
            append(Int32(8))
            append(value)
        case .text(let value), .json(let value):
            append(Int32(value.utf8.count))
            try append(text: value)
        default:
            let start = bytes.count
            append(Int32(-1))
            try append(parameter)
            let length = Int32(bytes.count - start - 4).bigEndian
            withUnsafeBytes(of: length) { raw in
                for (offset, byte) in raw.enumerated() { bytes[start + offset] = byte }
            }
        }
    }

    private mutating func append<T: FixedWidthInteger>(integers values: [T], of type: TypeID) {
        reserve(20 + values.count * (4 + T.bitWidth / 8))
        arrayHead(of: type, count: values.count, hasNull: false)
        for value in values {
            append(Int32(T.bitWidth / 8))
            append(value)
        }
    }

    private mutating func append(texts values: [String?], of type: TypeID) throws(ContainsNUL) {
        arrayHead(of: type, count: values.count, hasNull: values.contains(nil))
        for value in values {
            append(value.map { Int32($0.utf8.count) } ?? -1)
            if let value { try append(text: value) }
        }
    }

    private mutating func arrayHead(of type: TypeID, count: Int, hasNull: Bool) {
        append(Int32(count == 0 ? 0 : 1))  // dimensions
        append(Int32(hasNull ? 1 : 0))
        append(type.number)
        guard count > 0 else { return }
        append(Int32(count))
        append(Int32(1))  // lower bound
    }
}

/// The values of one statement, ready for libpq.
struct EncodedParameters: Sendable {
    let types: [UInt32]
    private let bytes: [UInt8]
    private let starts: [Int]
    private let counts: [Int32]
    private let formats: [Int32]

    /// The largest value PostgreSQL accepts, with room for the message around it.
    static let maximumBytes = 1_000_000_000

    init(_ parameters: [Parameter]) throws(PostgresError) {
        guard parameters.count <= Int(UInt16.max) else {
            throw .invalidParameter(
                number: parameters.count, "a statement has at most 65535 parameters")
        }
        var encoder = BinaryEncoder()
        var starts: [Int] = []
        var counts: [Int32] = []
        for (index, parameter) in parameters.enumerated() {
            let start = encoder.bytes.count
            do throws(BinaryEncoder.ContainsNUL) {
                try encoder.append(parameter)
            } catch {
                throw .invalidParameter(number: index + 1, "text contains a NUL character")
            }
            guard encoder.bytes.count <= Self.maximumBytes else {
                throw .invalidParameter(number: index + 1, "the values exceed 1 GB")
            }
            starts.append(parameter == .null ? -1 : start)
            counts.append(Int32(encoder.bytes.count - start))
        }
        // One byte more, so that an empty value at the end still has an address.
        encoder.append(UInt8(0))
        self.types = parameters.map(\.type.number)
        self.bytes = encoder.bytes
        self.starts = starts
        self.counts = counts
        self.formats = Array(repeating: 1, count: parameters.count)
    }

    /// No values.
    static let none = EncodedParameters()

    private init() {
        types = []
        bytes = [0]
        starts = []
        counts = []
        formats = []
    }

    /// Number of values.
    var count: Int32 { Int32(types.count) }

    /// Calls `body` with the arrays of values, lengths and formats that libpq takes.
    func withPointers<R>(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> R
    ) -> R {
        bytes.withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { characters in
                let values = starts.map { start -> UnsafePointer<CChar>? in
                    start < 0 ? nil : characters.baseAddress.map { $0 + start }
                }
                return values.withUnsafeBufferPointer { values in
                    counts.withUnsafeBufferPointer { counts in
                        formats.withUnsafeBufferPointer { formats in
                            body(values.baseAddress, counts.baseAddress, formats.baseAddress)
                        }
                    }
                }
            }
        }
    }
}

extension String {
    /// Whether it contains a NUL character, which no text of the database does.
    public var containsNUL: Bool {
        utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
        } ?? utf8.contains(0)
    }
}
