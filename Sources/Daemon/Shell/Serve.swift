import Diagnostics
import EventLoop
import Foundation
import HTTP

/// The daemon: opens the ground, works until it is told to end, and ends in order.
struct Serve {
    let invocation: Invocation
    let configuration: Configuration

    /// How long accepted requests have to be answered after a signal to end.
    private static let grace = Duration.seconds(8)

    /// Runs until SIGTERM or SIGINT.
    func run() async throws(DaemonError) -> ExitCode {
        for warning in configuration.warnings { Log.warning("configuration", ["says": warning]) }
        let signals = EventLoop(name: "signals")
        let ending = Ending()
        EventLoop.onSignal([SIGTERM, SIGINT], on: signals) { _ in ending.begin() }
        let ground = try await Ground.open(
            configuration, migrate: !invocation.has("no-migrate"))
        let watch = ClusterWatch(ground.cluster)
        watch.start()
        do throws(DaemonError) {
            try await answer(ground, ending)
        } catch {
            watch.stop()
            await ground.close()
            throw error
        }
        watch.stop()
        await ground.close()
        return .done
    }

    /// Opens the doors, and closes them when it is time.
    private func answer(_ ground: Ground, _ ending: Ending) async throws(DaemonError) {
        let service = try await Service.start(
            ground, adoptSettings: invocation.has("adopt-settings"), ending: ending)
        do throws(DaemonError) {
            let servers = try Doors.open(service.router, ground)
            await ending.wait()
            Log.info("ending")
            await withTaskGroup { group in
                for server in servers {
                    group.addTask { await server.stop(within: Serve.grace) }
                }
            }
        } catch {
            await service.stop()
            throw error
        }
        await service.stop()
    }
}
