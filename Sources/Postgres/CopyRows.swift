/// Rows in the format of `copy … from stdin (format binary)`.
///
/// The values' types must be exactly the columns' types: COPY converts nothing.
///
/// - Source: PostgreSQL, COPY, "Binary Format".
public struct CopyRows: Sendable {
    private var encoder = BinaryEncoder()

    /// No rows yet.
    public init() { begin() }

    /// Number of bytes that wait to be taken.
    public var byteCount: Int { encoder.bytes.count }

    /// Adds a row; its values are in the order of the copy's columns.
    ///
    /// - Throws: `invalidParameter`; the rows are then not usable any more.
    public mutating func append(_ values: [Parameter]) throws(PostgresError) {
        encoder.append(Int16(values.count))
        for (index, value) in values.enumerated() {
            do throws(BinaryEncoder.ContainsNUL) {
                try encoder.appendWithLength(value)
            } catch {
                throw .invalidParameter(number: index + 1, "text contains a NUL character")
            }
        }
    }

    /// The bytes of the rows added since the last call, to be sent next.
    public mutating func take() -> [UInt8] {
        let bytes = encoder.bytes
        encoder = BinaryEncoder()
        return bytes
    }

    /// The last bytes to be sent; afterwards rows for another copy may be added.
    public mutating func finish() -> [UInt8] {
        encoder.append(Int16(-1))
        let bytes = take()
        begin()
        return bytes
    }

    private mutating func begin() {
        encoder.append(raw: Array("PGCOPY\n\u{ff}\r\n\0".unicodeScalars.map { UInt8($0.value) }))
        encoder.append(Int32(0))  // flags
        encoder.append(Int32(0))  // no extension of the header
    }
}
