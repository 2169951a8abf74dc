public import Domain
import Ledger
public import Postgres

/// How a projection stands, for its keepers.
public struct ProjectionStatus: Sendable, Equatable {
    /// A stream that does not follow the record.
    public struct Halt: Sendable, Equatable {
        /// The stream.
        public let stream: StreamID
        /// The entry from which on it is halted.
        public let position: Position
        /// Why.
        public let reason: String
    }

    /// A generation that was or is being built.
    public struct Generation: Sendable, Equatable {
        /// Its number.
        public let number: Int64
        /// The edition of the program that folds it.
        public let edition: Int64
        /// `building`, `live`, `previous` or `failed`.
        public let state: String
        /// `replace` or `verify`.
        public let purpose: String
        /// What its builder does.
        public let phase: String
        /// The position it is level with, once its bulk is folded.
        public let checkpoint: Position
        /// How many entries are folded in bulk.
        public let done: Int64
        /// How many of them there are.
        public let total: Int64
        /// How many folded at once.
        public let workers: Int64
        /// The digest of its rows when it was compared.
        public let digest: String?
        /// The digest of the live generation's rows at the same position.
        public let liveDigest: String?
        /// Why it is not being built any more.
        public let failure: String?
        /// When it was asked for.
        public let startedAt: Instant
        /// When its builder was heard of last.
        public let updatedAt: Instant
        /// When it became live or failed.
        public let finishedAt: Instant?
    }

    /// The name.
    public let name: String
    /// The number of the live generation; `nil` before the first.
    public let generation: Int64?
    /// The live generation's edition.
    public let edition: Int64?
    /// The position that the live generation is level with.
    public let position: Position
    /// The last position of the record.
    public let head: Position
    /// Streams that do not follow, the first of them.
    public let halted: [Halt]
    /// Generations beside the live one, and what is known of the live one's building; the newest first.
    public let generations: [Generation]

    /// Whether it is being rebuilt.
    public var isRebuilding: Bool {
        generations.contains { $0.state == "building" && $0.purpose == "replace" }
    }
}

/// Reads how projections stand.
public struct ProjectionRegistry: Sendable {
    private let pool: ConnectionPool

    /// The most halted streams that are listed of one projection.
    public static let shownHalts = 1_000

    /// A reader of the registry.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// How a projection stands.
    public func status(of name: String) async throws(ProjectingError) -> ProjectionStatus {
        try await penned { () throws(PostgresError) in
            let head = try await pool.query(
                "select last_position from ledger.batch order by number desc limit 1")
            let live = try await pool.query(
                """
                select generation, edition, checkpoint from projection.generation \
                where projection = $1 and is_live
                """, [.text(name)]
            ).first
            return ProjectionStatus(
                name: name, generation: try live?.int8(0), edition: try live?.int8(1),
                position: Position(try live?.int8(2) ?? 0),
                head: Position(try head.first?.int8(0) ?? 0),
                halted: try await halts(name), generations: try await generations(name))
        }
    }

    private func halts(_ name: String) async throws(PostgresError) -> [ProjectionStatus.Halt] {
        var halts: [ProjectionStatus.Halt] = []
        let rows = try await pool.query(
            """
            select stream, position, reason from projection.halted where projection = $1 \
            and generation = (select generation from projection.generation \
            where projection = $1 and is_live) order by bucket, stream \
            limit \(ProjectionRegistry.shownHalts)
            """, [.text(name)])
        for row in rows {
            halts.append(
                ProjectionStatus.Halt(
                    stream: StreamID(name: try row.text(0)), position: Position(try row.int8(1)),
                    reason: try row.text(2)))
        }
        return halts
    }

    private func generations(_ name: String)
        async throws(PostgresError) -> [ProjectionStatus.Generation]
    {
        var found: [ProjectionStatus.Generation] = []
        let rows = try await pool.query(
            """
            select generation, edition, state, purpose, phase, checkpoint, entries_done, target, \
            workers, digest, live_digest, failure, started_at, updated_at, finished_at \
            from projection.build where projection = $1 and state <> 'discarded' \
            order by generation desc limit 20
            """, [.text(name)])
        for row in rows {
            found.append(
                ProjectionStatus.Generation(
                    number: try row.int8(0), edition: try row.int8(1), state: try row.text(2),
                    purpose: try row.text(3), phase: try row.text(4),
                    checkpoint: Position(try row.int8(5)), done: try row.int8(6),
                    total: try row.int8(7), workers: try row.int8(8),
                    digest: try row.textIfAny(9), liveDigest: try row.textIfAny(10),
                    failure: try row.textIfAny(11),
                    startedAt: Instant(milliseconds: try row.int8(12)),
                    updatedAt: Instant(milliseconds: try row.int8(13)),
                    finishedAt: try row.int8IfAny(14).map(Instant.init(milliseconds:))))
        }
        return found
    }
}
