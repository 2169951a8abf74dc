public import Domain
public import Postgres

/// Reads whole streams one after another, a page at a time: those of some buckets, up to a position.
public struct StreamPages: Sendable {
    private let session: BlockingConnection
    private let last: Int32
    private let position: Position
    private let size: Int
    private var place: (bucket: Int32, stream: String, revision: Int64)

    private static let sql = """
        select \(EntryRow.columns) from ledger.entry \
        where (bucket, stream, revision) > ($1::int4::smallint, $2, $3) \
        and bucket <= $4::int4::smallint and position <= $5 \
        order by bucket, stream, revision limit $6
        """

    /// Pages over a session that may be in a transaction.
    ///
    /// - Parameter size: the most entries of a page, at least 1.
    public init(
        _ session: BlockingConnection, buckets: ClosedRange<Int32>, upTo position: Position,
        size: Int
    ) {
        self.session = session
        self.last = buckets.upperBound
        self.position = position
        self.size = size
        place = (buckets.lowerBound, "", 0)
    }

    /// The next entries; empty when there are no more.
    ///
    /// - Shape: by bucket, stream and revision; a stream may go on in the next page.
    public mutating func next() async throws(LedgerError) -> [Entry] {
        let rows: Rows
        do throws(PostgresError) {
            rows = try await session.query(
                StreamPages.sql,
                [
                    .int4(place.bucket), .text(place.stream), .int8(place.revision), .int4(last),
                    .int8(position.number), .int8(Int64(size)),
                ])
        } catch {
            throw .database(error)
        }
        var entries: [Entry] = []
        entries.reserveCapacity(rows.count)
        for row in rows { entries.append(try EntryRow.entry(row)) }
        if let entry = entries.last {
            let stream = entry.event.stream
            place = (Bucket.of(stream), stream.name, entry.revision)
        }
        return entries
    }
}
