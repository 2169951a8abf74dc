import Diagnostics
import Domain
import EventLoop
import HTTP
import Synchronization
import Testing

@testable import Delivery

/// Answers webhooks as a test says, and notes what it was asked.
private final class Door: Sendable {
    private let asked = Mutex<[Int64]>([])
    private let loop = EventLoop(name: "door")

    /// The numbers that it was asked to take, in order.
    var numbers: [Int64] { asked.withLock { $0 } }

    func open(_ answer: @escaping @Sendable (Int64) -> Int) throws -> Server {
        try Server(
            host: "127.0.0.1", port: 0, on: [loop], bodyLimit: { _, _ in 1 << 20 },
            problem: { status, _ in Response(status: status) },
            handler: { [self] request in
                let number = Int64(request.header("webhook-id") ?? "") ?? 0
                asked.withLock { $0.append(number) }
                return Response(status: answer(number))
            })
    }
}

@Suite("A webhook's sender")
struct WebhookSenderTests {
    private func webhook(_ server: Server) throws -> Webhook {
        Webhook(
            name: "backend", url: "http://127.0.0.1:\(server.port)/",
            keys: [try #require(SigningKey(secret: "a secret"))], environments: [.production])
    }

    private func sender(_ ground: TestGround, _ webhook: Webhook) -> WebhookSender {
        let clock = ground.clock
        return WebhookSender(
            webhook, pool: ground.pool, on: ground.loop, bell: Bell(), metrics: MetricRegistry(),
            clock: { clock.now }, chance: { 0 })
    }

    private func state(_ ground: TestGround) async throws -> WebhookState? {
        try await WebhookDesk(ground.pool).states().first
    }

    private func until(
        _ ground: TestGround, _ condition: (WebhookState) -> Bool
    ) async throws {
        while true {
            if let state = try await state(ground), condition(state) { return }
            try await ground.loop.sleep(for: .milliseconds(2))
        }
    }

    @Test("parks after three days what is never taken, and the line goes on")
    func parks() async throws {
        let door = Door()
        let server = try door.open { $0 == 1 ? 500 : 200 }
        try await TestGround.run { ground in
            let hook = try webhook(server)
            let sender = sender(ground, hook)
            try await sender.register()
            try await ground.append([
                purchase("1", from: "2025-12-15", until: "2026-03-01"),
                purchase("1", from: "2026-03-01", until: "2026-04-01", number: 2),
            ])
            try await ground.tellAll()
            let running = Task { await sender.run() }
            try await until(ground) { $0.failures == 1 }
            #expect(door.numbers == [1])
            ground.clock.advance(days: 4)
            try await until(ground) { $0.pending == 0 }
            let state = try await state(ground)
            #expect(state?.parked == 1 && state?.delivered == 1)
            #expect(door.numbers == [1, 1, 2])
            running.cancel()
            await running.value
        }
        await server.stop(within: .seconds(1))
    }

    @Test("gives one that was down for an hour everything in the end, each line in order")
    func outage() async throws {
        let isDown = Mutex(true)
        let door = Door()
        let server = try door.open { _ in isDown.withLock { $0 } ? 500 : 200 }
        try await TestGround.run { ground in
            let hook = try webhook(server)
            let sender = sender(ground, hook)
            try await sender.register()
            let running = Task { await sender.run() }
            // Six times ten minutes: each brings news, and at least one more attempt.
            for round in 0..<6 {
                let before = try await state(ground)?.failures ?? 0
                try await ground.append(
                    (0..<10).map { number in
                        purchase(
                            "\(number % 5)", from: "2025-12-15", until: "2026-03-01",
                            number: round * 10 + number)
                    })
                try await ground.tellAll()
                try await until(ground) {
                    $0.pending == (round + 1) * 10 && $0.failures > before
                }
                ground.clock.advance(minutes: 10)
            }
            isDown.withLock { $0 = false }
            let refused = door.numbers.count
            // What waits longest for its next attempt is tried within what has passed by now.
            ground.clock.advance(minutes: 30)
            try await until(ground) { $0.delivered == 60 }
            running.cancel()
            await running.value
            let taken = door.numbers.dropFirst(refused)
            #expect(taken.sorted() == Array(1...60))
            for line in 0..<5 {
                let own = taken.filter { ($0 - 1) % 5 == Int64(line) }
                #expect(own == own.sorted())
            }
            #expect(try await state(ground)?.parked == 0)
        }
        await server.stop(within: .seconds(1))
    }

    @Test("shares the work with another, each event once, each line in order")
    func shared() async throws {
        let door = Door()
        let server = try door.open { _ in 200 }
        try await TestGround.run { ground in
            let hook = try webhook(server)
            let senders = [sender(ground, hook), sender(ground, hook)]
            try await senders[0].register()
            try await ground.append(
                (0..<300).map { number in
                    purchase(
                        "\(number % 30)", from: "2025-12-15", until: "2026-03-01", number: number)
                })
            try await ground.tellAll()
            let running = senders.map { sender in Task { await sender.run() } }
            try await until(ground) { $0.delivered == 300 }
            for task in running { task.cancel() }
            for task in running { await task.value }
            #expect(door.numbers.sorted() == Array(1...300))
            for line in 0..<30 {
                let own = door.numbers.filter { ($0 - 1) % 30 == Int64(line) }
                #expect(own == own.sorted())
            }
        }
        await server.stop(within: .seconds(1))
    }

    @Test("takes over what another held when it was killed")
    func claims() async throws {
        let door = Door()
        let server = try door.open { _ in 200 }
        try await TestGround.run { ground in
            let hook = try webhook(server)
            let sender = sender(ground, hook)
            try await sender.register()
            try await ground.append([purchase("1", from: "2025-12-15", until: "2026-03-01")])
            try await ground.tellAll()
            // One that was killed with the delivery under way.
            let table = DeliveryTable(pool: ground.pool)
            _ = try await table.queue(hook, now: ground.clock.now)
            let now = ground.clock.now
            #expect(try await table.claim("backend", atMost: 8, now: now).map(\.number) == [1])
            #expect(try await table.claim("backend", atMost: 8, now: now).isEmpty)
            let running = Task { await sender.run() }
            ground.clock.advance(days: 1)
            try await until(ground) { $0.delivered == 1 }
            running.cancel()
            await running.value
            #expect(door.numbers == [1])
        }
        await server.stop(within: .seconds(1))
    }
}
