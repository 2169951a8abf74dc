import AppStore
import Diagnostics
import EventLoop
import HTTP

/// Judges again what waits for an authority's word: at the start, every minute, and when a
/// responder is back.
struct PendingEvidence: Sendable {
    private let reprocessing: Reprocessing
    private let checks: OnlineChecks
    private let loop: EventLoop
    private let wakes: Wakes

    private static let period = Duration.seconds(60)

    /// Calls for a retry; several calls before it begins are one.
    struct Wakes: Sendable {
        fileprivate let stream: AsyncStream<Void>
        fileprivate let continuation: AsyncStream<Void>.Continuation

        init() {
            (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        }

        func call() { continuation.yield() }
    }

    /// What waits in the quarantine that `reprocessing` judges.
    init(_ reprocessing: Reprocessing, _ checks: OnlineChecks, _ wakes: Wakes, on loop: EventLoop) {
        self.reprocessing = reprocessing
        self.checks = checks
        self.wakes = wakes
        self.loop = loop
    }

    /// Judges all that waits, once.
    func retry() async throws(DaemonError) -> Reprocessing.Tally {
        let arrived = checks.metrics.pending.arrivedByNow
        await checks.forgetFailures()
        let tally = try await reprocessing.run(
            [], reasons: [HoldReason.pendingVerification.rawValue])
        checks.metrics.pending.counted(tally.stillHeldCount, since: arrived)
        return tally
    }

    /// Retries until cancelled.
    func run() async {
        async let ticking: Void = tick()
        for await _ in wakes.stream {
            do throws(DaemonError) {
                let tally = try await retry()
                if tally.believed > 0 {
                    Log.info("pending evidence believed", ["count": "\(tally.believed)"])
                }
                if tally.refused > 0 {
                    Log.warning("pending evidence refused", ["count": "\(tally.refused)"])
                }
            } catch {
                Log.warning("pending evidence was not judged", ["error": "\(error)"])
            }
        }
        await ticking
    }

    private func tick() async {
        while !Task.isCancelled {
            wakes.call()
            do throws(CancellationError) {
                try await loop.sleep(for: PendingEvidence.period)
            } catch {
                return
            }
        }
    }
}
