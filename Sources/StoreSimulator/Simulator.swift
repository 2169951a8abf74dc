public import Domain
import EventLoop
import HTTP

/// A stand-in for Apple's servers: verifyReceipt, the server API, and notifications.
///
/// Production answers below `/production` and at `/verifyReceipt`, Sandbox below `/sandbox`, and
/// what only a simulator has below `/simulator`.
public final class Simulator: Sendable {
    /// What a simulator is begun with; what is said here beats the scenario.
    public struct Options: Sendable {
        /// Where it listens.
        public var host = "127.0.0.1"
        /// 0 lets the system pick one; then no certificate says where its status can be asked for.
        public var port: UInt16 = 0
        /// The folder of certificates and keys.
        public var directory: String
        /// What it plays.
        public var scenario = Scenario()
        /// When its clock begins.
        public var start: Instant?
        /// Simulated seconds per real second.
        public var clock: Double?
        /// Where notifications go.
        public var notify: String?
        /// How much faster than in life notifications are sent again; `nil` as the clock runs.
        public var retries: Double?

        /// The usual options, with a folder.
        public init(directory: String) { self.directory = directory }
    }

    /// The port, also when the system picked it.
    public let port: UInt16
    /// What clients of the server API sign with: its issuer's and its key's name.
    public let credentials: (issuerId: String, keyId: String)
    private let loop: EventLoop
    private let server: Server
    private let ticking: Task<Void, Never>
    let store: Store

    /// How long a turn lasts at most. Units: milliseconds.
    private static let longestTurn: Int64 = 50

    /// Makes the store, and answers from then on.
    public init(_ options: Options) throws(SimulatorError) {
        let scenario = options.scenario
        // Only an address that is known beforehand can be written into certificates.
        let responder = options.port == 0 ? nil : "http://\(options.host):\(options.port)/ocsp"
        let authority = try Authority(directory: options.directory, responder: responder)
        let real = SimulatedClock.real
        let start = options.start ?? scenario.beginning(before: real) ?? real
        let end = scenario.length.map { scenario.pace.adding($0, to: start) }
        let world = World(
            scenario, start: start, end: end ?? scenario.pace.adding(.days(365), to: start))
        let clock = SimulatedClock(
            start: start, factor: options.clock ?? scenario.clock ?? 1, end: end)
        let url = options.notify ?? scenario.notify
        let store = Store(
            authority: authority, world: world, clock: clock, notifyURL: url,
            retries: options.retries, faults: scenario.faults)
        let loop = EventLoop(name: "store")
        do throws(ListenError) {
            server = try Server(
                host: options.host, port: options.port, on: [loop],
                bodyLimit: { _, _ in 4 * 1_024 * 1_024 },
                handler: { request in await Simulator.answer(request, store, loop) })
        } catch {
            loop.stop()
            throw .notListening("\(error)")
        }
        port = server.port
        self.loop = loop
        self.store = store
        credentials = (authority.credentials.issuerId, authority.credentials.keyId)
        let courier = url.map { Courier(store: store, url: $0, loop: loop) }
        ticking = Task { await Simulator.tick(store, courier, loop) }
    }

    /// Ends answering and delivering.
    public func stop() async {
        ticking.cancel()
        await server.stop(within: .seconds(2))
        loop.stop()
    }

    /// Lets the world go on, and hands over what is to be delivered.
    private static func tick(_ store: Store, _ courier: Courier?, _ loop: EventLoop) async {
        while !Task.isCancelled {
            let (parcels, wait) = await store.turn()
            for parcel in parcels { await courier?.take(parcel) }
            do throws(CancellationError) {
                try await loop.sleep(for: .milliseconds(max(1, min(wait, longestTurn))))
            } catch {
                return
            }
        }
    }

    private static func answer(
        _ request: Request, _ store: Store, _ loop: EventLoop
    ) async -> Response {
        var path = request.segments
        var environment = Environment.production
        switch path.first {
        case "simulator": return await store.control(request, path: Array(path.dropFirst()))
        case "sandbox":
            environment = .sandbox
            path.removeFirst()
        case "production": path.removeFirst()
        case "ocsp": return status(request, store.authority.responder)
        default: break
        }
        if path == ["verifyReceipt"] { return await store.verifyReceipt(request, in: environment) }
        guard path.first == "inApps" else { return Response(status: 404) }
        let call = APICall(
            environment: environment, method: request.method, path: path, query: request.query,
            body: request.body)
        let (response, wait) = await store.answer(
            call, authorization: request.header("Authorization"))
        if wait > 0 { try? await loop.sleep(for: .milliseconds(wait)) }
        return response
    }
}

extension Simulator {
    /// Answers what the authority says of a certificate.
    private static func status(_ request: Request, _ responder: StatusResponder) -> Response {
        guard request.method == "POST", let answer = responder.answer(to: request.body) else {
            return Response(status: 400)
        }
        return Response(
            status: 200, headers: [Header("Content-Type", "application/ocsp-response")],
            body: .bytes(answer))
    }
}

extension Scenario {
    /// When the clock begins, seen from now.
    func beginning(before now: Instant) -> Instant? {
        switch start {
        case nil: nil
        case .at(let instant): instant
        case .ago(let span):
            now.adding(milliseconds: -Pace.life.length(of: span))
        }
    }
}
