import AppStore
import Diagnostics
import Domain
import EventLoop
import Operation
import Postgres

/// Brings the record level with Apple's servers while the daemon serves, again and again.
struct ReconcileSchedule: Sendable {
    let reconciliation: Reconciliation
    let comparisons: Comparisons
    /// How often notifications are compared.
    let period: Duration
    let loop: EventLoop
    let metrics: MetricRegistry

    /// How long after its start a daemon has other things to do.
    private static let quiet = Duration.seconds(120)
    /// How often lines in doubt are looked for, at most.
    private static let tick = Duration.seconds(600)
    /// How many lines are asked about at a time and place.
    private static let lines = 200
    /// What was compared lately is compared again. Units: milliseconds.
    private static let overlap: Int64 = 60 * 60_000

    /// The schedule of a configuration; `nil` when it has none, or no key can be used.
    static func make(
        _ ground: Ground, _ intake: Intake, _ metrics: MetricRegistry
    ) -> ReconcileSchedule? {
        let configuration = ground.configuration
        guard configuration.apple.reconcileMinutes > 0,
            configuration.apps.contains(where: { $0.serverAPI != nil })
        else { return nil }
        let observe: @Sendable (String, ServerAPI.Step) -> Void = { call, step in
            metrics.counter(
                "subledger_store_calls_total", help: "Calls to Apple's server API, by what came.",
                labels: ["call": call, "step": step.name]
            ).add(1)
        }
        do throws(DaemonError) {
            // Half of what Apple allows is left to the commands and to the app's other programs.
            let stores = try StoreApps(
                configuration,
                manner: StoreApps.Manner(
                    waiting: .real(on: ground.outer), share: 0.5, observe: observe))
            return ReconcileSchedule(
                reconciliation: Reconciliation(stores, ground, intake),
                comparisons: Comparisons(ground.writePool),
                period: .seconds(60 * configuration.apple.reconcileMinutes), loop: ground.outer,
                metrics: metrics)
        } catch {
            // Notifications can be received without.
            Log.error(
                "the record is not compared with Apple's", ["error": "\(error.code) \(error)"])
            return nil
        }
    }

    /// Compares until cancelled.
    func run() async {
        // Counters are there from the start, so that their growth can be seen.
        count("notification", 0)
        count("line", 0)
        failures.add(0)
        var pause = min(period, ReconcileSchedule.quiet)
        while !Task.isCancelled {
            // Daemons that started together need not ask together.
            guard (try? await loop.sleep(for: pause * Double.random(in: 0.75...1.25))) != nil else {
                return
            }
            _ = await once(now: SystemClock.now)
            pause = min(period, ReconcileSchedule.tick)
        }
    }

    /// Compares what is due at each place.
    func once(now: Instant) async -> ReconcileReport {
        let report = await reconciliation.run { (api) async throws(DaemonError) in
            Reconciliation.Extent(
                span: try await span(api.place, now),
                doubts: Doubts.Limits(most: ReconcileSchedule.lines, respectsPauses: true))
        } reached: { (api, instant) async throws(DaemonError) in
            try await stored { () throws(PostgresError) in
                try await comparisons.reached(
                    instant.milliseconds, bundle: api.place.bundleID,
                    environment: api.place.environment.name)
            }
        }
        for place in report.places where place.failure != nil {
            // What was reached is kept; if this cannot be noted the next one begins in its time.
            try? await comparisons.release(
                bundle: place.bundle, environment: place.environment.name)
        }
        if !Task.isCancelled { tell(report) }
        return report
    }

    /// The notifications that are due to be compared; `nil` when they were lately, by any daemon.
    private func span(_ place: ServerAPI.Place, _ now: Instant) async throws(DaemonError)
        -> Range<Instant>?
    {
        // Half a tick early is in time: the next chance may come late.
        let early = min(period, ReconcileSchedule.tick) / 2
        let lately = now.adding(milliseconds: -Int64((period - early) / .milliseconds(1)))
        let begun = try await stored { () throws(PostgresError) in
            try await comparisons.begin(
                bundle: place.bundleID, environment: place.environment.name,
                now: now.milliseconds, unlessSince: lately.milliseconds)
        }
        guard case .some(let reached) = begun else { return nil }
        let window = Comparing.window(place.environment, now: now)
        let from = reached.map {
            Instant(milliseconds: $0).adding(milliseconds: -ReconcileSchedule.overlap)
        }
        let start = max(window.lowerBound, from ?? .distantPast)
        return start < window.upperBound ? start..<window.upperBound : nil
    }

    private func tell(_ report: ReconcileReport) {
        for place in report.places {
            count("notification", place.missing)
            count("line", place.learnt)
        }
        for (place, error) in report.failures {
            failures.add(1)
            Log.warning(
                "a comparison with Apple was not finished",
                [
                    "app": place.bundle, "environment": place.environment.name,
                    "error": "\(error.code) \(error)",
                ])
        }
        let compared = report.places.filter { $0.span != nil && $0.failure == nil }
        if !compared.isEmpty {
            metrics.gauge(
                "subledger_reconciled_at_seconds", help: "When a comparison last was finished."
            ).set(Double(SystemClock.now.milliseconds / 1_000))
        }
        guard !compared.isEmpty || report.missingCount > 0 else { return }
        Log.info(
            "compared with Apple",
            [
                "places": "\(compared.count)", "missing": "\(report.missingCount)",
                "asked": "\(report.places.reduce(0) { $0 + $1.asked })",
                "unknown": "\(report.places.reduce(0) { $0 + $1.unknownCount })",
            ])
    }

    private var failures: Counter {
        metrics.counter(
            "subledger_reconcile_failures_total", help: "Comparisons that were not finished.")
    }

    private func count(_ what: String, _ number: Int) {
        metrics.counter(
            "subledger_reconcile_missing_total", help: "What the record lacked and Apple knew.",
            labels: ["what": what]
        ).add(number)
    }
}

extension ServerAPI.Step {
    /// Its name in metrics.
    fileprivate var name: String {
        switch self {
        case .asked: "asked"
        case .retried: "retried"
        case .failed: "failed"
        }
    }
}
