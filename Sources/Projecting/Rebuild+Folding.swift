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
    /// How often in succession sessions may be lost.
    private static let attempts = 5
    /// About how many entries ranges have that are folded at once, and at most when their size is
    /// given: so that nothing is held in the database for seconds, however many share the cores.
    private static let (rangeEntries, mostRangeEntries): (Int64, Int64) = (40_000, 80_000)

    /// The most rows that are made before they are written: a second's worth. Units: bytes.
    private static let mostRowBytes = 16 << 20

    /// Folds every stream up to the build's target; returns how many entries that were.
    func foldRanges(_ build: Build) async throws(ProjectingError) -> Int64 {
        let (done, entries) = try await finishedRanges(build)
        let perBucket = max(1, build.target.number / Int64(Bucket.count))
        func buckets(_ entries: Int64) -> Int {
            Int(entries / Int64(max(2, resources.workers)) / perBucket)
        }
        let size =
            resources.rangeBuckets.map { min($0, buckets(Rebuild.mostRangeEntries)) }
            ?? min(64, buckets(Rebuild.rangeEntries))
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

    func opened() async throws(ProjectingError) -> BlockingConnection {
        try await penned { () throws(PostgresError) in try await resources.connect() }
    }

    /// What a worker has taken from the queue and not written yet.
    private struct Taken {
        var unwritten: [ClosedRange<Int32>] = []
        /// What is to be folded again.
        var again: [ClosedRange<Int32>] = []
        /// How often in succession sessions were lost.
        var failures = 0

        mutating func next(_ queue: RangeQueue) -> ClosedRange<Int32>? {
            guard let range = again.popLast() ?? queue.next() else { return nil }
            unwritten.append(range)
            return range
        }
    }

    /// One worker: folds range after range over two sessions of its own.
    private func work(_ build: Build, _ queue: RangeQueue) async throws(ProjectingError) {
        var taken = Taken()
        while true {
            var sessions: [BlockingConnection] = []
            var failure: ProjectingError?
            do throws(ProjectingError) {
                for _ in 1...2 { sessions.append(try await opened()) }
                try await work(build, queue, &taken, reading: sessions[0], writing: sessions[1])
            } catch {
                failure = error
            }
            for session in sessions { await session.close() }
            if Task.isCancelled { throw .overtaken }
            guard let failure else { return }
            taken.failures += 1
            if failure == .overtaken || taken.failures == Rebuild.attempts { throw failure }
            try? await Task.sleep(for: .milliseconds(200 * taken.failures))
            // What was lost may have been written all the same.
            let finished = Set(try await finishedRanges(build).ranges)
            taken.again += taken.unwritten.filter { !finished.contains($0) }
            taken.unwritten = []
        }
    }

    /// Reads and folds some rows while those before are written.
    private func work(
        _ build: Build, _ queue: RangeQueue, _ taken: inout Taken,
        reading: BlockingConnection, writing: BlockingConnection
    ) async throws(ProjectingError) {
        try await prepare(reading: reading, writing: writing)
        // Rows that are made, rows that are written, entries, and as much again for arrays that grow
        // and for what is not counted.
        let share = min(
            resources.memoryMiB << 20 / (6 * resources.workers), Rebuild.mostRowBytes)
        var folding: RangeFold?
        var folded: FoldedRows?
        repeat {
            async let written = write(folded, build, on: writing)
            if folding == nil, !Task.isCancelled, let range = taken.next(queue) {
                folding = RangeFold(
                    range, projection, upTo: build.target, on: reading,
                    share: share - 2 * StreamCopy.pieceSize)
            }
            let next = await folding?.next()
            if let failure = await written { throw failure }
            if let folded, let count = folded.entries {
                taken.unwritten.removeAll { $0 == folded.range }
                taken.failures = 0
                onProgress(queue.note(count), build.target.number)
            }
            folded = try next?.get()
            if folded?.entries != nil { folding = nil }
        } while folded != nil
    }

    private func prepare(reading: BlockingConnection, writing: BlockingConnection)
        async throws(ProjectingError)
    {
        try await penned { () throws(PostgresError) in
            // An index has the order that is wanted; nothing need be sorted.
            for plan in ["bitmapscan", "sort", "incremental_sort"] {
                _ = try await reading.query("set enable_\(plan) = off")
            }
            // What is lost with the server is folded again, and need not be waited for.
            _ = try await writing.query("set synchronous_commit = off")
            // Values of some thousand bytes are compressed fast where the server can.
            _ = try await writing.query(
                """
                select set_config(name, 'lz4', false) from pg_settings \
                where name = 'default_toast_compression' and 'lz4' = any(enumvals)
                """)
        }
    }

    /// Writes rows, the last of a range together with its mark; one transaction a range.
    ///
    /// - Returns: why it failed.
    private func write(_ folded: FoldedRows?, _ build: Build, on session: BlockingConnection)
        async -> ProjectingError?
    {
        guard let folded else { return nil }
        do throws(ProjectingError) {
            try await penned { () throws(PostgresError) in
                if folded.isFirst { try await session.query("begin") }
                for var copy in folded.rows.copies(generation: build.number) {
                    try await session.beginCopyIn(copy.sql)
                    while let bytes = try copy.next() { try await session.copyIn(bytes) }
                    _ = try await session.endCopyIn()
                }
                let halts = HaltList.statements(
                    folded.rows.halts, released: [], build.projection, generation: build.number)
                for statement in halts {
                    try await session.query(statement.sql, statement.parameters)
                }
                guard let count = folded.entries else { return }
                for statement in mark(folded.range, count, build) {
                    try await session.query(statement.sql, statement.parameters)
                }
                try await session.commit()
            }
            return nil
        } catch {
            return error
        }
    }

    private func mark(_ range: ClosedRange<Int32>, _ count: Int64, _ build: Build) -> [Statement] {
        [
            Statement(
                "insert into projection.build_range values ($1, $2, $3, $4, $5)",
                [
                    .text(build.projection), .int8(build.number), .int8(Int64(range.lowerBound)),
                    .int8(Int64(range.upperBound)), .int8(count),
                ]),
            Builds.pen(
                build, set: "entries_done = entries_done + $6, phase = 'folding'", [.int8(count)],
                at: clock()),
        ]
    }
}
