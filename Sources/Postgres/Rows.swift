internal import CPostgres

/// What a statement answered: its rows, or only how many rows it touched.
///
/// - Shape: rows in the order the server sent them; empty for a statement without rows.
public struct Rows: Sendable, RandomAccessCollection {
    let result: ServerResult

    init(_ result: ServerResult) { self.result = result }

    /// The first row's place.
    public var startIndex: Int { 0 }
    /// One more than the last row's place.
    public var endIndex: Int { Int(PQntuples(result.pointer)) }

    /// The row at a place.
    public subscript(position: Int) -> Row {
        precondition(position >= 0 && position < endIndex, "row outside the answer")
        return Row(result: result, number: Int32(position))
    }

    /// How many rows the statement inserted, updated, deleted, selected or copied; 0 for others.
    public var affected: Int {
        PQcmdTuples(result.pointer).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// The server's word for what it did, such as `INSERT 0 3` or `COMMIT`.
    public var commandTag: String {
        PQcmdStatus(result.pointer).map { String(cString: $0) } ?? ""
    }

    /// The names of the columns, in order.
    public var columnNames: [String] {
        (0..<PQnfields(result.pointer)).map { result.name(ofColumn: $0) }
    }

    /// The only row.
    ///
    /// - Throws: `unexpectedAnswer` when there is none or more than one.
    public func only() throws(PostgresError) -> Row {
        guard count == 1 else { throw .unexpectedAnswer("expected one row, got \(count)") }
        return self[0]
    }
}

/// The one owner of a libpq result.
///
/// `@unchecked` holds because nothing changes a result after libpq has returned it, and libpq
/// promises that such a result may be read from any thread.
///
/// - Source: PostgreSQL, libpq, "Behavior in Threaded Programs".
final class ServerResult: @unchecked Sendable {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(pointer) }

    var status: ExecStatusType { PQresultStatus(pointer) }

    func name(ofColumn column: Int32) -> String {
        PQfname(pointer, column).map { String(cString: $0) } ?? "\(column)"
    }
}
