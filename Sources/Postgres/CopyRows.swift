/// Rows in the format of `copy … from stdin (format binary)`.
///
/// The values' types must be exactly the columns' types: COPY converts nothing.
///
/// - Source: PostgreSQL, COPY, "Binary Format".
public struct CopyRows: Sendable {
    private var encoder = BinaryEncoder()
    private var column = 0

    /// No rows yet.
    public init() { begin() }

    /// Number of bytes that wait to be taken.
    public var byteCount: Int { encoder.bytes.count }

    /// Adds a row; its values are in the order of the copy's columns.
    ///
    /// - Throws: `invalidParameter`; the rows are then not usable any more.
    public mutating func append(_ values: [Parameter]) throws(PostgresError) {
        begin(columns: values.count)
        for value in values { try add(value) }
    }

    /// Begins a row of so many values, which are added next.
    public mutating func begin(columns: Int) {
        encoder.append(Int16(columns))
        column = 0
    }

    /// Adds a value to the row that was begun.
    ///
    /// - Throws: `invalidParameter`; the rows are then not usable any more.
    public mutating func add(_ value: Parameter) throws(PostgresError) {
        column += 1
        do throws(BinaryEncoder.ContainsNUL) {
            try encoder.appendWithLength(value)
        } catch {
            throw .invalidParameter(number: column, "text contains a NUL character")
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
