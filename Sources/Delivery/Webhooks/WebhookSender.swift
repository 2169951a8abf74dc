public import Diagnostics
public import Domain
public import EventLoop
public import HTTP
public import Ledger
public import Postgres

/// Sends outgoing events to one webhook: each at least once, the events of one stream one after
/// the other, those of several streams beside each other.
///
/// Deliveries are rows that a sender claims for some seconds, so several daemons may send, and
/// what a killed one held is free again by itself. While a webhook fails, one delivery at a time
/// tries it; once it takes one again, all that waited is tried at once.
public actor WebhookSender {
    private let webhook: Webhook
    private let table: DeliveryTable
    private let events: EventReader
    private let loop: EventLoop
    private let client: Client
    private let clock: @Sendable () -> Instant
    private let chance: @Sendable () -> Double
    private let news: Bell
    private var metrics: WebhookMetrics
    private var underWay: [Int64: Task<Void, Never>] = [:]
    private var failuresInRow = 0
    private var failingSince: Instant?
    /// Whether the webhook said that it is gone: then nothing is sent until the next start.
    private var isGone = false

    /// How many deliveries are under way at a time.
    private static let width = 8
    /// After so many failures in a row one at a time tries.
    private static let tolerance = 4
    /// How long a failing webhook is left alone between two attempts.
    private static let failingPause = Duration.milliseconds(500)
    /// What waited is hurried when a webhook comes back that failed for longer. Units: ms.
    private static let outage: Int64 = 2_000
    /// How long a server may take to answer.
    private static let patience = Duration.seconds(10)
    /// How long it sleeps when nobody wakes it.
    private static let poll = Duration.seconds(1)

    /// The loop on which the sender lives.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// A sender that reads and writes through `pool`.
    ///
    /// - Parameter bell: rings when there may be events.
    public init(
        _ webhook: Webhook, pool: ConnectionPool, on loop: EventLoop, bell: Bell,
        metrics: MetricRegistry, client: Client = Client(),
        clock: @escaping @Sendable () -> Instant,
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.webhook = webhook
        table = DeliveryTable(pool: pool)
        events = EventReader(pool)
        self.loop = loop
        self.client = client
        self.clock = clock
        self.chance = chance
        self.metrics = WebhookMetrics(webhook.name, metrics)
        let news = Bell()
        self.news = news
        bell.whenRung { news.ring() }
    }

    /// Makes the webhook known, so that it is given every event from now on.
    public nonisolated func register() async throws(LedgerError) {
        try await table.register(webhook)
    }

    /// Sends until cancelled; what is under way then is left to the next start.
    public func run() async {
        var delay = Duration.milliseconds(100)
        while !Task.isCancelled {
            let rung = news.count
            do throws(LedgerError) {
                let pause = try await step()
                delay = .milliseconds(100)
                if let pause { await news.wait(since: rung, on: loop, atMost: pause) }
            } catch {
                Log.warning(
                    "deliveries rest", ["webhook": webhook.name, "error": "\(error)"])
                try? await loop.sleep(for: delay)
                delay = min(delay * 2, .seconds(5))
            }
        }
        for task in underWay.values { task.cancel() }
        for task in underWay.values { await task.value }
    }

    /// Queues what is new and begins to send what is due.
    ///
    /// - Returns: how long nothing needs to be done; `nil` when there may be more.
    private func step() async throws(LedgerError) -> Duration? {
        let hasMore = try await table.queue(webhook, now: clock())
        if metrics.isStale { metrics.show(try await table.load(webhook.name), now: clock()) }
        guard !isGone else { return hasMore ? nil : WebhookSender.poll }
        let isFailing = failuresInRow > WebhookSender.tolerance
        let room = (isFailing ? 1 : WebhookSender.width) - underWay.count
        guard room > 0 else { return hasMore ? nil : WebhookSender.poll }
        let claimed = try await table.claim(webhook.name, atMost: room, now: clock())
        if !claimed.isEmpty {
            let found = try await events.events(of: claimed.map(\.number))
            for event in found {
                guard let delivery = claimed.first(where: { $0.number == event.number }) else {
                    continue
                }
                begin(delivery, event)
            }
        }
        if hasMore { return nil }
        // Whatever is under way rings when it ends.
        guard underWay.isEmpty, let next = try await table.nextDue(webhook.name) else {
            return WebhookSender.poll
        }
        let left = Duration.milliseconds(next.milliseconds - clock().milliseconds)
        // What is due and was not to be had is another's, or waits behind that.
        return min(WebhookSender.poll, max(left, .milliseconds(100)))
    }

    private func begin(_ delivery: Delivery, _ event: OutgoingEvent) {
        underWay[delivery.number] = Task(executorPreference: loop) {
            await self.attempt(delivery, event)
        }
    }

    private func attempt(_ delivery: Delivery, _ event: OutgoingEvent) async {
        let outcome = await send(delivery, event)
        do throws(LedgerError) {
            try await table.finish(delivery, of: webhook.name, outcome, now: clock())
            try await note(outcome)
        } catch {
            // The claim ends by itself, and the delivery is made again: at least once.
            Log.warning(
                "a delivery is not noted", ["webhook": webhook.name, "error": "\(error)"])
        }
        if failuresInRow > WebhookSender.tolerance {
            try? await loop.sleep(for: WebhookSender.failingPause)
        }
        underWay[delivery.number] = nil
        news.ring()
    }

    private func send(_ delivery: Delivery, _ event: OutgoingEvent) async -> Outcome {
        guard let body = webhook.format.body(of: event) else { return .delivered }
        do throws(ClientError) {
            let answer = try await client.send(
                "POST", webhook.url, headers: webhook.headers(event, body, at: clock()),
                body: body, limit: 1 << 20, within: WebhookSender.patience)
            switch answer.status {
            case 200..<300: return .delivered
            case 410:
                isGone = true
                return .parked("answered 410: gone")
            default:
                return retry(
                    delivery, "answered \(answer.status)", asked: answer.header("Retry-After"))
            }
        } catch {
            if case .cancelled = error { return .released }
            return retry(delivery, "\(error)")
        }
    }

    private func retry(_ delivery: Delivery, _ why: String, asked: String? = nil) -> Outcome {
        let next = RetrySchedule.next(
            after: delivery.attempt, began: delivery.firstAt, now: clock(), asked: asked,
            chance: chance())
        return next.map { .failed(why, next: $0) } ?? .parked(why)
    }

    /// Counts, tells the keepers, and hurries what waited when the webhook has come back.
    private func note(_ outcome: Outcome) async throws(LedgerError) {
        let now = clock()
        switch outcome {
        case .delivered:
            metrics.delivered.add()
            let outage = failingSince.map { now.milliseconds - $0.milliseconds } ?? 0
            failuresInRow = 0
            failingSince = nil
            if outage > WebhookSender.outage { try await table.hurry(webhook.name, now: now) }
        case .failed(let why, _):
            metrics.failures.add()
            failuresInRow += 1
            failingSince = failingSince ?? now
            Log.warning(
                "a delivery failed",
                ["code": DeliveryTrouble.failed.code, "webhook": webhook.name, "why": why])
        case .parked(let why):
            metrics.failures.add()
            let trouble: DeliveryTrouble = isGone ? .gone : .parked
            Log.error(
                "a delivery is parked",
                ["code": trouble.code, "webhook": webhook.name, "why": why])
        case .released: break
        }
    }
}

/// What of deliveries the keepers are told.
public enum DeliveryTrouble: Sendable, CaseIterable {
    /// An attempt failed; there will be others.
    case failed
    /// A delivery was given up.
    case parked
    /// The webhook says that it is gone.
    case gone

    /// Stable across releases; each has a section in the runbook.
    public var code: String {
        switch self {
        case .failed: "SL090"
        case .parked: "SL091"
        case .gone: "SL092"
        }
    }
}
