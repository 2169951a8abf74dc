import Crypto
import Domain
import EventLoop
import HTTP
import Synchronization
import TestLives
import Testing

@testable import StoreSimulator

/// A token of these claims, signed by a folder's key.
private func token(
    _ folder: TestFolder, _ credentials: Credentials, at now: Instant,
    _ change: [String: JSON] = [:], kid: String? = nil, alg: String = "ES256"
) throws -> String {
    let seconds = now.milliseconds / 1_000
    var claims: [String: JSON] = [
        "iss": .string(credentials.issuerId), "iat": .integer(seconds),
        "exp": .integer(seconds + 300), "aud": .string("appstoreconnect-v1"),
        "bid": .string("com.example.app"),
    ]
    claims.merge(change) { $1 }
    let header = JSON(members: [
        "alg": .string(alg), "kid": .string(kid ?? credentials.keyId), "typ": .string("JWT"),
    ])
    let body = JSON.object(claims.map { JSON.Member($0.key, $0.value) })
    let text = [header, body].map { Base64.encode($0.bytes(), as: .urlSafe) }
        .joined(separator: ".")
    let pem = try #require(Folder(path: folder.path).read("AuthKey.p8"))
    let key = try P256.PrivateKey(pem: String(decoding: pem, as: UTF8.self))
    let signature = try key.signature(for: Array(text.utf8))
    return "Bearer \(text).\(Base64.encode(signature, as: .urlSafe))"
}

@Suite("A bearer token")
struct BearerTests {
    private let now = at("2026-01-01T12:00:00Z")

    @Test("is taken when all it says is right, and refused when anything is not")
    func claims() throws {
        let folder = try TestFolder()
        let credentials = try Authority(directory: folder.path).credentials
        let bearer = Bearer(credentials: credentials, bundleId: "com.example.app")
        let seconds = now.milliseconds / 1_000
        #expect(bearer.accepts(try token(folder, credentials, at: now), at: now))
        // Apple's own library says no `iat`.
        #expect(bearer.accepts(try token(folder, credentials, at: now, ["iat": .null]), at: now))
        let wrong: [[String: JSON]] = [
            ["iss": .string("other")], ["aud": .string("other")], ["bid": .string("other")],
            ["exp": .integer(seconds - 120)], ["exp": .integer(seconds + 7_200)],
            ["exp": .null], ["iat": .integer(seconds + 600)],
        ]
        for change in wrong {
            #expect(
                !bearer.accepts(try token(folder, credentials, at: now, change), at: now),
                "\(change)")
        }
        #expect(!bearer.accepts(try token(folder, credentials, at: now, kid: "other"), at: now))
        #expect(!bearer.accepts(try token(folder, credentials, at: now, alg: "none"), at: now))
        let other = try TestFolder()
        _ = try Authority(directory: other.path)
        #expect(!bearer.accepts(try token(other, credentials, at: now), at: now))
        #expect(!bearer.accepts(nil, at: now))
    }
}

@Suite("The limits of the server API")
struct RateLimitTests {
    private let now = at("2026-01-01")

    @Test("hold by kind and environment, and say when to come again")
    func limits() {
        var limits = RateLimits()
        for _ in 0..<10 { #expect(limits.take(.refunds, .production, at: now) == nil) }
        let next = limits.take(.refunds, .production, at: now)
        #expect(next == now.adding(milliseconds: 100))
        #expect(limits.take(.lookUp, .production, at: now) == nil)
        #expect(limits.take(.refunds, .sandbox, at: now) == nil)
        #expect(limits.take(.refunds, .sandbox, at: now) == now.adding(milliseconds: 1_000))
        #expect(limits.take(.refunds, .production, at: now.adding(milliseconds: 100)) == nil)
    }

    @Test("are answered with 429 and an instant in milliseconds")
    func answered() async throws {
        let folder = try TestFolder()
        var faults = Faults()
        faults.limited = 1
        let authority = try Authority(directory: folder.path)
        let store = Store(
            authority: authority, world: Play([], until: "2025-01-02").world,
            clock: SimulatedClock(start: at("2025-01-02"), factor: 0), notifyURL: nil,
            retries: nil, faults: faults)
        let call = APICall(
            environment: .production, method: "GET", path: ["inApps", "v2", "history", "1"],
            query: [], body: [])
        let refused = await store.answer(call, authorization: nil).response
        #expect(refused.status == 401)
        #expect(refused.headers.isEmpty)
        let real = SimulatedClock.real
        let bearer = try token(folder, authority.credentials, at: real)
        let limited = await store.answer(call, authorization: bearer).response
        #expect(limited.status == 429)
        let when = limited.headers.first { $0.name == "Retry-After" }.flatMap { Int64($0.value) }
        #expect(try #require(when) > real.milliseconds)
    }
}

@Suite("A notification")
struct DeliveryTests {
    /// A server that refuses what it is sent, and counts it.
    private final class Door: Sendable {
        let port: UInt16
        let arrivals: AsyncStream<String>
        private let server: Server
        private let loop = EventLoop(name: "door")

        init(status: Int) throws {
            let (stream, continuation) = AsyncStream<String>.makeStream()
            arrivals = stream
            server = try Server(
                host: "127.0.0.1", port: 0, on: [loop], bodyLimit: { _, _ in 1_048_576 },
                handler: { request in
                    let payload = try? JSON.parse(request.body)["signedPayload"]?.text
                    continuation.yield(payload ?? "nothing")
                    return Response(status: status)
                })
            port = server.port
        }

        func stop() async {
            await server.stop(within: .seconds(1))
            loop.stop()
        }
    }

    private func simulator(
        _ folder: TestFolder, _ door: Door, environment: String = "Production",
        faults: JSON? = nil
    ) throws -> Simulator {
        let buy = JSON(members: [
            "after": .string("P0D"), "do": .string("buy"), "product": .string("pro.lifetime"),
        ])
        let life = JSON(members: [
            "customer": .string("ada"), "environment": .string(environment),
            "steps": .array([buy]),
        ])
        var options = Simulator.Options(directory: folder.path)
        options.scenario = try Scenario(
            JSON(members: ["lives": .array([life]), "faults": faults]))
        options.notify = "http://127.0.0.1:\(door.port)/"
        // An hour lasts a millisecond.
        options.retries = 3_600_000
        return try Simulator(options)
    }

    @Test("that is refused is sent six times in Production, the same text each time")
    func retries() async throws {
        let folder = try TestFolder()
        let door = try Door(status: 503)
        let simulator = try simulator(folder, door)
        var texts: [String] = []
        for await text in door.arrivals {
            texts.append(text)
            if texts.count == 6 { break }
        }
        #expect(Set(texts).count == 1)
        await simulator.stop()
        await door.stop()
        #expect(Courier.delays == [1, 12, 24, 48, 72])
    }

    @Test("that arrives is noted once, and sent once more when that is asked for")
    func doubled() async throws {
        let folder = try TestFolder()
        let door = try Door(status: 200)
        let faults = JSON(members: ["notifications": JSON(members: ["doubled": .integer(1)])])
        let simulator = try simulator(folder, door, environment: "Sandbox", faults: faults)
        var texts: [String] = []
        for await text in door.arrivals {
            texts.append(text)
            if texts.count == 2 { break }
        }
        #expect(texts.count == 2 && Set(texts).count == 1)
        let notices = await simulator.store.world.notices
        #expect(notices.map(\.attempts.count) == [1])
        #expect(notices.first?.attempts.first?.result == "SUCCESS")
        await simulator.stop()
        await door.stop()
    }
}
