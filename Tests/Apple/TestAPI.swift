import Domain
import EventLoop
import HTTP
import Synchronization

/// A stand-in for Apple's server API on loopback that says what a test wants to hear.
public final class TestAPI: Sendable {
    /// One call that reached it.
    public struct Call: Sendable {
        /// `GET`, `POST` or `PUT`.
        public let method: String
        /// The path without `/inApps`.
        public let path: String
        /// The query, in its order.
        public let query: [QueryItem]
        /// The body, when there is one.
        public let body: JSON?
        /// The bearer token that it carried.
        public let token: String

        /// The value of a parameter.
        public func parameter(_ name: String) -> String? {
            query.first { $0.name == name }?.value
        }
    }

    /// What it answers.
    public struct Reply: Sendable {
        var status: Int
        var body: JSON?
        var headers: [Header]

        /// An answer of these.
        public init(_ status: Int, _ body: JSON? = nil, headers: [Header] = []) {
            self.status = status
            self.body = body
            self.headers = headers
        }

        /// An error as Apple words it.
        public static func error(_ code: Int64, headers: [Header] = []) -> Reply {
            Reply(
                Int(code / 10_000),
                JSON(members: [
                    "errorCode": .integer(code), "errorMessage": .string("As it was said."),
                ]), headers: headers)
        }

        /// A page of signed transactions.
        public static func history(
            _ signed: [String], revision: String?, hasMore: Bool, environment: String
        ) -> Reply {
            Reply(
                200,
                JSON(members: [
                    "revision": .text(revision), "hasMore": .bool(hasMore),
                    "bundleId": .string("com.example.app"), "environment": .string(environment),
                    "signedTransactions": .array(signed.map(JSON.string)),
                ]))
        }
    }

    private let server: Server
    private let loop: EventLoop
    private let log: Log

    private final class Log: Sendable {
        let calls = Mutex<[Call]>([])
    }

    /// One that answers each call, given with its number from 1.
    public init(_ answer: @escaping @Sendable (Call, Int) async -> Reply) throws {
        let log = Log()
        loop = EventLoop(name: "apple")
        server = try Server(
            host: "127.0.0.1", port: 0, on: [loop], bodyLimit: { _, _ in 100_000 }
        ) { request in
            let call = Call(
                method: request.method, path: String(request.path.dropFirst("/inApps".count)),
                query: request.query, body: try? JSON.parse(request.body),
                token: String((request.header("Authorization") ?? "").dropFirst(7)))
            let number = log.calls.withLock { calls in
                calls.append(call)
                return calls.count
            }
            let reply = await answer(call, number)
            return Response(
                status: reply.status, headers: reply.headers,
                body: .bytes(reply.body?.bytes() ?? []))
        }
        self.log = log
    }

    /// Runs a test with one.
    public static func run(
        _ answer: @escaping @Sendable (Call, Int) async -> Reply,
        _ body: (TestAPI) async throws -> Void
    ) async throws {
        let api = try TestAPI(answer)
        do {
            try await body(api)
        } catch {
            await api.end()
            throw error
        }
        await api.end()
    }

    /// Scheme, host and port.
    public var address: String { "http://127.0.0.1:\(server.port)" }

    /// The calls so far.
    public var calls: [Call] { log.calls.withLock { $0 } }

    /// Answers nobody any more.
    public func end() async {
        await server.stop(within: .seconds(10))
        loop.stop()
    }
}
