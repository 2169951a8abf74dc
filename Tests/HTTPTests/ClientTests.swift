import EventLoop
import HTTP
import Testing

@Suite("A client")
struct ClientTests {
    private func url(_ served: Served, _ path: String = "/") -> String {
        "http://127.0.0.1:\(served.server.port)\(path)"
    }

    @Test("sends method, fields and body, and reads the whole answer")
    func whole() async throws {
        let served = try Served { request in
            Response(
                status: 404,
                headers: [Header("X-Type", request.header("content-type") ?? "none")],
                body: .bytes(Array("\(request.method) \(request.target) ".utf8) + request.body))
        }
        let client = HTTP.Client()
        let answer = try await client.send(
            "POST", url(served, "/a?b=c"), headers: [Header("Content-Type", "text/x")],
            body: Array("hello".utf8), limit: 100, within: .seconds(30))
        #expect(answer.status == 404)
        #expect(answer.header("x-type") == "text/x")
        #expect(String(decoding: answer.body, as: UTF8.self) == "POST /a?b=c hello")
        let empty = try await client.send("POST", url(served), limit: 100, within: .seconds(30))
        #expect(empty.header("x-type") == "none")
        let got = try await client.send("DELETE", url(served), limit: 100, within: .seconds(30))
        #expect(String(decoding: got.body, as: UTF8.self) == "DELETE / ")
        await served.end()
    }

    @Test("does not follow where an answer points")
    func redirect() async throws {
        let served = try Served { request in
            Response(status: request.path == "/" ? 307 : 200, headers: [Header("Location", "/b")])
        }
        let answer = try await HTTP.Client().send(
            "GET", url(served), limit: 100, within: .seconds(30))
        #expect(answer.status == 307 && answer.header("Location") == "/b")
        await served.end()
    }

    @Test("refuses an answer that is longer than allowed")
    func tooLarge() async throws {
        let served = try Served { _ in
            Response(status: 200, body: .bytes([UInt8](repeating: 7, count: 101)))
        }
        let client = HTTP.Client()
        #expect(
            try await client.send("GET", url(served), limit: 101, within: .seconds(30)).body.count
                == 101)
        await #expect(throws: ClientError.tooLarge(limit: 100)) {
            try await client.send("GET", url(served), limit: 100, within: .seconds(30))
        }
        await served.end()
    }

    @Test("waits no longer than it may, under way or for a turn, and stops when its task does")
    func patience() async throws {
        let gate = Gate()
        let served = try Served { _ in
            await gate.pass()
            return Response(status: 200)
        }
        var limits = HTTP.Client.Limits()
        limits.underWay = 1
        limits.waiting = 1
        let client = HTTP.Client(limits: limits)
        let address = url(served)
        let cancelled = Task {
            await #expect(throws: ClientError.cancelled) {
                try await client.send("GET", address, limit: 100, within: .seconds(300))
            }
        }
        await gate.arrival()
        await #expect(throws: ClientError.timedOut) {
            try await client.send("GET", address, limit: 100, within: .milliseconds(60))
        }
        cancelled.cancel()
        _ = await cancelled.value
        await #expect(throws: ClientError.timedOut) {
            try await client.send("GET", address, limit: 100, within: .milliseconds(60))
        }
        gate.open()
        await served.end()
    }

    @Test("says that nobody was asked when there is nobody")
    func nobody() async throws {
        let served = try Served()
        let address = url(served)
        await served.end()
        let client = HTTP.Client()
        do throws(ClientError) {
            _ = try await client.send("GET", address, limit: 100, within: .seconds(30))
            Issue.record("somebody answered")
        } catch {
            guard case .unreachable = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test(
        "does not send what cannot be sent",
        arguments: [
            ("GET", "ftp://127.0.0.1/", "v"), ("GET", "http://", "v"),
            ("G T", "http://127.0.0.1:9/", "v"), ("GET", "http://127.0.0.1:9/", "a\r\nb: c"),
        ])
    func unusable(_ method: String, _ url: String, _ value: String) async throws {
        do throws(ClientError) {
            _ = try await HTTP.Client().send(
                method, url, headers: [Header("X-A", value)], limit: 100, within: .seconds(30))
            Issue.record("it was sent")
        } catch {
            guard case .unusable = error else {
                Issue.record("\(error)")
                return
            }
        }
    }
}
