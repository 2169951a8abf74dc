/// Rows in the format of `copy … to stdout (format binary)`, read one value after another.
///
/// A row's values are asked for in the order of the copy's columns, each once.
/// - Source: PostgreSQL, COPY, "Binary Format".
public struct CopiedRows: Sendable {
    private let bytes: [UInt8]
    private var index = 0
    private var column = 0

    private static let signature = Array(
        "PGCOPY\n\u{ff}\r\n\0".unicodeScalars.map { UInt8($0.value) })

    /// Rows of some pieces, one after another, the first or last ones or some between.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Goes to the next row; false when there is none.
    ///
    /// - Throws: `unexpectedAnswer` when it does not have so many columns.
    public mutating func next(columns: Int) throws(PostgresError) -> Bool {
        try skipHeader()
        guard index < bytes.count else { return false }
        let count = try Int(number(Int16.self))
        guard count != -1 else { return false }
        guard count == columns else { throw malformed("\(count) columns for \(columns)") }
        column = 0
        return true
    }

    /// The value of an `int8` column.
    public mutating func int8() throws(PostgresError) -> Int64 {
        guard let value = try int8IfAny() else { throw malformed("NULL") }
        return value
    }

    /// The value of an `int8` column; `nil` for NULL.
    public mutating func int8IfAny() throws(PostgresError) -> Int64? {
        guard let count = try length() else { return nil }
        guard count == 8 else { throw malformed("\(count) bytes for 8") }
        return try number(Int64.self)
    }

    /// The bytes of a text, `json` or `bytea` column.
    public mutating func value() throws(PostgresError) -> ArraySlice<UInt8> {
        guard let value = try valueIfAny() else { throw malformed("NULL") }
        return value
    }

    /// The bytes of a text, `json` or `bytea` column; `nil` for NULL.
    public mutating func valueIfAny() throws(PostgresError) -> ArraySlice<UInt8>? {
        guard let count = try length() else { return nil }
        defer { index += count }
        return bytes[index..<index + count]
    }

    /// The value of a text or `json` column.
    public mutating func text() throws(PostgresError) -> String {
        String(decoding: try value(), as: UTF8.self)
    }

    /// The value of a text or `json` column; `nil` for NULL.
    public mutating func textIfAny() throws(PostgresError) -> String? {
        try valueIfAny().map { String(decoding: $0, as: UTF8.self) }
    }

    private mutating func length() throws(PostgresError) -> Int? {
        column += 1
        let count = try Int(number(Int32.self))
        guard count != -1 else { return nil }
        guard count >= 0, count <= bytes.count - index else { throw malformed("\(count) bytes") }
        return count
    }

    private mutating func skipHeader() throws(PostgresError) {
        let signature = CopiedRows.signature
        guard index == 0, bytes.starts(with: signature) else { return }
        index = signature.count
        _ = try number(Int32.self)  // flags
        let extent = try Int(number(Int32.self))
        guard extent >= 0, extent <= bytes.count - index else { throw malformed("its header") }
        index += extent
    }

    private mutating func number<T: FixedWidthInteger>(_ type: T.Type) throws(PostgresError) -> T {
        let size = MemoryLayout<T>.size
        guard size <= bytes.count - index else { throw malformed("its end") }
        defer { index += size }
        return bytes.withUnsafeBytes {
            T(bigEndian: $0.loadUnaligned(fromByteOffset: index, as: T.self))
        }
    }

    private func malformed(_ what: String) -> PostgresError {
        .unexpectedAnswer("a copied row has \(what) at column \(column)")
    }
}
