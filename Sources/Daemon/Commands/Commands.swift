import Domain
import Foundation

/// Commands of a few lines.
enum Commands {
    /// Brings the schema up to date.
    static func migrate(_ configuration: Configuration) async throws(DaemonError) -> ExitCode {
        let ground = try await Ground.open(configuration, migrate: true)
        await ground.close()
        print("the schema is up to date")
        return .done
    }

    /// Runs a command that needs the ledger, and lets go of it afterwards.
    static func withGround<T: Sendable>(
        _ configuration: Configuration, _ body: (Ground) async throws(DaemonError) -> T
    ) async throws(DaemonError) -> T {
        let ground = try await Ground.open(configuration, migrate: false)
        do throws(DaemonError) {
            let result = try await body(ground)
            await ground.close()
            return result
        } catch {
            await ground.close()
            throw error
        }
    }

    /// Writes a value as one line of JSON.
    static func write(_ json: JSON) {
        print(String(decoding: json.bytes(), as: UTF8.self))
    }
}
