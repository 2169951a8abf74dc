import EventLoop
import HTTP
import Synchronization
import Testing

/// A server for one test, on a loop of its own.
struct Served {
    let loop = EventLoop(name: "served")
    let server: Server

    init(
        limits: Server.Limits = Server.Limits(), identity: TLSIdentity? = nil,
        handler: @escaping @Sendable (Request) async -> Response = Served.echo
    ) throws {
        server = try Server(
            host: "127.0.0.1", port: 0, on: [loop], limits: limits, identity: identity,
            bodyLimit: { _, path in path == "/big" ? 10_000_000 : 1_000 }, handler: handler)
    }

    func client() -> Client { Client(port: server.port) }

    func end() async {
        await server.stop(within: .seconds(10))
        loop.stop()
    }

    /// Answers with what was asked.
    static let echo: @Sendable (Request) async -> Response = { request in
        let text = "\(request.method) \(request.target) \(request.body.count);"
        return Response(
            status: 200, headers: [Header("Content-Type", "text/plain")],
            body: .bytes(Array(text.utf8)))
    }
}

private func get(_ path: String, _ fields: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n"
}

/// A gate that tasks wait at until it is opened, and that says when one has come.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var hasArrival = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var awaitingArrival: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state in
                state.hasArrival = true
                defer { state.awaitingArrival = [] }
                if !state.isOpen { state.waiting.append(continuation) }
                return state.awaitingArrival + (state.isOpen ? [continuation] : [])
            }
            for continuation in ready { continuation.resume() }
        }
    }

    func arrival() async {
        await withCheckedContinuation { continuation in
            let isHere = state.withLock { state in
                if !state.hasArrival { state.awaitingArrival.append(continuation) }
                return state.hasArrival
            }
            if isHere { continuation.resume() }
        }
    }

    func open() {
        let ready = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in ready { continuation.resume() }
    }
}

@Suite("A server")
struct ServerTests {
    @Test("answers with length, date and what the handler said, and keeps the connection")
    func keepAlive() async throws {
        let served = try Served()
        let client = served.client()
        for number in 1...3 {
            client.send(get("/\(number)"))
            let answer = await client.receive(until: ";")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: "))
            #expect(answer.hasSuffix(" GMT\r\nContent-Length: 9\r\n\r\nGET /\(number) 0;"))
        }
        await served.end()
    }

    @Test("answers pipelined requests in their order")
    func pipelining() async throws {
        let served = try Served()
        let client = served.client()
        let count = 1_000
        client.send((0..<count).map { get("/\($0)") }.joined() + get("/", "Connection: close\r\n"))
        let answers = try #require(await client.receiveAll())
        let targets = answers.split(separator: "GET /").dropFirst().compactMap {
            Int($0.prefix { $0 != " " })
        }
        #expect(targets == Array(0..<count))
        await served.end()
    }

    @Test("does not run two requests of one connection at once")
    func sequential() async throws {
        let gate = Gate()
        let running = Atomic(0)
        let served = try Served { request in
            let others = running.add(1, ordering: .relaxed).oldValue
            await gate.pass()
            running.subtract(1, ordering: .relaxed)
            return Response(status: 200, body: .bytes(Array("others \(others);".utf8)))
        }
        let client = served.client()
        client.send(get("/1") + get("/2", "Connection: close\r\n"))
        await gate.arrival()
        gate.open()
        let answers = try #require(await client.receiveAll())
        #expect(answers.split(separator: "others 0;").count == 2)
        await served.end()
    }

    @Test("closes when the client asks, and when it speaks 1.0 without asking to stay")
    func closing() async throws {
        let served = try Served()
        for request in [get("/", "Connection: x, Close\r\n"), "GET / HTTP/1.0\r\n\r\n"] {
            let client = served.client()
            client.send(request)
            #expect(try #require(await client.receiveAll()).contains("Connection: close\r\n"))
        }
        let client = served.client()
        for _ in 0..<2 {
            client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(await client.receive(until: ";").contains("Connection: keep-alive\r\n"))
        }
        await served.end()
    }

    @Test("answers a client that has ended its sending side")
    func halfClosed() async throws {
        let served = try Served()
        for request in [get("/a") + get("/b"), "G(T /\r\n"] {
            let client = served.client()
            client.send(request)
            client.finish()
            let answers = try #require(await client.receiveAll())
            #expect(answers.hasSuffix("GET /b 0;") || answers.contains("\"status\":400"))
        }
        await served.end()
    }

    @Test("says what is wrong as a problem document, then closes")
    func refusal() async throws {
        let served = try Served()
        let client = served.client()
        client.send("GET / HTTP/1.1\r\n\r\n" + get("/never"))
        let answer = try #require(await client.receiveAll())
        #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(answer.contains("Content-Type: application/problem+json\r\n"))
        #expect(answer.contains("Connection: close\r\n"))
        #expect(answer.hasSuffix("\"code\":\"http.400\",\"retryable\":false}"))
        await served.end()
    }

    @Test("refuses a long body before it comes, and lets the answer arrive while it comes")
    func longBody() async throws {
        let served = try Served()
        let client = served.client()
        client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000000\r\n\r\n")
        // Without draining, what is sent now would be answered by a reset.
        #expect(client.send([UInt8](repeating: 97, count: 5_000_000)) == 5_000_000)
        client.finish()
        #expect(
            try #require(await client.receiveAll()).hasPrefix("HTTP/1.1 413 Content Too Large\r\n"))
        await served.end()
    }

    @Test("takes a long body where it is allowed, also in chunks")
    func allowedBody() async throws {
        let served = try Served()
        let client = served.client()
        let body = [UInt8](repeating: 97, count: 5_000_000)
        client.send("POST /big HTTP/1.1\r\nHost: h\r\nContent-Length: 5000000\r\n\r\n")
        client.send(body)
        #expect(await client.receive(until: ";").hasSuffix("POST /big 5000000;"))
        client.send("POST /big HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<5 { client.send(Array("f4240\r\n".utf8) + body[..<1_000_000] + [13, 10]) }
        client.send("0\r\n\r\n")
        #expect(await client.receive(until: ";").hasSuffix("POST /big 5000000;"))
        await served.end()
    }

    @Test("asks for a body that waits to be asked for")
    func expectation() async throws {
        let served = try Served()
        let client = served.client()
        client.send(
            "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        #expect(await client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("abc")
        #expect(await client.receive(until: ";").hasSuffix("PUT / 3;"))
        await served.end()
    }

    @Test("sends no body for HEAD, 204 and 304, and frames them right")
    func noBody() async throws {
        let served = try Served { request in
            let body = Response.Body.bytes(Array("body".utf8))
            switch request.path {
            case "/204": return Response(status: 204, body: body)
            case "/304": return Response(status: 304, headers: [Header("ETag", "x")], body: body)
            case "/stream":
                return Response(status: 200, body: .stream { try await $0.write([65]) })
            default: return Response(status: 200, body: body)
            }
        }
        let client = served.client()
        client.send(
            "HEAD / HTTP/1.1\r\nHost: h\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n"
                + get("/204") + get("/304", "Connection: close\r\n"))
        let answers = try #require(await client.receiveAll())
        let parts = answers.split(separator: "\r\n\r\n")
        #expect(parts.count == 4)
        #expect(parts.allSatisfy { $0.hasPrefix("HTTP/1.1 ") })
        #expect(parts[0].contains("Content-Length: 4"))
        #expect(parts[1].contains("Transfer-Encoding: chunked"))
        #expect(!parts[2].contains("Content-Length") && !parts[3].contains("Content-Length"))
        await served.end()
    }

    @Test("lets no handler frame a message or add a field through a value")
    func fields() async throws {
        let served = try Served { _ in
            Response(
                status: 200,
                headers: [Header("Content-Length", "9"), Header("X", "a\r\nY: b")])
        }
        let client = served.client()
        client.send(get("/", "Connection: close\r\n"))
        let answer = try #require(await client.receiveAll())
        #expect(answer.contains("\r\nX: a  Y: b\r\n"))
        #expect(answer.hasSuffix("\r\nContent-Length: 0\r\n\r\n"))
        await served.end()
    }

    @Test("runs handlers on the loop of their connection and knows the client's address")
    func place() async throws {
        let loop = EventLoop(name: "place")
        let server = try Server(host: "127.0.0.1", port: 0, on: [loop], bodyLimit: { _, _ in 0 }) {
            let text = "\(loop.isCurrent) \($0.peer);"
            return Response(status: 200, body: .bytes(Array(text.utf8)))
        }
        let client = Client(port: server.port)
        client.send(get("/"))
        #expect(await client.receive(until: ";").hasSuffix("true 127.0.0.1;"))
        await server.stop(within: .seconds(10))
        loop.stop()
    }

    @Test("spreads connections over several loops at one address, and shares it with nobody")
    func loops() async throws {
        let loops = (0..<2).map { EventLoop(name: "loop \($0)") }
        let server = try Server(host: "127.0.0.1", port: 0, on: loops, bodyLimit: { _, _ in 0 }) {
            _ in
            Response(status: 200, body: .bytes(Array("\(loops[0].isCurrent);".utf8)))
        }
        var seen: Set<Bool> = []
        // The system chooses by the client's port; a hundred of them never all fall on one.
        for _ in 0..<100 {
            let client = Client(port: server.port)
            client.send(get("/"))
            seen.insert(await client.receive(until: ";").hasSuffix("true;"))
        }
        #expect(seen == [true, false])
        #expect(throws: ListenError.self) {
            try Server(
                host: "127.0.0.1", port: server.port, on: loops, bodyLimit: { _, _ in 0 },
                handler: Served.echo)
        }
        await server.stop(within: .seconds(10))
        for loop in loops { loop.stop() }
    }
}
