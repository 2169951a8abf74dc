import Domain
import EventLoop
import Ledger
import Postgres
import Projecting

/// Fills a record by COPY, as superuser and without digests, which no fold reads.
struct Filling {
    private let session: BlockingConnection
    private var rows = CopyRows()
    private let first: Int64
    private let batch: Int64
    private var next: Int64

    /// Begins behind what a record holds already.
    init(_ address: String) async throws {
        session = try await BlockingConnection.open(address)
        let head = try await session.query(
            "select coalesce(max(number), 0), coalesce(max(last_position), 0) from ledger.batch"
        ).only()
        batch = try head.int8(0) + 1
        first = try head.int8(1) + 1
        next = first
        try await session.beginCopyIn("copy ledger.entry from stdin (format binary)")
    }

    /// Adds the entry at the next position.
    mutating func add(
        _ content: Event.Content, _ kind: Kind, at instant: Instant, subject: Int64?,
        revision: Int64
    ) async throws {
        let stream: StreamID
        switch content {
        case .transaction(let statement): stream = statement.stream
        case .renewal(let statement): stream = statement.stream
        default: throw BenchError.unexpected("a record is filled with lines")
        }
        let body = String(decoding: content.body.canonicalBytes(), as: UTF8.self)
        try rows.append([
            .int2(Int16(Bucket.of(stream))), .int8(next), .text(stream.name), .int8(revision),
            .text(kind.name), .text("filled/\(revision)"), .text("Production"),
            .int8(ifAny: subject), .int8(instant.milliseconds), .int8(instant.milliseconds),
            .int8(instant.milliseconds), .int8(1), .text("notification"), .null, .json(body),
            .bytes([UInt8](repeating: 0, count: 32)),
        ])
        next += 1
        if rows.byteCount > 1 << 20 { try await session.copyIn(rows.take()) }
    }

    /// Makes what was added one batch.
    ///
    /// - Returns: how many entries were added.
    @discardableResult
    mutating func end() async throws -> Int64 {
        try await session.copyIn(rows.finish())
        _ = try await session.endCopyIn()
        let last = next - 1
        try await session.query(
            """
            insert into ledger.batch select $1, max(number), max(last_position), $2, $3, 1, \
            '\\x00', '\\x00', $4 from ledger.batch
            """,
            [
                .int8(batch), .int8(first), .int8(last),
                .bytes([UInt8](repeating: 0, count: 32 * last.nonzeroBitCount)),
            ])
        try await session.execute(script: "analyze ledger.entry")
        await session.close()
        return next - first
    }

    /// Lends a pool of sessions to a filled record.
    static func withPool<T>(
        _ address: String, _ body: (ConnectionPool) async throws -> T
    ) async throws -> T {
        let loop = EventLoop(name: "filled")
        defer { loop.stop() }
        let pool = ConnectionPool(
            ConnectionPool.Settings(
                connectionString: address, options: Migrator.sessionOptions, size: 2,
                limit: .seconds(60)), on: loop)
        await pool.start()
        do {
            try await pool.waitUntilAvailable(within: .seconds(10))
            let result = try await body(pool)
            await pool.close()
            return result
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Builds a generation of a projection anew, which nothing else moves meanwhile.
    ///
    /// - Parameter position: where the record ends.
    /// - Returns: how many entries were folded, and how long that took in seconds.
    static func rebuild(
        _ projection: any Projection, at position: Int64, workers: Int, _ address: String,
        _ pool: ConnectionPool
    ) async throws -> (entries: Int64, seconds: Double) {
        try await stand(projection, at: position, pool)
        let rebuild = Rebuild(
            projection, pool: pool, reader: LedgerReader(pool),
            resources: Rebuild.Resources(
                workers: workers, memoryMiB: 256,
                connect: { () async throws(PostgresError) in
                    try await BlockingConnection.open(address, options: Migrator.sessionOptions)
                }), runner: "bench", clock: { Instant(milliseconds: 1) })
        let start = ContinuousClock.now
        let outcome = try await rebuild.replace()
        return (outcome.entries, start.secondsSince)
    }

    /// Makes the generation that serves stand at a position, so that nothing follows what is filled.
    ///
    /// - Parameter edition: that of rows which the program takes for its own; 0: of no program.
    static func stand(
        _ projection: any Projection, at position: Int64, edition: Int64 = 0,
        _ pool: ConnectionPool
    ) async throws {
        try await pool.query(
            "delete from projection.generation where projection = $1", [.text(projection.name)])
        try await pool.query(
            "insert into projection.generation values ($1, 1, $3, true, $2, 0)",
            [.text(projection.name), .int8(position), .int8(edition)])
    }

    /// Makes the events of what is filled pass for made, as they are when it comes by the daemon: else
    /// it makes them while others are measured.
    static func standEvents(at position: Int64, _ pool: ConnectionPool) async throws {
        try await pool.query(
            """
            insert into operation.follow values ('events', $1, 0, 0) \
            on conflict (name) do update set position = excluded.position
            """, [.int8(position)])
    }
}
