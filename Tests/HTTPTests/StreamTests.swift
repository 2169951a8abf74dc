import EventLoop
import HTTP
import Synchronization
import Testing

private let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

@Suite("A streamed body")
struct StreamTests {
    @Test("arrives in chunks as it is written, and the connection lives on")
    func chunks() async throws {
        let gate = Gate()
        let served = try Served { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    try await writer.write(Array("first".utf8))
                    await gate.pass()
                    try await writer.write([])
                    try await writer.write(Array("second, longer".utf8))
                })
        }
        let client = served.client()
        client.send(request)
        let first = await client.receive(until: "first\r\n")
        #expect(first.hasSuffix("\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"))
        gate.open()
        let second = await client.receive(until: "0\r\n\r\n")
        #expect(second == "e\r\nsecond, longer\r\n0\r\n\r\n")
        client.send(request)
        #expect(await client.receive(until: "0\r\n\r\n").hasSuffix(second))
        await served.end()
    }

    @Test("ends with the connection for a client that knows no chunks")
    func oneZero() async throws {
        let served = try Served { _ in
            Response(status: 200, body: .stream { try await $0.write(Array("all".utf8)) })
        }
        let client = served.client()
        client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let answer = try #require(await client.receiveAll())
        #expect(answer.hasSuffix("Connection: close\r\n\r\nall"))
        await served.end()
    }

    @Test("waits for a client that reads slower than it is written, and loses nothing")
    func backPressure() async throws {
        let written = Atomic(0)
        let served = try Served { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    for _ in 0..<1_000 {
                        try await writer.write([UInt8](repeating: 122, count: 65_536))
                        written.add(1, ordering: .relaxed)
                    }
                })
        }
        let client = served.client()
        client.send(request)
        _ = await client.receive(atMost: 1)
        // The sockets and the queue hold a few megabytes of the 64.
        #expect(written.load(ordering: .relaxed) < 500)
        let rest = await client.receive(until: "\r\n0\r\n\r\n")
        #expect(rest.utf8.count { $0 == 122 } == 65_536_000)
        await served.end()
    }

    @Test("is not ended properly when it fails, so that the client can tell")
    func failure() async throws {
        struct Failure: Error {}
        let served = try Served { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    try await writer.write(Array("half".utf8))
                    throw Failure()
                })
        }
        let client = served.client()
        client.send(request)
        let answer = await client.receiveAll() ?? ""
        #expect(!answer.contains("0\r\n\r\n"))
        await served.end()
    }

    @Test("is cancelled when the client goes")
    func clientGone() async throws {
        let gate = Gate()
        let loop = EventLoop(name: "feed")
        let served = try Served { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    try await writer.write([65])
                    do {
                        try await loop.sleep(for: .seconds(3_600))
                    } catch {
                        gate.open()
                    }
                })
        }
        do {
            let client = served.client()
            client.send(request)
            _ = await client.receive(until: "A\r\n")
        }
        await gate.pass()
        await served.end()
        loop.stop()
    }

    @Test("can be written from another thread")
    func otherThread() async throws {
        let loop = EventLoop(name: "other")
        let served = try Served { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    try await Task(executorPreference: loop) {
                        for _ in 0..<10 { try await writer.write([65]) }
                    }.value
                })
        }
        let client = served.client()
        client.send(request)
        #expect(await client.receive(until: "0\r\n\r\n").utf8.count { $0 == 65 } == 10)
        await served.end()
        loop.stop()
    }
}

@Suite("Stopping a server")
struct StopTests {
    @Test("waits for a request that was accepted, and closes its connection after the answer")
    func waits() async throws {
        let gate = Gate()
        let served = try Served { request in
            await gate.pass()
            return await Served.echo(request)
        }
        let idle = served.client()
        let client = served.client()
        client.send(request)
        await gate.arrival()
        let stopping = Task { await served.server.stop(within: .seconds(60)) }
        // An idle one is closed while the other is still being served.
        #expect(await idle.receiveAll() == "")
        gate.open()
        let answer = try #require(await client.receiveAll())
        #expect(answer.contains("Connection: close\r\n") && answer.hasSuffix("GET / 0;"))
        await stopping.value
        served.loop.stop()
    }

    @Test("answers what had arrived before, read or not")
    func arrived() async throws {
        let served = try Served()
        let clients = (0..<20).map { _ in served.client() }
        for client in clients { client.send(request) }
        await served.server.stop(within: .seconds(60))
        for client in clients {
            #expect(try #require(await client.receiveAll()).hasSuffix("GET / 0;"))
        }
        served.loop.stop()
    }

    @Test("cuts what has not ended when the time is over")
    func cuts() async throws {
        let gate = Gate()
        let served = try Served { request in
            await gate.pass()
            return await Served.echo(request)
        }
        let client = served.client()
        client.send(request)
        await gate.arrival()
        await served.server.stop(within: .milliseconds(50))
        #expect(await client.receiveAll() ?? "" == "")
        gate.open()
        served.loop.stop()
    }
}
