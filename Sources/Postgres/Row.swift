internal import CPostgres

/// One row of an answer; columns are counted from 0.
///
/// Each accessor throws `unexpectedValue` when the column has another type or is NULL; those that
/// end in `IfAny` give `nil` for NULL; `unexpectedAnswer` when the row has no such column.
public struct Row: Sendable {
    let result: ServerResult
    let number: Int32

    /// An `int8`, `int4` or `int2` column.
    public func int8(_ column: Int) throws(PostgresError) -> Int64 {
        try present(int8IfAny(column), column, "int8")
    }

    /// An `int8`, `int4` or `int2` column.
    public func int8IfAny(_ column: Int) throws(PostgresError) -> Int64? {
        guard let raw = try raw(column) else { return nil }
        let value: Int64? = keepingResult {
            switch type(column) {
            case .int8: Int64(bigEndian: raw.loadUnaligned(as: Int64.self))
            case .int4: Int64(Int32(bigEndian: raw.loadUnaligned(as: Int32.self)))
            case .int2: Int64(Int16(bigEndian: raw.loadUnaligned(as: Int16.self)))
            default: nil
            }
        }
        guard let value else { throw mismatch(column, "int8") }
        return value
    }

    /// An `int4` or `int2` column.
    public func int4(_ column: Int) throws(PostgresError) -> Int32 {
        try present(int4IfAny(column), column, "int4")
    }

    /// An `int4` or `int2` column.
    public func int4IfAny(_ column: Int) throws(PostgresError) -> Int32? {
        guard let value = try int8IfAny(column) else { return nil }
        guard type(column) != .int8 else { throw mismatch(column, "int4") }
        return Int32(value)
    }

    /// A `bool` column.
    public func bool(_ column: Int) throws(PostgresError) -> Bool {
        try present(boolIfAny(column), column, "bool")
    }

    /// A `bool` column.
    public func boolIfAny(_ column: Int) throws(PostgresError) -> Bool? {
        guard let raw = try raw(column) else { return nil }
        guard type(column) == .bool else { throw mismatch(column, "bool") }
        return keepingResult { raw.loadUnaligned(as: UInt8.self) != 0 }
    }

    /// A `float8` column.
    public func double(_ column: Int) throws(PostgresError) -> Double {
        try present(doubleIfAny(column), column, "float8")
    }

    /// A `float8` column.
    public func doubleIfAny(_ column: Int) throws(PostgresError) -> Double? {
        guard let raw = try raw(column) else { return nil }
        guard type(column) == .float8 else { throw mismatch(column, "float8") }
        return keepingResult {
            Double(bitPattern: UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self)))
        }
    }

    /// A `text`, `varchar`, `char`, `name` or `json` column.
    public func text(_ column: Int) throws(PostgresError) -> String {
        try present(textIfAny(column), column, "text")
    }

    /// A `text`, `varchar`, `char`, `name` or `json` column.
    public func textIfAny(_ column: Int) throws(PostgresError) -> String? {
        guard let raw = try raw(column) else { return nil }
        guard type(column).isText else { throw mismatch(column, "text") }
        return keepingResult { String(decoding: raw, as: UTF8.self) }
    }

    /// The bytes of a `bytea` column, or the UTF-8 of a text or `json` column.
    public func bytes(_ column: Int) throws(PostgresError) -> [UInt8] {
        try present(bytesIfAny(column), column, "bytea")
    }

    /// The bytes of a `bytea` column, or the UTF-8 of a text or `json` column.
    public func bytesIfAny(_ column: Int) throws(PostgresError) -> [UInt8]? {
        guard let raw = try raw(column) else { return nil }
        guard type(column) == .bytea || type(column).isText else {
            throw mismatch(column, "bytea")
        }
        return keepingResult { [UInt8](raw) }
    }

    /// Reads a `bytea`, text or `json` column in place, without a copy.
    ///
    /// - Shape: the buffer is valid during `body` only, and empty for NULL.
    public func withBytes<R>(
        _ column: Int, _ body: (UnsafeRawBufferPointer) -> R
    ) throws(PostgresError) -> R {
        guard let raw = try raw(column) else {
            return body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        guard type(column) == .bytea || type(column).isText else {
            throw mismatch(column, "bytea")
        }
        return keepingResult { body(raw) }
    }

    /// An `int8[]` column without NULL elements.
    public func int8s(_ column: Int) throws(PostgresError) -> [Int64] {
        let elements = try array(column, of: [.int8s]) {
            Int64(bigEndian: $0.loadUnaligned(as: Int64.self))
        }
        return try elements.map { (element) throws(PostgresError) in
            try present(element, column, "int8 elements")
        }
    }

    /// A `text[]` column.
    public func texts(_ column: Int) throws(PostgresError) -> [String?] {
        try array(column, of: [.texts, .varchars, .names, .jsons]) {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// A `bytea[]` column.
    public func byteas(_ column: Int) throws(PostgresError) -> [[UInt8]?] {
        try array(column, of: [.byteas]) { [UInt8]($0) }
    }
}

extension Row {
    private func type(_ column: Int) -> TypeID { TypeID(PQftype(result.pointer, Int32(column))) }

    /// The value where it lies in the result, `nil` for NULL; read it inside `keepingResult`.
    private func raw(_ column: Int) throws(PostgresError) -> UnsafeRawBufferPointer? {
        let columns = Int(PQnfields(result.pointer))
        guard column >= 0, column < columns else {
            throw .unexpectedAnswer("a row of \(columns) columns has none of number \(column)")
        }
        guard PQgetisnull(result.pointer, number, Int32(column)) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result.pointer, number, Int32(column)),
            count: Int(PQgetlength(result.pointer, number, Int32(column))))
    }

    private func keepingResult<R>(_ body: () -> R) -> R { withExtendedLifetime(result, body) }

    private func present<T>(
        _ value: T?, _ column: Int, _ expected: String
    ) throws(PostgresError) -> T {
        guard let value else {
            throw .unexpectedValue(
                column: result.name(ofColumn: Int32(column)), expected: expected, found: "NULL")
        }
        return value
    }

    private func mismatch(_ column: Int, _ expected: String) -> PostgresError {
        .unexpectedValue(
            column: result.name(ofColumn: Int32(column)), expected: expected,
            found: type(column).spelling)
    }

    private func array<T>(
        _ column: Int, of types: [TypeID], _ element: (UnsafeRawBufferPointer) -> T
    ) throws(PostgresError) -> [T?] {
        let expected = types[0].spelling
        guard let raw = try raw(column) else { return try present(nil, column, expected) }
        let elements: [T?]? = keepingResult {
            types.contains(type(column)) ? BinaryArray(raw)?.map(element) : nil
        }
        guard let elements else { throw mismatch(column, expected) }
        return elements
    }
}
