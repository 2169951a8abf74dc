import Domain
import Ledger
import Postgres
import Synchronization

/// Ranges of buckets that wait to be folded.
private final class RangeQueue: Sendable {
    private let waiting: Mutex<[ClosedRange<Int32>]>
    private let folded: Mutex<Int64>

    /// - Parameters:
    ///   - done: ranges that need not be folded any more.
    ///   - entries: how many entries those had.
    init(without done: [ClosedRange<Int32>], entries: Int64, size: Int) {
        folded = Mutex(entries)
        let held = Set(done.flatMap { Array($0) })
        var ranges: [ClosedRange<Int32>] = []
        for bucket in 0..<Int32(Bucket.count) where !held.contains(bucket) {
            if let last = ranges.last, last.upperBound + 1 == bucket, last.count < size {
                ranges[ranges.count - 1] = last.lowerBound...bucket
            } else {
                ranges.append(bucket...bucket)
            }
        }
        waiting = Mutex(ranges.reversed())
    }

    func next() -> ClosedRange<Int32>? { waiting.withLock { $0.popLast() } }

    /// Notes so many more entries; returns how many there are by now.
    @discardableResult
    func note(_ count: Int64) -> Int64 {
        folded.withLock { folded in
            folded += count
            return folded
        }
    }

    func clear() { waiting.withLock { $0 = [] } }
}

extension Rebuild {
    /// How often a range is tried when sessions are lost.
    private static let attempts = 5
    /// About what an entry takes while it is folded.
    private static let entryBytes = 16_384

    /// Folds every stream up to the build's target; returns how many entries that were.
    func foldRanges(_ build: Build) async throws(ProjectingError) -> Int64 {
        let (done, entries) = try await finishedRanges(build)
        let perBucket = max(1, build.target.number / Int64(Bucket.count))
        let size = resources.rangeBuckets ?? Int(max(1, min(64, 20_000 / perBucket)))
        let queue = RangeQueue(without: done, entries: entries, size: max(1, size))
        onProgress(entries, build.target.number)
        let failures = await withTaskGroup(of: ProjectingError?.self) { group in
            for _ in 0..<resources.workers {
                group.addTask {
                    do throws(ProjectingError) {
                        try await work(build, queue)
                        return nil
                    } catch {
                        queue.clear()
                        return error
                    }
                }
            }
            var failures: [ProjectingError] = []
            for await failure in group { failures += failure.map { [$0] } ?? [] }
            return failures
        }
        if let failure = failures.first { throw failure }
        return queue.note(0)
    }

    private func finishedRanges(_ build: Build)
        async throws(ProjectingError) -> (ranges: [ClosedRange<Int32>], entries: Int64)
    {
        try await penned { () throws(PostgresError) in
            let rows = try await pool.query(
                """
                select first_bucket, last_bucket, entries from projection.build_range \
                where projection = $1 and generation = $2
                """, [.text(build.projection), .int8(build.number)])
            var ranges: [ClosedRange<Int32>] = []
            var entries: Int64 = 0
            for row in rows {
                ranges.append(Int32(try row.int8(0))...Int32(try row.int8(1)))
                entries += try row.int8(2)
            }
            return (ranges, entries)
        }
    }

    /// One worker: folds range after range on a session of its own.
    private func work(_ build: Build, _ queue: RangeQueue) async throws(ProjectingError) {
        var session: BlockingConnection?
        while let range = queue.next(), !Task.isCancelled {
            var attempt = 0
            while true {
                do throws(ProjectingError) {
                    let open: BlockingConnection
                    if let session { open = session } else { open = try await opened() }
                    session = open
                    let sum = queue.note(try await fold(range, build, on: open))
                    onProgress(sum, build.target.number)
                    break
                } catch {
                    await session?.close()
                    session = nil
                    attempt += 1
                    if error == .overtaken || attempt == Rebuild.attempts || Task.isCancelled {
                        throw error
                    }
                    try? await Task.sleep(for: .milliseconds(200 * attempt))
                }
            }
        }
        await session?.close()
        if Task.isCancelled { throw .overtaken }
    }

    func opened() async throws(ProjectingError) -> BlockingConnection {
        try await penned { () throws(PostgresError) in try await resources.connect() }
    }

    /// Folds the streams of a range and writes their rows, in one transaction with its mark.
    private func fold(_ range: ClosedRange<Int32>, _ build: Build, on session: BlockingConnection)
        async throws(ProjectingError) -> Int64
    {
        let share = resources.memoryMiB << 20 / (2 * resources.workers)
        var pages = StreamPages(
            session, buckets: range, upTo: build.target,
            size: max(50, min(2_000, share / Rebuild.entryBytes)))
        try await penned { () throws(PostgresError) in _ = try await session.query("begin") }
        var rows = ProjectedRows(projection.tables)
        var current: (stream: StreamID, fold: (any StreamFold)?)?
        var count: Int64 = 0
        while true {
            let page = try await recorded { () throws(LedgerError) in try await pages.next() }
            guard !page.isEmpty else { break }
            for entry in page {
                let stream = entry.event.stream
                if current?.stream != stream {
                    if let current, let fold = current.fold {
                        rows.add(fold, of: current.stream, since: .start)
                    }
                    current = (stream, projection.fold(of: stream))
                }
                current?.fold?.apply(entry)
            }
            count += Int64(page.count)
            if rows.byteCount > share {
                try await write(rows, build, on: session)
                rows = ProjectedRows(projection.tables)
            }
        }
        if let current, let fold = current.fold {
            rows.add(fold, of: current.stream, since: .start)
        }
        try await write(rows, build, on: session)
        try await finish(range, count, build, on: session)
        return count
    }

    private func write(_ rows: ProjectedRows, _ build: Build, on session: BlockingConnection)
        async throws(ProjectingError)
    {
        try await penned { () throws(PostgresError) in
            for (sql, bytes) in try rows.copies(generation: build.number) {
                _ = try await session.copyIn(sql, [bytes])
            }
            let halts = HaltList.statements(
                rows.halts, released: [], build.projection, generation: build.number)
            for statement in halts { try await session.query(statement.sql, statement.parameters) }
        }
    }

    private func finish(
        _ range: ClosedRange<Int32>, _ count: Int64, _ build: Build,
        on session: BlockingConnection
    ) async throws(ProjectingError) {
        let pen = Builds.pen(
            build, set: "entries_done = entries_done + $6, phase = 'folding'", [.int8(count)],
            at: clock())
        try await penned { () throws(PostgresError) in
            try await session.query(
                "insert into projection.build_range values ($1, $2, $3, $4, $5)",
                [
                    .text(build.projection), .int8(build.number), .int8(Int64(range.lowerBound)),
                    .int8(Int64(range.upperBound)), .int8(count),
                ])
            try await session.query(pen.sql, pen.parameters)
            try await session.commit()
        }
    }
}
