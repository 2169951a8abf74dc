import Diagnostics
import Domain
import Ledger
import Postgres
import Projecting

extension TestLedger {
    /// What keeps a projection level.
    func projector(_ projection: any Projection, pool: ConnectionPool? = nil) -> Projector {
        Projector(
            projection, reader: LedgerReader(pool ?? self.pool), pool: pool ?? self.pool, on: loop,
            name: "\(UInt64.random(in: 0 ... .max))",
            gauges: Projector.Gauges(MetricRegistry(), projection: projection.name),
            clock: { base })
    }

    /// What builds a projection anew.
    func rebuild(
        _ projection: any Projection, workers: Int = 2, rangeBuckets: Int? = nil,
        comparedRows: Int = 10_000, runner: String = "test", memoryMiB: Int = 64,
        clock: TestClock = TestClock(base),
        options: [String] = [], onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) -> Rebuild {
        let address = address
        return Rebuild(
            projection, pool: pool, reader: reader,
            resources: Rebuild.Resources(
                workers: workers, memoryMiB: memoryMiB, rangeBuckets: rangeBuckets,
                comparedRows: comparedRows,
                connect: { () async throws(PostgresError) in
                    try await BlockingConnection.open(
                        address, options: Migrator.sessionOptions + options, name: "rebuild")
                }), runner: runner, clock: { clock.now },
            onProgress: { done, _ in onProgress(done) })
    }

    /// Runs a body while a projection is kept level.
    func following(_ projection: any Projection, _ body: () async throws -> Void) async throws {
        let projector = projector(projection)
        let task = Task { await projector.run() }
        do {
            try await body()
        } catch {
            task.cancel()
            await task.value
            throw error
        }
        task.cancel()
        await task.value
    }

    /// How a projection stands.
    func status(_ projection: any Projection) async throws -> ProjectionStatus {
        try await ProjectionRegistry(pool).status(of: projection.name)
    }
}

/// Appends purchases, each with a number of its own, to so many lines.
func appendPurchases(_ count: Int, from first: Int = 0, lines: Int, to writer: Writer)
    async throws
{
    try await withThrowingTaskGroup(of: Void.self) { group in
        for number in first..<first + count {
            group.addTask {
                _ = try await writer.append(
                    Purchase(line: "\(number % lines)", number: number).proposal)
            }
        }
        try await group.waitForAll()
    }
}
