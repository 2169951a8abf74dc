import AppStore
import Domain
import Ledger

/// Compares the record with what Apple's servers say they sent, and with how lines stand there.
struct Comparing: Sendable {
    let histories: Histories
    let doubts: Doubts

    /// What was found at one place; grows as it is found.
    struct Findings: Sendable {
        var place: ReconcileReport.Place
        var missing: [ReconcileReport.Missing] = []
        var count = 0

        mutating func add(_ found: ReconcileReport.Missing) {
            count += 1
            if missing.count < ReconcileReport.limit { missing.append(found) }
        }
    }

    /// Notifications this young may be on their way. Units: milliseconds.
    static let youngest: Int64 = 5 * 60_000
    /// How long a span is asked for at once: the cursors within it grow old. Units: days.
    private static let step: Int64 = 7
    /// How often a span is begun anew when a cursor within it has grown too old.
    private static let renewals = 3

    /// The span that can be compared now.
    static func window(_ environment: Environment, now: Instant) -> Range<Instant> {
        let end = now.adding(milliseconds: -youngest)
        // The oldest minutes would be too old by the time that they are asked for.
        let days = ServerAPI.notificationDays(in: environment)
        return now.adding(days: -days).adding(milliseconds: 2 * youngest)..<end
    }

    /// Stores the notifications of a span that the record lacks.
    ///
    /// - Parameters:
    ///   - told: told how many were on each page.
    ///   - reached: told up to when all are stored; durable by then.
    func compareNotifications(
        at api: ServerAPI, in span: Range<Instant>, _ findings: inout Findings,
        told: @Sendable (Int) -> Void, reached: (Instant) async throws(DaemonError) -> Void
    ) async throws(DaemonError) {
        findings.place.span = span
        var start = span.lowerBound
        while start < span.upperBound {
            let end = min(start.adding(days: Comparing.step), span.upperBound)
            try await compareStep(at: api, start..<end, &findings, told)
            try await reached(end)
            start = end
        }
    }

    private func compareStep(
        at api: ServerAPI, _ span: Range<Instant>, _ findings: inout Findings,
        _ told: @Sendable (Int) -> Void
    ) async throws(DaemonError) {
        // What was missing when the span was begun, by UUID: it stays so when it is begun anew.
        var stored: Set<String> = []
        for renewal in 0... {
            var found = findings
            do throws(DaemonError) {
                var pages = api.notifications(from: span.lowerBound, to: span.upperBound)
                while let page = try await asked({ () throws(ServerAPIError) in
                    try await pages.next()
                }) {
                    let fates = try await histories.intake.take(
                        page.items.map { .notification($0.signedPayload) })
                    for fate in fates { note(fate, in: &found, &stored) }
                    told(fates.count)
                }
                findings = found
                return
            } catch .store(.refused(_, ServerAPI.cursorExpired))
                where renewal < Comparing.renewals
            {
                (findings.missing, findings.count) = (found.missing, found.count)
            } catch {
                findings = found
                throw error
            }
        }
    }

    private func note(
        _ fate: Intake.Fate, in findings: inout Findings, _ stored: inout Set<String>
    ) {
        var counts = ReconcileReport.Day(sent: 1)
        // When it was signed is not believed of what is not.
        var day = "unbelieved"
        switch fate {
        case .appended(let observation, let appended):
            guard let notice = observation.notice else { return }
            counts.missing = 1
            day = Comparing.day(notice.signedAt)
            stored.insert(notice.uuid)
            findings.add(
                ReconcileReport.Missing(
                    bundle: findings.place.bundle, environment: notice.environment,
                    what: "notification", notification: (notice.uuid, notice.type),
                    line: notice.original, signedAt: notice.signedAt, position: appended.position))
        case .known(let observation):
            guard let notice = observation.notice else { return }
            if stored.contains(notice.uuid) { counts.missing = 1 } else { counts.held = 1 }
            day = Comparing.day(notice.signedAt)
        case .quarantined: counts.quarantined = 1
        }
        findings.place.days[day, default: ReconcileReport.Day()].add(counts)
    }

    private static func day(_ instant: Instant) -> String { String("\(instant)".prefix(10)) }
}
