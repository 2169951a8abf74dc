import EventLoop
import Glibc
import HTTP
import Testing

private func get(_ path: String, _ fields: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n"
}

@Suite("A server's patience")
struct PatienceTests {
    @Test("serves others while a thousand connections say nothing or half of something")
    func idleOnes() async throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_max, 8_192)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let served = try Served()
        let idle = (0..<1_000).map { number in
            let client = served.client()
            if number % 2 == 0 { client.send("GET /half HTTP/1.1\r\nHo") }
            return client
        }
        let client = served.client()
        for number in 0..<100 {
            client.send(get("/\(number)"))
            #expect(await client.receive(until: ";").hasSuffix("GET /\(number) 0;"))
        }
        // And each of those is still served when it goes on.
        for client in [idle[0], idle[998]] {
            client.send("st: h\r\n\r\n")
            #expect(await client.receive(until: ";").hasSuffix("GET /half 0;"))
        }
        await served.server.stop(within: .zero)
        served.loop.stop()
        withExtendedLifetime(idle) {}
    }

    @Test("ends with a head that does not come to its end, however steadily it grows")
    func slowHead() async throws {
        var limits = Server.Limits()
        limits.headTime = .milliseconds(200)
        let served = try Served(limits: limits)
        let silent = served.client()
        #expect(await silent.receiveAll() == "")
        let slow = served.client()
        slow.send("GET / HTTP/1.1\r\nHost: h\r\n")
        let loop = EventLoop(name: "drip")
        let dripping = Task(executorPreference: loop) {
            while !Task.isCancelled {
                slow.send("X: y\r\n")
                try await loop.sleep(for: .milliseconds(20))
            }
        }
        let answer = await slow.receive(until: "}")
        #expect(answer.hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
        dripping.cancel()
        await served.end()
        loop.stop()
    }

    @Test("ends with a body that makes too little progress, not with one that makes enough")
    func slowBody() async throws {
        var limits = Server.Limits()
        limits.bodyTime = .seconds(4)
        limits.bodyBytesInTime = 10
        let served = try Served(limits: limits)
        let slow = served.client()
        slow.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\nabc")
        #expect(await slow.receive(until: "}").hasPrefix("HTTP/1.1 408 "))
        let loop = EventLoop(name: "drip")
        let steady = served.client()
        steady.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\n")
        for _ in 0..<9 {
            try await loop.sleep(for: .milliseconds(500))
            steady.send([UInt8](repeating: 97, count: 100))
        }
        #expect(await steady.receive(until: ";").hasSuffix("POST / 900;"))
        await served.end()
        loop.stop()
    }

    @Test("ends with a connection that asks for nothing more")
    func idleTime() async throws {
        var limits = Server.Limits()
        limits.idleTime = .milliseconds(100)
        let served = try Served(limits: limits)
        let client = served.client()
        client.send(get("/"))
        #expect(try #require(await client.receiveAll()).hasSuffix("GET / 0;"))
        await served.end()
    }

    @Test("ends with a client that does not read its answer")
    func slowReader() async throws {
        var limits = Server.Limits()
        limits.writeTime = .milliseconds(100)
        let gate = Gate()
        let served = try Served(limits: limits) { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    defer { gate.open() }
                    let piece = [UInt8](repeating: 97, count: 100_000)
                    while true { try await writer.write(piece) }
                })
        }
        let client = served.client()
        client.send(get("/"))
        // Opened only when writing throws, though the client is still there.
        await gate.pass()
        withExtendedLifetime(client) {}
        await served.end()
    }

    @Test("makes room for a new connection by closing the one that has idled longest")
    func fullHouse() async throws {
        var limits = Server.Limits()
        limits.connections = 2
        let served = try Served(limits: limits)
        let clients = (0..<3).map { _ in served.client() }
        for client in clients.dropFirst() {
            client.send(get("/"))
            #expect(await client.receive(until: ";").hasSuffix("GET / 0;"))
        }
        #expect(await clients[0].receiveAll() == "")
        await served.end()
    }
}
