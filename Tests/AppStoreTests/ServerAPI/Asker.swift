import AppStore
import Crypto
import Domain
import HTTP
import Synchronization
import TestApple

/// Asks a stand-in for Apple, in a world whose time passes only while it waits.
final class Asker: Sendable {
    private struct World {
        var now = Instant(milliseconds: 1_750_000_000_000)
        var pauses: [Duration] = []
        var steps: [String] = []
    }

    private let world = Mutex(World())
    let key = P256.PrivateKey()

    /// The time now.
    var now: Instant { world.withLock { $0.now } }
    /// How long it waited, each time.
    var pauses: [Duration] { world.withLock { $0.pauses } }
    /// What it told of its asking.
    var steps: [String] { world.withLock { $0.steps } }

    /// Lets time pass.
    func pass(_ time: Duration) {
        world.withLock { $0.now = $0.now.adding(milliseconds: Int64(time / .milliseconds(1))) }
    }

    /// The server API at an address; chance is always a half.
    func ask(_ api: TestAPI, attempts: Int = 4) throws -> ServerAPI {
        ServerAPI(
            ServerAPI.Place(
                environment: .production, address: api.address, bundleID: "com.example.app"),
            key: try ServerAPIKey(issuerID: "issuer", keyID: "KEY1", pem: key.pem()),
            client: Client(),
            waiting: Waiting(
                now: { self.now }, chance: { 0.5 },
                sleep: { (time) async throws(CancellationError) in
                    if Task.isCancelled { throw CancellationError() }
                    self.world.withLock { $0.pauses.append(time) }
                    self.pass(time)
                }),
            patience: Patience(
                attempts: attempts, first: .milliseconds(100), longest: .seconds(1),
                total: .seconds(600)),
            observe: { call, step in
                let word =
                    switch step {
                    case .asked: "asked"
                    case .retried: "retried"
                    case .failed(let error): "failed \(error.code)"
                    }
                self.world.withLock { $0.steps.append("\(call) \(word)") }
            })
    }
}
