import Diagnostics
import Domain
import Operation
import Postgres

/// Counts what is not the store's, and keeps samples of it.
struct Forgeries: Sendable {
    let samples: Samples
    let metrics: MetricRegistry

    /// Counts a forgery always, and keeps it if that can be done.
    func note(_ original: [UInt8], _ reason: String, _ detail: String) async {
        do throws(PostgresError) {
            try await keep(original, reason, detail)
        } catch {
            Log.warning("a forgery was not kept", ["reason": reason, "error": "\(error)"])
        }
    }

    /// Counts a forgery and keeps it; durable when it returns.
    func keep(_ original: [UInt8], _ reason: String, _ detail: String)
        async throws(PostgresError)
    {
        metrics.counter(
            "subledger_forgeries_total", help: "Texts that were not the store's, by reason.",
            labels: ["reason": reason]
        ).add(1)
        try await samples.keep(
            original, reason: reason, detail: detail, now: SystemClock.now.milliseconds)
    }
}
