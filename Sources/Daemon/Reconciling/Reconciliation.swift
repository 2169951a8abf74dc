import AppStore
import Domain
import Entitlements
import Ledger
import Operation

/// Brings the record level with Apple's servers, place by place.
struct Reconciliation: Sendable {
    let stores: StoreApps
    let comparing: Comparing

    /// One for a ground, recording through a writer.
    init(_ stores: StoreApps, _ ground: Ground, _ intake: Intake) {
        self.stores = stores
        let histories = Histories(intake: intake, cursors: HistoryCursors(ground.writePool))
        comparing = Comparing(
            histories: histories,
            doubts: Doubts(
                histories: histories, lines: LinesInDoubt(ground.writePool),
                inquiries: Inquiries(ground.writePool), reader: ground.reader))
    }

    /// What is compared at a place, and how.
    struct Extent: Sendable {
        /// The notifications to compare; `nil`: none.
        var span: Range<Instant>?
        var doubts = Doubts.Limits()
    }

    /// Compares all places; one that fails does not stop the others.
    ///
    /// - Parameters:
    ///   - extent: what to do at a place; `nil`: nothing.
    ///   - told: told how many notifications or lines were looked at, again and again.
    ///   - reached: told up to when the notifications of a place are stored.
    func run(
        _ extent: (ServerAPI) async throws(DaemonError) -> Extent?,
        told: @Sendable (Int) -> Void = { _ in },
        reached: (ServerAPI, Instant) async throws(DaemonError) -> Void = { _, _ in }
    ) async -> ReconcileReport {
        var report = ReconcileReport()
        for api in stores.apps.flatMap(\.places) where !Task.isCancelled {
            var findings = Comparing.Findings(
                place: ReconcileReport.Place(
                    bundle: api.place.bundleID, environment: api.place.environment))
            do throws(DaemonError) {
                guard let extent = try await extent(api) else { continue }
                if let span = extent.span, !span.isEmpty {
                    try await comparing.compareNotifications(
                        at: api, in: span, &findings, told: told
                    ) {
                        (instant) async throws(DaemonError) in try await reached(api, instant)
                    }
                }
                try await comparing.doubts.ask(at: api, extent.doubts, &findings, told: told)
            } catch .store(.unauthorized) {
                findings.place.isUnauthorized = true
            } catch {
                findings.place.failure = error
            }
            report.add(findings.place, missing: findings.missing, count: findings.count)
        }
        return report
    }
}

extension Intake {
    /// One for a ground, recording through a writer.
    init(
        _ ground: Ground, _ writer: Ledger.Writer, _ interpreter: Interpreter,
        _ checks: OnlineChecks?
    ) {
        self.init(
            interpreter: interpreter, checks: checks, writer: writer,
            held: HeldStore(ground.writePool), samples: Samples(ground.writePool))
    }
}
