import Diagnostics
import Domain
import Ledger
import Postgres

/// Rebuilds what is to be rebuilt while a daemon serves: live generations of an older edition,
/// what was asked for, and what another process began and left.
public actor Rebuilder {
    private let rebuilds: [Rebuild]
    private var failures: [String: Int] = [:]
    private var skipUntil: [String: ContinuousClock.Instant] = [:]

    /// How often it looks.
    private static let poll = Duration.seconds(1)

    /// A rebuilder of these projections.
    public init(_ rebuilds: [Rebuild]) { self.rebuilds = rebuilds }

    /// Rebuilds, one projection after another, until cancelled.
    public func run() async {
        while !Task.isCancelled {
            for rebuild in rebuilds where !Task.isCancelled { await tend(rebuild) }
            try? await Task.sleep(for: Rebuilder.poll)
        }
    }

    private func tend(_ rebuild: Rebuild) async {
        let name = rebuild.projection.name
        if let until = skipUntil[name], until > .now { return }
        do throws(ProjectingError) {
            guard try await rebuild.isWanted() else { return }
            let started = ContinuousClock.now
            Log.info("projection is being rebuilt", ["projection": name])
            let outcome = try await rebuild.replace()
            failures[name] = nil
            Log.info(
                "projection was rebuilt",
                [
                    "projection": name, "generation": "\(outcome.generation)",
                    "entries": "\(outcome.entries)", "position": "\(outcome.position)",
                    "digest": outcome.digest ?? "",
                    "seconds": "\(started.duration(to: .now).components.seconds)",
                ])
        } catch .busy {
            // Another process is at it.
        } catch {
            if Task.isCancelled { return }
            let count = (failures[name] ?? 0) + 1
            failures[name] = count
            skipUntil[name] = .now + .seconds(min(60, 2 << min(count, 5)))
            Log.warning(
                "projection was not rebuilt",
                ["projection": name, "code": error.code, "error": "\(error)"])
        }
    }
}

extension Rebuild {
    /// Whether the live generation is of an older edition, or a build waits for a runner.
    func isWanted() async throws(ProjectingError) -> Bool {
        try await penned { () throws(PostgresError) in
            try await pool.query(
                """
                select exists (select from projection.generation \
                where projection = $1 and is_live and edition < $2) \
                or exists (select from projection.build where projection = $1 \
                and state = 'building' and purpose = 'replace' and edition = $2 \
                and (runner is null or updated_at < $3))
                """,
                [
                    .text(projection.name), .int8(projection.edition),
                    .int8(clock().milliseconds - Builds.silence),
                ]
            ).only().bool(0)
        }
    }
}
