import AppStore
import Diagnostics
import Domain
import Entitlements
import EventLoop
import HTTP
import Ledger
import Projecting

/// What `backfill` and `reconcile` stand on: the ground, a writer, and Apple's server API.
struct StoreCommand: Sendable {
    let ground: Ground
    let stores: StoreApps
    let intake: Intake

    /// Runs a command on it, and lets go of all afterwards.
    ///
    /// - Throws: `serverAPIUnusable` before anything is asked or written, `badQuestion` when no
    ///   app has a key.
    static func run<T: Sendable>(
        _ configuration: Configuration, app: String?,
        _ body: (StoreCommand) async throws(DaemonError) -> T
    ) async throws(DaemonError) -> T {
        guard app != nil || configuration.apps.contains(where: { $0.serverAPI != nil }) else {
            throw .badQuestion("no app has a key for the server API (apps[].serverAPI)")
        }
        let interpreter = try configuration.interpreter()
        let ground = try await Ground.open(configuration, migrate: true)
        let writer = ground.writer()
        do throws(DaemonError) {
            let stores = try StoreApps(
                configuration, only: app,
                manner: StoreApps.Manner(
                    waiting: .real(on: ground.outer), observe: StoreCommand.tell))
            try await SettingsRecorder(configuration: configuration).settle(writer, adopt: false)
            let checks = configuration.apple.onlineChecks ? OnlineChecks(client: Client()) : nil
            let command = StoreCommand(
                ground: ground, stores: stores,
                intake: Intake(ground, writer, interpreter, checks))
            let result = try await body(command)
            await writer.close()
            await ground.close()
            return result
        } catch {
            await writer.close()
            await ground.close()
            throw error
        }
    }

    /// Brings the projected lines level with the record, which nobody else does without a daemon.
    func levelLines() async throws(DaemonError) {
        let checkpoints = Checkpoints()
        let projector = ground.projector(LinesProjection(), MetricRegistry(), checkpoints)
        let following = Task(executorPreference: ground.inner) { await projector.run() }
        defer { following.cancel() }
        let head: Position
        do throws(LedgerError) {
            head = try await ground.reader.head().position
        } catch {
            throw .ledger(error)
        }
        let progress = Progress("lines", of: head.number)
        var last = Position.start
        var stillSince = ContinuousClock.now
        while last < head, stillSince.duration(to: .now) < StoreCommand.patience {
            try? await ground.inner.sleep(for: .milliseconds(20))
            guard let lowest = checkpoints.lowest, lowest > last else { continue }
            progress.advance(by: lowest.number - last.number)
            (last, stillSince) = (lowest, .now)
        }
        progress.finish()
    }

    /// Says why nothing seems to happen.
    @Sendable private static func tell(_ call: String, _ step: ServerAPI.Step) {
        guard case .retried(let pause) = step, pause >= longPause else { return }
        let until = SystemClock.now.adding(milliseconds: Int64(pause / .milliseconds(1)))
        Program.complain("subledger: Apple's servers are asked again at \(until)")
    }

    private static let longPause = Duration.seconds(5)

    /// How long the projection may stand still before its lines are taken as they are.
    private static let patience = Duration.seconds(10)
}
