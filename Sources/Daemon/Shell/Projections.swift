import Analytics
import Diagnostics
import Entitlements
import Foundation
import Ledger
import Postgres
import Projecting

/// The projections that there are.
enum Projections {
    static let all = answering + measuring
    /// Those that answers about customers rest on: they are woken, and appends wait for them.
    static let answering: [any Projection] = [LinesProjection(), HoldingsProjection()]
    /// Those that numbers rest on. They may be behind: what they lack is measured from the record.
    static let measuring: [any Projection] = [PeriodsProjection(), MetricsProjection()]

    /// The projection of a name.
    static func named(_ name: String) -> (any Projection)? { all.first { $0.name == name } }

    /// Differs from that of every other process.
    static let process = UUID().uuidString
}

/// Projections that are kept level while a command runs, which nobody else does without a daemon.
struct Following {
    fileprivate let tasks: [Task<Void, Never>]

    /// Lets go of them.
    func stop() async {
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}

extension Ground {
    /// Keeps projections level until it is told to stop.
    func following(_ projections: [any Projection]) -> Following {
        Following(
            tasks: projections.map { projection in
                let isMeasuring = Projections.measuring.contains { $0.name == projection.name }
                let projector =
                    isMeasuring
                    ? measuringProjector(projection, MetricRegistry())
                    : projector(projection, MetricRegistry(), Checkpoints())
                return Task(executorPreference: isMeasuring ? measuring : inner) {
                    await projector.run()
                }
            })
    }

    /// What keeps a projection level.
    func projector(
        _ projection: any Projection, _ metrics: MetricRegistry, _ checkpoints: Checkpoints,
        onFlip: @escaping @Sendable () -> Void = {}
    ) -> Projector {
        Projector(
            projection, reader: LedgerReader(writePool), pool: writePool, on: inner,
            name: UUID().uuidString,
            gauges: Projector.Gauges(metrics, projection: projection.name),
            checkpoints: checkpoints, onFlip: onFlip, clock: { SystemClock.now })
    }

    /// What keeps a projection of numbers level, in nobody's way.
    func measuringProjector(_ projection: any Projection, _ metrics: MetricRegistry) -> Projector {
        Projector(
            projection, reader: LedgerReader(measuringPool), pool: measuringPool, on: measuring,
            name: UUID().uuidString,
            gauges: Projector.Gauges(metrics, projection: projection.name),
            clock: { SystemClock.now })
    }

    /// What builds a projection anew.
    func rebuild(
        _ projection: any Projection, workers: Int? = nil, rangeBuckets: Int? = nil,
        onProgress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void = { _, _ in }
    ) -> Rebuild {
        let address = connectionString
        let workers =
            workers ?? configuration.projections.workers
            ?? ProcessInfo.processInfo.activeProcessorCount
        return Rebuild(
            projection, pool: writePool, reader: LedgerReader(writePool),
            resources: Rebuild.Resources(
                workers: workers, memoryMiB: configuration.projections.memoryMiB,
                rangeBuckets: rangeBuckets,
                connect: { () async throws(PostgresError) in
                    try await BlockingConnection.open(
                        address, options: Migrator.sessionOptions + ["set statement_timeout = 0"],
                        name: "rebuild", patience: .seconds(600))
                }), runner: Projections.process, clock: { SystemClock.now },
            onProgress: onProgress)
    }
}
