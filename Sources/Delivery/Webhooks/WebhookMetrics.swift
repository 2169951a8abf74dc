import Diagnostics
import Domain

/// What waits for a webhook.
struct WebhookLoad: Sendable {
    var pending: Int64
    var parked: Int64
    /// When the oldest event that waits was made.
    var oldestAt: Instant?
}

/// The figures of one webhook.
struct WebhookMetrics: Sendable {
    let delivered: Counter
    let failures: Counter
    private let pending: Gauge
    private let parked: Gauge
    private let lag: Gauge
    private var shownAt: ContinuousClock.Instant?

    private static let period = Duration.seconds(5)

    init(_ name: String, _ metrics: MetricRegistry) {
        let labels = ["webhook": name]
        delivered = metrics.counter(
            "subledger_webhook_delivered_total", help: "Events that a webhook took.",
            labels: labels)
        failures = metrics.counter(
            "subledger_webhook_failures_total", help: "Attempts that a webhook did not take.",
            labels: labels)
        pending = metrics.gauge(
            "subledger_webhook_pending", help: "Events that wait for a webhook.", labels: labels)
        parked = metrics.gauge(
            "subledger_webhook_parked", help: "Events that were given up.", labels: labels)
        lag = metrics.gauge(
            "subledger_webhook_lag_seconds", help: "Age of the oldest event that waits.",
            labels: labels)
    }

    /// Whether it is time to count again.
    var isStale: Bool { shownAt.map { $0.duration(to: .now) > WebhookMetrics.period } ?? true }

    /// Shows what waits.
    mutating func show(_ load: WebhookLoad, now: Instant) {
        pending.set(Double(load.pending))
        parked.set(Double(load.parked))
        let age = load.oldestAt.map { now.milliseconds - $0.milliseconds } ?? 0
        lag.set(Double(max(0, age)) / 1_000)
        shownAt = .now
    }
}
