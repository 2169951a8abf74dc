import Crypto
public import Domain
public import Postgres

/// Reads the record.
public struct LedgerReader: Sendable {
    private let pool: ConnectionPool

    /// A reader over read-only sessions.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// The newest batch.
    public func head() async throws(LedgerError) -> Head {
        let rows = try await pool.read(HeadRow.sql, [])
        return try HeadRow.head(rows)
    }

    /// Entries after a position, in order.
    ///
    /// - Shape: at most `count`; at most up to `last`.
    public func entries(
        after position: Position, upTo last: Position? = nil, atMost count: Int,
        filter: EntryFilter = EntryFilter()
    ) async throws(LedgerError) -> [Entry] {
        var conditions = ["position > $1", "position <= $2"]
        var parameters: [Parameter] = [.int8(position.number), .int8(last?.number ?? .max)]
        filter.add(to: &conditions, &parameters)
        let sql = """
            select \(EntryRow.columns) from ledger.entry \
            where \(conditions.joined(separator: " and ")) order by position limit \(count)
            """
        return try await entries(sql, parameters)
    }

    /// All entries of some streams, in order, up to a position.
    public func entries(of streams: [StreamID], upTo last: Position? = nil)
        async throws(LedgerError) -> [Entry]
    {
        guard !streams.isEmpty else { return [] }
        return try await entries(
            StreamQuery.sql, StreamQuery.parameters(streams, upTo: last ?? Position(.max)))
    }

    /// Entries by stream, in the order of buckets, streams and revisions, after one of them.
    ///
    /// - Parameter prefix: how the names of the wanted streams begin.
    /// - Shape: at most `count`; none beyond `last`.
    public func entriesByStream(
        _ prefix: String, after entry: (stream: StreamID, revision: Int64)?,
        upTo last: Position, atMost count: Int
    ) async throws(LedgerError) -> [Entry] {
        try await entries(
            """
            select \(EntryRow.columns) from ledger.entry \
            where (bucket, stream, revision) > ($1::int4::smallint, $2, $3) and position <= $4 \
            and starts_with(stream, $5) order by bucket, stream, revision limit \(count)
            """,
            [
                .int4(entry.map { Bucket.of($0.stream) } ?? -1), .text(entry?.stream.name ?? ""),
                .int8(entry?.revision ?? 0), .int8(last.number), .text(prefix),
            ])
    }

    /// The streams whose names begin so.
    ///
    /// - Parameter prefix: ends with a slash.
    public func streams(_ prefix: String) async throws(LedgerError) -> [StreamID] {
        // Bucket by bucket: names of a kind are together there alone.
        let rows = try await pool.read(
            """
            select stream from generate_series(0, \(Bucket.count - 1)) as own (number) \
            cross join lateral (select distinct stream from ledger.entry \
            where bucket = number::smallint and stream >= $1 and stream < $2 offset 0) as named
            """, [.text(prefix), .text(prefix.dropLast() + "0")])
        return try wrapped { () throws(PostgresError) in
            var streams: [StreamID] = []
            for row in rows { streams.append(StreamID(name: try row.text(0))) }
            return streams
        }
    }

    /// The position of what had been recorded by an instant, and whether that is settled: an
    /// instant at or after the newest batch may still grow.
    public func position(knownAt instant: Instant)
        async throws(LedgerError) -> (position: Position, isSettled: Bool)
    {
        let rows = try await pool.read(
            """
            select coalesce((select last_position from ledger.batch where recorded_at <= $1 \
            order by number desc limit 1), 0), \
            exists (select from ledger.batch where recorded_at > $1)
            """, [.int8(instant.milliseconds)])
        return try wrapped { () throws(PostgresError) in
            let row = try rows.only()
            return (Position(try row.int8(0)), try row.bool(1))
        }
    }

    /// When a position was recorded; `nil` when nothing is there.
    public func recordedAt(_ position: Position) async throws(LedgerError) -> Instant? {
        let rows = try await pool.read(
            """
            select recorded_at from ledger.entry where position = $1
            """, [.int8(position.number)])
        return try wrapped { () throws(PostgresError) in
            try rows.first.map { row throws(PostgresError) in
                Instant(milliseconds: try row.int8(0))
            }
        }
    }

    private func entries(_ sql: String, _ parameters: [Parameter])
        async throws(LedgerError) -> [Entry]
    {
        var entries: [Entry] = []
        for row in try await pool.read(sql, parameters) { entries.append(try EntryRow.entry(row)) }
        return entries
    }
}

/// Which entries are wanted.
public struct EntryFilter: Sendable {
    /// Of this stream only.
    public var stream: StreamID?
    /// Of this kind only.
    public var kind: Kind?
    /// Of this environment only.
    public var environment: Environment?
    /// Of these streams or naming these customers only.
    public var customer: (streams: [StreamID], numbers: [CustomerNumber])?

    /// All entries.
    public init() {}

    func add(to conditions: inout [String], _ parameters: inout [Parameter]) {
        func place(_ parameter: Parameter) -> String {
            parameters.append(parameter)
            return "$\(parameters.count)"
        }
        if let stream {
            conditions.append("bucket = \(place(.int4(Bucket.of(stream))))::smallint")
            conditions.append("stream = \(place(.text(stream.name)))")
        }
        if let kind { conditions.append("kind = \(place(.text(kind.name)))") }
        if let environment {
            conditions.append("environment = \(place(.text(environment.name)))")
        }
        if let customer {
            let streams = place(.texts(customer.streams.map(\.name)))
            let numbers = place(.int8s(customer.numbers.map(\.number)))
            conditions.append("(stream = any(\(streams)) or subject = any(\(numbers)))")
        }
    }
}

/// The newest batch as a row.
enum HeadRow {
    static let columns = "number, last_position, recorded_at, digest, frontier"
    static let sql = "select \(columns) from ledger.batch order by number desc limit 1"

    static func head(_ rows: Rows) throws(LedgerError) -> Head {
        guard let row = rows.first else { return .empty }
        let (number, last, recordedAt, digest, frontier) = try wrapped {
            () throws(PostgresError) in
            (
                try row.int8(0), try row.int8(1), try row.int8(2), try row.bytes(3),
                try row.bytes(4)
            )
        }
        guard let tree = HashTree(size: last, frontier: frontier) else {
            throw .damaged("the frontier of batch \(number) does not fit its last position")
        }
        return Head(
            number: number, position: Position(last),
            recordedAt: Instant(milliseconds: recordedAt),
            digest: Fingerprint(hex: Hex.encode(digest)), tree: tree)
    }
}

/// Reads whole streams, each by its bucket.
enum StreamQuery {
    static let sql = """
        select \(EntryRow.columns.split(separator: ", ").map { "entry.\($0)" }.joined(separator: ", ")) \
        from unnest($1::int4[], $2::text[]) as wanted (bucket, stream) \
        join ledger.entry on entry.bucket = wanted.bucket::smallint \
        and entry.stream = wanted.stream and entry.position <= $3 \
        order by entry.position
        """

    static func parameters(_ streams: [StreamID], upTo last: Position) -> [Parameter] {
        [
            .int4s(streams.map(Bucket.of)), .texts(streams.map(\.name)), .int8(last.number),
        ]
    }
}

/// Runs reads of a row, so that their errors become the ledger's.
func wrapped<T>(_ body: () throws(PostgresError) -> T) throws(LedgerError) -> T {
    do throws(PostgresError) {
        return try body()
    } catch {
        throw .database(error)
    }
}
