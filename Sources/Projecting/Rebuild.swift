import Diagnostics
public import Domain
public import Ledger
public import Postgres
import Synchronization

/// Builds a generation beside the live one, from the record alone, and makes it live.
///
/// Ranges of buckets are read, folded and copied in by several workers, each range in one
/// transaction with its mark, so that a rebuild that was killed goes on after its last ranges.
public struct Rebuild: Sendable {
    /// What a rebuild may use.
    public struct Resources: Sendable {
        /// How many ranges are folded at once, over two sessions each. Shape: from 1 to 32, whatever
        /// was asked for, so that a server's usual hundred sessions do for them and for others.
        public var workers: Int
        /// What all workers' entries and rows together may take. Units: MiB.
        public var memoryMiB: Int
        /// How many of the 1,024 buckets a range has; `nil`: about 20,000 entries' worth.
        public var rangeBuckets: Int?
        /// How many rows are compared at once, at least 1.
        public var comparedRows: Int
        /// Opens a session of its own for a worker.
        public var connect: @Sendable () async throws(PostgresError) -> BlockingConnection

        /// Resources of this size.
        public init(
            workers: Int, memoryMiB: Int, rangeBuckets: Int? = nil, comparedRows: Int = 10_000,
            connect: @escaping @Sendable () async throws(PostgresError) -> BlockingConnection
        ) {
            self.workers = min(max(1, workers), 32)
            self.memoryMiB = max(1, memoryMiB)
            self.rangeBuckets = rangeBuckets
            self.comparedRows = max(1, comparedRows)
            self.connect = connect
        }
    }

    /// What came of it.
    public struct Outcome: Sendable, Equatable {
        /// The generation that was built.
        public let generation: Int64
        /// The position at which it was compared, or made live.
        public let position: Position
        /// How many entries were folded.
        public let entries: Int64
        /// The digest of its rows; `nil` when nothing was to be compared.
        public let digest: String?
        /// The digest of the live generation's rows at the same position.
        public let liveDigest: String?

        /// Whether both generations have the same rows; `nil` when they could not be compared.
        public var isEqual: Bool? { liveDigest.map { $0 == digest } }
    }

    private(set) var projection: any Projection
    let pool: ConnectionPool
    let reader: LedgerReader
    let resources: Resources
    let runner: String
    let clock: @Sendable () -> Instant
    let onProgress: @Sendable (_ done: Int64, _ total: Int64) -> Void

    var builds: Builds { Builds(pool: pool, clock: clock) }

    /// A rebuild of a projection.
    ///
    /// - Parameters:
    ///   - runner: differs from that of every other process.
    ///   - onProgress: told how many of how many entries are folded.
    public init(
        _ projection: any Projection, pool: ConnectionPool, reader: LedgerReader,
        resources: Resources, runner: String, clock: @escaping @Sendable () -> Instant,
        onProgress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void = { _, _ in }
    ) {
        self.projection = projection
        self.pool = pool
        self.reader = reader
        self.resources = resources
        self.runner = runner
        self.clock = clock
        self.onProgress = onProgress
    }

    /// Sees to it that a generation will be built by whoever builds; returns its number.
    public func request() async throws(ProjectingError) -> Int64 {
        let head = try await recorded { () throws(LedgerError) in try await reader.head() }
        return try await builds.request(projection, .replace, head: head.position)
    }

    /// Ends the building of a generation, whoever is at it; false when nobody is.
    public func cancel() async throws(ProjectingError) -> Bool {
        try await builds.cancel(projection.name)
    }

    /// Builds a generation, or goes on where another rebuild ended, and makes it live.
    ///
    /// One that differs from the live generation of the same edition is made live as well: the
    /// record is the truth, and the outcome tells.
    public func replace() async throws(ProjectingError) -> Outcome {
        try await built(.replace) { rebuild, build throws(ProjectingError) in
            let compared = try await rebuild.compare(&build)
            if let compared, compared.live != compared.built {
                Log.error(
                    "the live generation differs from the record",
                    ["projection": projection.name, "generation": "\(build.number)"])
            }
            try await rebuild.flip(&build, compared)
            return compared
        }
    }

    /// Builds a generation, compares it with the live one, and removes it.
    public func verify() async throws(ProjectingError) -> Outcome {
        try await built(.verify) { rebuild, build throws(ProjectingError) in
            let compared = try await rebuild.compare(&build)
            _ = try await penned { () throws(PostgresError) in
                try await pool.query(
                    """
                    update projection.build set state = 'discarded' \
                    where projection = $1 and generation = $2
                    """, [.text(build.projection), .int8(build.number)])
            }
            return compared
        }
    }

    /// Makes the generation before live again, brought level first.
    public func rollBack() async throws(ProjectingError) -> Outcome {
        var build = try await builds.previous(projection, runner: runner)
        try await knowing(build.context).flip(&build, nil)
        return Outcome(
            generation: build.number, position: build.checkpoint, entries: 0, digest: nil,
            liveDigest: nil)
    }

    /// The rebuild whose folds know the context up to a position.
    private func knowing(_ context: Position) async throws(ProjectingError) -> Rebuild {
        guard let stream = projection.context else { return self }
        var next = self
        next.projection = projection.knowing(
            try await recorded { () throws(LedgerError) in
                try await reader.entries(of: [stream], upTo: context)
            })
        return next
    }

    private func built(
        _ purpose: Build.Purpose,
        _ finish: (Rebuild, inout Build) async throws(ProjectingError) -> Comparison?
    ) async throws(ProjectingError) -> Outcome {
        try await builds.sweep(projection)
        let head = try await recorded { () throws(LedgerError) in try await reader.head() }
        var build = try await builds.claim(
            projection, purpose, runner: runner, workers: resources.workers, head: head.position)
        let heart = heartbeat(build)
        defer { heart.cancel() }
        let rebuild = try await knowing(build.context)
        if build.checkpoint < build.target || build.target == .start {
            build.entriesDone = try await rebuild.foldRanges(build)
            try await step(&build, to: build.target, [], phase: "comparing")
        }
        let compared = try await finish(rebuild, &build)
        try await builds.sweep(projection)
        return Outcome(
            generation: build.number, position: build.checkpoint, entries: build.entriesDone,
            digest: compared?.built, liveDigest: compared?.live)
    }

    /// Tells others that this runner lives.
    private func heartbeat(_ build: Build) -> Task<Void, Never> {
        Task {
            while (try? await Task.sleep(for: .seconds(2))) != nil {
                _ = try? await pool.query(
                    """
                    update projection.build set updated_at = $4 \
                    where projection = $1 and generation = $2 and runner = $3
                    """,
                    [
                        .text(build.projection), .int8(build.number), .text(build.runner),
                        .int8(clock().milliseconds),
                    ])
            }
        }
    }

    /// Moves a build's checkpoint together with rows.
    func step(
        _ build: inout Build, to position: Position, _ changes: [Statement], phase: String
    ) async throws(ProjectingError) {
        let pen = Builds.pen(
            build, set: "checkpoint = $6, phase = $7",
            [.int8(position.number), .text(phase)], at: clock())
        try await penned { () throws(PostgresError) in
            _ = try await pool.atomically([pen] + changes)
        }
        build.checkpoint = position
    }
}
