import AppStore
import Crypto
import Diagnostics
import Domain
import Entitlements
import EventLoop
import Foundation
import HTTP
import Ledger
import Operation
import Postgres
import Projecting
import Synchronization

/// The daemon: opens the ground, records settings, follows the record, answers, and ends in order.
struct Serve {
    let invocation: Invocation
    let configuration: Configuration

    /// How long accepted requests have to be answered after a signal to end.
    private static let grace = Duration.seconds(8)

    /// Runs until SIGTERM or SIGINT.
    func run() async throws(DaemonError) -> ExitCode {
        for warning in configuration.warnings { Log.warning("configuration", ["says": warning]) }
        let interpreter = try configuration.interpreter()
        let signals = EventLoop(name: "signals")
        let ending = Ending()
        EventLoop.onSignal([SIGTERM, SIGINT], on: signals) { _ in ending.begin() }
        let ground = try await Ground.open(
            configuration, migrate: !invocation.has("no-migrate"))
        let watch = ClusterWatch(ground.cluster)
        watch.start()
        let metrics = MetricRegistry()
        let projectors = projectors(ground, metrics)
        let writer = ground.writer { position, entries in
            metrics.counter("subledger_appended_entries_total", help: "Entries appended here.")
                .add(entries.count)
            metrics.gauge("subledger_head_position", help: "The last position appended here.")
                .set(Double(position.number))
            Task(executorPreference: ground.inner) {
                for projector in projectors { await projector.wake() }
            }
        }
        do throws(DaemonError) {
            try await SettingsRecorder(configuration: configuration).settle(
                writer, adopt: invocation.has("adopt-settings"))
            try await answer(ground, writer, projectors, interpreter, metrics, ending)
        } catch {
            await close(ground, writer, watch)
            throw error
        }
        await close(ground, writer, watch)
        return .done
    }

    /// Opens the doors, and closes them when it is time.
    private func answer(
        _ ground: Ground, _ writer: Ledger.Writer, _ projectors: [Projector],
        _ interpreter: AppStore.Interpreter, _ metrics: MetricRegistry, _ ending: Ending
    ) async throws(DaemonError) {
        let keyRing = try await keyRing(ground)
        let router = Router(
            routes: try routes(ground, writer, interpreter, metrics), keyRing: keyRing,
            requests: metrics)
        let following = projectors.map { projector in
            Task(executorPreference: ground.inner) { await projector.run() }
        }
        let servers = try listen(router, ground)
        await ending.wait()
        Log.info("ending")
        await withTaskGroup { group in
            for server in servers {
                group.addTask { await server.stop(within: Serve.grace) }
            }
        }
        await writer.close()
        for task in following { task.cancel() }
        for projector in projectors { await projector.wake() }
        for task in following { await task.value }
    }

    private func projectors(_ ground: Ground, _ metrics: MetricRegistry) -> [Projector] {
        let projections: [any Projection] = [LinesProjection(), HoldingsProjection()]
        return projections.map { projection in
            Projector(
                projection, reader: LedgerReader(ground.writePool), pool: ground.writePool,
                on: ground.inner,
                lag: metrics.gauge(
                    "subledger_projection_lag_entries", help: "Entries not yet folded.",
                    labels: ["projection": projection.name]), clock: { SystemClock.now })
        }
    }

    private func routes(
        _ ground: Ground, _ writer: Ledger.Writer, _ interpreter: AppStore.Interpreter,
        _ metrics: MetricRegistry
    ) throws(DaemonError) -> [Route] {
        let ingest = IngestRoutes(
            interpreter: interpreter, writer: writer, held: HeldStore(ground.writePool),
            samples: Samples(ground.writePool), answers: ground.answers,
            refusals: RefusalLimiter(), metrics: metrics)
        let customers = CustomerRoutes(
            answers: ground.answers, reader: ground.reader, loop: ground.outer)
        let feed = FeedRoutes(
            answers: ground.answers, reader: ground.reader, loop: ground.outer,
            signer: HeadSigner(key: try HeadKey.load(configuration.dataDirectory)))
        let operation = OperationRoutes(
            answers: ground.answers, writer: writer, metrics: metrics)
        return ingest.routes + customers.routes + feed.routes + operation.routes
    }

    /// The keys; on a ledger without any the first one is made and printed, once.
    private func keyRing(_ ground: Ground) async throws(DaemonError) -> KeyRing {
        var bootstrap: Concealed?
        do throws(ConfigurationError) {
            bootstrap = try configuration.bootstrapKey?.read(
                environment: ProcessInfo.processInfo.environment)
        } catch {
            throw .badQuestion("\(error)")
        }
        do throws(PostgresError) {
            if bootstrap == nil, try await ground.keys.list().isEmpty {
                let made = try await ground.keys.create(
                    name: "first key", roles: Set(Role.allCases),
                    now: SystemClock.now.milliseconds)
                print("API key with every role, shown this once: \(made.secret)")
            }
        } catch {
            throw .database(error)
        }
        return KeyRing(ground.keys, bootstrap: bootstrap)
    }

    private func listen(_ router: Router, _ ground: Ground) throws(DaemonError) -> [Server] {
        let identity = try identity()
        var doors: [(ListenAddress, @Sendable (Request) async -> Response)] = []
        if let inside = configuration.privateListen {
            let outside = Router(
                routes: router.routes.filter(Serve.isPublic), keyRing: router.keyRing,
                requests: router.requests)
            doors = [(configuration.listen, outside.answer), (inside, router.answer)]
        } else {
            doors = [(configuration.listen, router.answer)]
        }
        var servers: [Server] = []
        for (address, handler) in doors {
            do throws(ListenError) {
                let server = try Server(
                    host: address.host, port: address.port, on: [ground.outer],
                    identity: identity, bodyLimit: { _, _ in 1_048_576 },
                    problem: { status, detail in Serve.problem(status, detail) },
                    handler: handler)
                servers.append(server)
                let scheme = identity == nil ? "http" : "https"
                print("listening on \(scheme)://\(address.host):\(server.port)")
            } catch {
                throw .notListening(error)
            }
        }
        fflush(nil)
        return servers
    }

    /// What the outer door shows when there is an inner one.
    private static func isPublic(_ route: Route) -> Bool {
        let path = "/" + route.pattern.joined(separator: "/")
        return path == "/v1/apple/notifications" || path == "/healthz"
    }

    @Sendable private static func problem(_ status: Int, _ detail: String) -> Response {
        Problem(
            status: status, code: "SL054", title: "Request Refused", detail: detail
        ).response
    }

    private func identity() throws(DaemonError) -> TLSIdentity? {
        guard let tls = configuration.tls else { return nil }
        guard let certificate = FileManager.default.contents(atPath: tls.certificate) else {
            throw .fileUnusable(
                tls.certificate, why: "there is no such file, or it may not be read")
        }
        let key: Concealed
        do throws(ConfigurationError) {
            key = try tls.key.read(environment: ProcessInfo.processInfo.environment)
        } catch {
            throw .badQuestion("\(error)")
        }
        do throws(IdentityError) {
            return try TLSIdentity(
                certificates: Array(certificate), key: Array(key.revealed.utf8))
        } catch {
            throw .fileUnusable(tls.certificate, why: "\(error)")
        }
    }

    private func close(_ ground: Ground, _ writer: Ledger.Writer, _ watch: ClusterWatch) async {
        await writer.close()
        watch.stop()
        await ground.close()
    }
}

/// The moment at which the daemon is to end.
final class Ending: Sendable {
    private struct State {
        var hasBegun = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Says that it is time.
    func begin() {
        let waiting = state.withLock { state in
            state.hasBegun = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Waits until it is time; one waits at most.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isTime = state.withLock { state in
                if !state.hasBegun { state.waiting = continuation }
                return state.hasBegun
            }
            if isTime { continuation.resume() }
        }
    }
}

/// Brings an embedded database back when its server was killed.
final class ClusterWatch: Sendable {
    private let cluster: Cluster?
    private let isStopped = Atomic(false)
    private static let period: UInt32 = 200_000

    init(_ cluster: Cluster?) { self.cluster = cluster }

    /// Looks five times a second, on a thread of its own since restarting blocks.
    func start() {
        guard let cluster else { return }
        Thread.detachNewThread {
            while !self.isStopped.load(ordering: .relaxed) {
                usleep(ClusterWatch.period)
                guard !self.isStopped.load(ordering: .relaxed) else { return }
                do throws(ClusterError) {
                    if try cluster.restartIfDead() {
                        Log.warning("the embedded database was started again")
                    }
                } catch {
                    Log.error("the embedded database does not start", ["error": "\(error)"])
                }
            }
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}

/// The key that signs heads: kept with the daemon, outside the database.
enum HeadKey {
    static func load(_ directory: String) throws(DaemonError) -> Ed25519.PrivateKey {
        let path = directory + "/head-key.pem"
        do {
            if let data = FileManager.default.contents(atPath: path) {
                return try Ed25519.PrivateKey(pem: String(decoding: data, as: UTF8.self))
            }
            let key = Ed25519.PrivateKey()
            let isMade = FileManager.default.createFile(
                atPath: path, contents: Data(try key.pem().utf8),
                attributes: [.posixPermissions: 0o600])
            guard isMade else {
                throw DaemonError.fileUnusable(path, why: "it cannot be written")
            }
            return key
        } catch let error as DaemonError {
            throw error
        } catch {
            throw .fileUnusable(path, why: "\(error)")
        }
    }
}
