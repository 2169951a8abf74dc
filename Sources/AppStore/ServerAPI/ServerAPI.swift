import Crypto
import Domain
import HTTP

/// Asks Apple's server API about one app in one environment.
///
/// Every verb asks again, patiently, what may be answered later, and throws what will not be.
/// Safe to use from many tasks at once.
public final class ServerAPI: Sendable {
    /// What is told of the asking, for metrics.
    public enum Step: Sendable, Equatable {
        /// A call was sent.
        case asked
        /// One that failed will be sent again after a pause.
        case retried(after: Duration)
        /// One got no answer that can be used.
        case failed(ServerAPIError)
    }

    /// Where and as whom it asks.
    public struct Place: Sendable {
        /// The environment that the address is of.
        public var environment: Environment
        /// Scheme, host and port, without a path.
        public var address: String
        /// The app's bundle id.
        public var bundleID: String

        /// A place of these parts.
        public init(environment: Environment, address: String, bundleID: String) {
            self.environment = environment
            self.address = address
            self.bundleID = bundleID
        }
    }

    /// The most bytes of an answer: twenty notifications take a tenth of it.
    static let answerLimit = 4 << 20
    /// How long one attempt may take.
    static let attemptTime = Duration.seconds(30)

    /// Younger tokens are not made anew when they are refused. Units: milliseconds.
    static let freshness: Int64 = 60_000

    /// Where and as whom it asks.
    public let place: Place
    private let client: Client
    private let tokens: BearerTokens
    private let pacing: Pacing
    private let patience: Patience
    private let waiting: Waiting
    private let observe: @Sendable (String, Step) -> Void

    /// One that asks there with a key.
    ///
    /// - Parameters:
    ///   - share: the part of Apple's rates that it uses, above 0.
    ///   - observe: told of each step and the name of its call.
    public init(
        _ place: Place, key: ServerAPIKey, client: Client, waiting: Waiting,
        patience: Patience = ServerAPI.usualPatience, share: Double = 1,
        observe: @escaping @Sendable (String, Step) -> Void = { _, _ in }
    ) {
        self.place = place
        self.client = client
        self.waiting = waiting
        self.patience = patience
        self.observe = observe
        tokens = BearerTokens(key, bundleID: place.bundleID)
        pacing = Pacing(place.environment, share: share)
    }

    /// Some minutes for failures; over an hour for a wait that Apple asks for, since it counts
    /// calls by the hour.
    public static let usualPatience = Patience(
        attempts: 9, first: .milliseconds(500), longest: .seconds(60), total: .seconds(75 * 60))

    /// The answer to a call.
    func answer(to call: Call) async throws(ServerAPIError) -> JSON {
        do throws(ServerAPIError) {
            return try await persist(call)
        } catch {
            observe(call.name, .failed(error))
            throw error
        }
    }

    private func persist(_ call: Call) async throws(ServerAPIError) -> JSON {
        let start = waiting.now()
        var attempt = 1
        while true {
            try await sleep(pacing.turn(call.rate))
            let token = try token()
            observe(call.name, .asked)
            switch await attemptOnce(call, token) {
            case .answer(let json): return json
            case .final(let error): throw error
            case .unauthorized:
                // One that was made a moment ago would be no better made anew.
                guard token.age > ServerAPI.freshness else { throw .unauthorized }
                tokens.forget(token)
            case .again(let error, let until, let attempts):
                guard attempt < attempts,
                    let pause = patience.pause(
                        after: attempt, since: start, now: waiting.now(), until: until,
                        chance: waiting.chance())
                else { throw error }
                observe(call.name, .retried(after: pause))
                try await sleep(pause)
                attempt += 1
            }
        }
    }

    private func attemptOnce(_ call: Call, _ token: BearerTokens.Token) async -> Reply {
        var headers = [
            Header("Authorization", "Bearer \(token.text)"), Header("Accept", "application/json"),
        ]
        if call.body != nil { headers.append(Header("Content-Type", "application/json")) }
        do throws(ClientError) {
            let answer = try await client.send(
                call.method.rawValue, place.address + call.path, headers: headers,
                body: call.body?.bytes() ?? [], limit: ServerAPI.answerLimit,
                within: ServerAPI.attemptTime)
            return Reply(answer, now: waiting.now())
        } catch {
            return Reply(error)
        }
    }

    private func token() throws(ServerAPIError) -> BearerTokens.Token {
        do throws(KeyError) {
            return try tokens.token(now: waiting.now())
        } catch {
            throw .unauthorized
        }
    }

    private func sleep(_ time: Duration) async throws(ServerAPIError) {
        guard time > .zero else { return }
        do throws(CancellationError) {
            try await waiting.sleep(time)
        } catch {
            throw .cancelled
        }
    }
}
