import Crypto
import Domain
import EventLoop
import Foundation
import HTTP
import Ledger
import Postgres

/// Entitlements read over HTTP against a constant of the same size from the same HTTP room.
struct Reading {
    let ground: Ground
    let forge: Forge
    let binary: String
    let customers: Int
    let seconds: Double

    private static let connections = 64
    private static let linesEach = 2
    private static let periods = 12

    /// Runs it.
    func figures() async throws -> [Figure] {
        let address = try await ground.database("reading")
        try await fill(address)
        let daemon = try ServedLedger(binary, ground, database: "reading", forge: forge)
        try await waitForProjections(address)
        let requests = (0..<customers).map {
            ServedLedger.get("/v1/customers/u_\($0)/entitlements")
        }
        let warm = try await Load(
            port: daemon.port, connections: Reading.connections, requests: requests
        ).run()
        guard warm.others.isEmpty else {
            throw BenchError.unexpected("answers by status: \(warm.others)")
        }
        let outer = EventLoop(name: "constant")
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: warm.bodySize)
        let constant = try HTTP.Server(
            host: "127.0.0.1", port: 0, on: [outer], bodyLimit: { _, _ in 1_024 }
        ) { _ in
            Response(
                status: 200, headers: [Header("Content-Type", "application/json")],
                body: .bytes(body))
        }
        var (ours, theirs) = (0.0, 0.0)
        for _ in 0..<3 {
            ours += try await run(daemon.port, requests).rate / 3
            theirs += try await run(constant.port, requests).rate / 3
        }
        let half = try await run(daemon.port, requests, rate: ours / 2)
        await constant.stop(within: .seconds(1))
        outer.stop()
        daemon.stop()
        return [
            Figure("read: entitlements, 64 connections", "\(ours.whole) answers/s"),
            Figure("read: a constant of \(body.count) bytes", "\(theirs.whole) answers/s"),
            Figure("read: entitlements ÷ constant", "", ours / theirs, .atLeast(0.5)),
            Figure(
                "read: p99 at half load, ms", "p50 \(half.percentile(50).short) ms",
                half.percentile(99), .atMost(5)),
        ]
    }

    private func run(_ port: UInt16, _ requests: [[UInt8]], rate: Double? = nil) async throws
        -> LoadResult
    {
        try await Load(
            port: port, connections: Reading.connections, requests: requests, seconds: seconds,
            rate: rate
        ).run()
    }

    private func fill(_ address: String) async throws {
        let inProcess = InProcess(address)
        _ = try await inProcess.append((0..<customers).map(proposal), callers: 64)
        await inProcess.writer.close()
        inProcess.loop.stop()
    }

    /// A customer's token, linked, and the history of its lines.
    private func proposal(_ customer: Int) -> Proposal {
        let (token, id) = (Forge.token(customer), "u_\(customer)")
        let now = Instant.now
        let streams = (0..<Reading.linesEach).map {
            StreamID.line(.production, Forge.original(customer * Reading.linesEach + $0))
        }
        return Proposal(
            tokens: [token], customers: [id],
            streams: { known in streams + (known.tokens[token].map { [.token($0)] } ?? []) },
            decide: { known in
                guard let number = known.tokens[token], let owner = known.customers[id] else {
                    return .append([])
                }
                var events = [
                    Event(
                        kind: .linked, stream: .token(number), key: "bound/\(owner.number)/1",
                        subject: owner, occurredAt: now, observedAt: now, source: .command,
                        content: .tokenLink(TokenLink(token: number, customer: owner)))
                ]
                for stream in streams { events += history(stream, number, now) }
                return .append(events)
            })
    }

    private func history(_ stream: StreamID, _ token: CustomerNumber, _ now: Instant) -> [Event] {
        guard let original = stream.line?.original else { return [] }
        var subscription = Subscription(stream)
        var events: [Event] = []
        for period in 0..<Reading.periods {
            let from = now.adding(days: Int64((period - Reading.periods + 1) * 30 - 15))
            var statement = TransactionStatement(
                transaction: String((Int64(original) ?? 0) + Int64(period)), original: original,
                bundle: Forge.bundle, product: Forge.product, purchasedAt: from, signedAt: from,
                environment: .production)
            statement.expiresAt = from.adding(days: 30)
            statement.type = "Auto-Renewable Subscription"
            statement.group = "20500000"
            statement.token = token
            statement.ownership = "PURCHASED"
            statement.reason = period == 0 ? "PURCHASE" : "RENEWAL"
            statement.priceMilliunits = 9_990
            statement.currency = "USD"
            let text = "\(statement.transaction)"
            let observation = Observation(
                transaction: Stated(
                    statement, Fingerprint(hex: SHA256.digest(of: text).description)),
                source: .serverAPI, observedAt: now)
            for event in Domain.decide(observation, given: subscription) {
                subscription.apply(
                    Entry(
                        position: .start, revision: subscription.revision + 1, recordedAt: now,
                        event: event))
                events.append(event)
            }
        }
        return events
    }

    private func waitForProjections(_ address: String) async throws {
        let session = try await BlockingConnection.open(address)
        let start = ContinuousClock.now
        while true {
            let row = try await session.query(
                """
                select count(*) = 2 and min(checkpoint) >= (select max(last_position) \
                from ledger.batch) from projection.generation where is_live
                """
            ).only()
            if try row.boolIfAny(0) == true { break }
            guard start.secondsSince < 300 else {
                throw BenchError.unexpected("the projections do not catch up")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        try await session.execute(script: "vacuum analyze")
        await session.close()
    }
}
