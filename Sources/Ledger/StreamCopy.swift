public import Domain
public import Postgres

/// Reads whole streams one after another by one COPY: those of some buckets, up to a position.
///
/// Nothing of it is held but what was read last.
public struct StreamCopy: Sendable {
    private let session: BlockingConnection

    /// About how much is read at once. Units: bytes.
    public static let pieceSize = 1 << 17

    /// Columns in the order that `CopiedEntries` reads: all but those that prove an entry.
    fileprivate static let columns = """
        position, stream, revision, kind, event_key, environment, subject, occurred_at, signed_at, \
        observed_at, recorded_at, source, body
        """

    /// Begins to read over a session that does nothing else until the last entries are read.
    public init(
        _ session: BlockingConnection, buckets: ClosedRange<Int32>, upTo position: Position
    ) async throws(LedgerError) {
        self.session = session
        let sql = """
            copy (select \(StreamCopy.columns) from ledger.entry \
            where bucket between \(buckets.lowerBound)::int2 and \(buckets.upperBound)::int2 \
            and position <= \(position.number) order by bucket, stream, revision) \
            to stdout (format binary)
            """
        do throws(PostgresError) {
            try await session.beginCopyOut(sql)
        } catch {
            throw .database(error)
        }
    }

    /// The next entries.
    ///
    /// - Shape: by bucket, stream and revision; a stream may go on in the next ones.
    public func next() async -> Result<CopiedEntries, LedgerError> {
        do throws(PostgresError) {
            let (bytes, isLast) = try await session.copyOut(atLeast: StreamCopy.pieceSize)
            return .success(CopiedEntries(isLast: isLast, rows: CopiedRows(bytes)))
        } catch {
            return .failure(.database(error))
        }
    }
}

/// Entries as they were copied, made into values one by one.
public struct CopiedEntries: Sendable {
    /// Whether none come after them.
    public let isLast: Bool
    fileprivate let rows: CopiedRows

    private static let columnCount = StreamCopy.columns.split(separator: ",").count

    /// Hands over the entries in order, without their evidence.
    ///
    /// - Parameter begin: told of a stream before its entries here; says whether what they hold is
    ///   read, which is `unreadable` otherwise.
    public func forEach(
        begin: (StreamID) -> Bool, _ body: (Entry) -> Void
    ) throws(LedgerError) {
        var rows = rows
        var name: ArraySlice<UInt8> = []
        var stream = StreamID(name: "")
        var readsContent = false
        try wrapped { () throws(PostgresError) in
            while try rows.next(columns: CopiedEntries.columnCount) {
                let position = Position(try rows.int8())
                let found = try rows.value()
                if found != name {
                    name = found
                    stream = StreamID(name: String(decoding: found, as: UTF8.self))
                    readsContent = begin(stream)
                }
                body(try CopiedEntries.entry(&rows, position, stream, readsContent))
            }
        }
    }

    private static func entry(
        _ rows: inout CopiedRows, _ position: Position, _ stream: StreamID, _ readsContent: Bool
    ) throws(PostgresError) -> Entry {
        let revision = try rows.int8()
        let kind = Kind(try rows.text())
        let key = try rows.text()
        let environment = try rows.textIfAny().map(Environment.init)
        let subject = try rows.int8IfAny().map(CustomerNumber.init)
        let occurredAt = Instant(milliseconds: try rows.int8())
        let signedAt = try rows.int8IfAny().map(Instant.init(milliseconds:))
        let observedAt = Instant(milliseconds: try rows.int8())
        let recordedAt = Instant(milliseconds: try rows.int8())
        let source = Source(rawValue: try rows.text()) ?? .command
        let body = try rows.value()
        return Entry(
            position: position, revision: revision, recordedAt: recordedAt,
            event: Event(
                kind: kind, stream: stream, key: key, environment: environment, subject: subject,
                occurredAt: occurredAt, signedAt: signedAt, observedAt: observedAt,
                source: source,
                content: readsContent
                    ? EntryRow.content(body, at: position) : .unreadable(position)))
    }
}
