import Domain
import EventLoop
import HTTP
import Synchronization

@testable import Daemon

/// A backend that takes webhooks, and answers as a test says.
final class Consumer: Sendable {
    /// What was delivered.
    struct Delivered: Sendable {
        var headers: [String: String]
        var body: [UInt8]

        var json: JSON { (try? JSON.parse(body)) ?? .null }
        var id: String { headers["webhook-id"] ?? "" }
    }

    private let state = Mutex((taken: [Delivered](), asked: 0))
    private let loop = EventLoop(name: "consumer")
    private let server: Server

    /// Where it is.
    var url: String { "http://127.0.0.1:\(server.port)/hook" }

    /// A backend that answers the nth request, from 1, as `answer` says.
    init(_ answer: @escaping @Sendable (Int, Delivered) async -> Response) throws {
        let holder = Holder()
        server = try Server(
            host: "127.0.0.1", port: 0, on: [loop], bodyLimit: { _, _ in 1 << 20 },
            problem: { status, _ in Response(status: status) },
            handler: { request in
                guard let consumer = holder.consumer.withLock({ $0 }) else {
                    return Response(status: 503)
                }
                return await consumer.take(request, answer)
            })
        holder.consumer.withLock { $0 = self }
    }

    private final class Holder: Sendable {
        let consumer = Mutex<Consumer?>(nil)
    }

    private func take(
        _ request: Request, _ answer: @Sendable (Int, Delivered) async -> Response
    ) async -> Response {
        var headers: [String: String] = [:]
        for header in request.headers { headers[header.name.lowercased()] = header.value }
        let delivered = Delivered(headers: headers, body: request.body)
        let number = state.withLock { state in
            state.asked += 1
            return state.asked
        }
        let response = await answer(number, delivered)
        if response.status < 300 { state.withLock { $0.taken.append(delivered) } }
        return response
    }

    /// What it took, in the order of arrival.
    var taken: [Delivered] { state.withLock { $0.taken } }

    /// How often it was asked.
    var asked: Int { state.withLock { $0.asked } }

    /// Waits until it took so many.
    func took(_ count: Int) async throws -> [Delivered] {
        try await until { self.taken.count >= count }
        return taken
    }

    /// Waits until something holds.
    func until(_ condition: () async throws -> Bool) async throws {
        while try await !condition() { try await loop.sleep(for: .milliseconds(5)) }
    }

    /// Takes nothing any more.
    func stop() async {
        await server.stop(within: .seconds(1))
        loop.stop()
    }
}
