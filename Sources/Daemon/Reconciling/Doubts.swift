import AppStore
import Domain
import Entitlements
import Ledger
import Operation
import Postgres

/// Asks Apple about lines of which the record does not know what must have happened.
struct Doubts: Sendable {
    let histories: Histories
    let lines: LinesInDoubt
    let inquiries: Inquiries
    let reader: LedgerReader

    /// The pause after the first question about a line, doubled by each further one.
    /// Units: milliseconds.
    private static let firstPause: Int64 = 15 * 60_000
    private static let longestPause: Int64 = 7 * Instant.millisecondsPerDay

    /// How many lines are asked about, and whether again after a short time.
    struct Limits: Sendable {
        var most = Int.max
        var respectsPauses = false
    }

    /// Asks about the lines in doubt of an app in an environment.
    func ask(
        at api: ServerAPI, _ limits: Limits, _ findings: inout Comparing.Findings
    ) async throws(DaemonError) {
        let scope = LinesInDoubt.Scope(
            bundle: api.place.bundleID, environment: api.place.environment, now: SystemClock.now,
            respectsPauses: limits.respectsPauses)
        var place: LinesInDoubt.Place? = .start
        var left = limits.most
        while let from = place, left > 0 {
            let (found, next) = try await page(scope, after: from)
            place = next
            for line in found.prefix(left) {
                guard try await begin(line, limits) else { continue }
                left -= 1
                findings.place.asked += 1
                try await ask(about: line, at: api, &findings)
            }
        }
    }

    private func page(_ scope: LinesInDoubt.Scope, after place: LinesInDoubt.Place)
        async throws(DaemonError) -> (lines: [LineInDoubt], next: LinesInDoubt.Place?)
    {
        do throws(LedgerError) {
            return try await lines.page(scope, after: place)
        } catch {
            throw .ledger(error)
        }
    }

    private func begin(_ line: LineInDoubt, _ limits: Limits) async throws(DaemonError) -> Bool {
        let now = SystemClock.now.milliseconds
        let doublings = min(line.times, 10)
        let pause = min(Doubts.firstPause << doublings, Doubts.longestPause)
        return try await stored { () throws(PostgresError) in
            try await inquiries.begin(
                bucket: Bucket.of(line.stream), stream: line.stream.name, now: now,
                next: now + pause, pauses: limits.respectsPauses ? now : .max)
        }
    }

    private func ask(
        about line: LineInDoubt, at api: ServerAPI, _ findings: inout Comparing.Findings
    ) async throws(DaemonError) {
        guard let original = line.stream.line?.original else { return }
        let before = try await state(of: line.stream)
        var position: Position?
        do throws(DaemonError) {
            switch line.doubt {
            case .overdue: position = try await statuses(of: original, at: api)
            case .successorMissing:
                _ = try await histories.bring(original, from: api, page: { _ in })
            }
        } catch .store(.unknown) {
            findings.place.unknown.append(original)
            try await stored { () throws(PostgresError) in
                try await inquiries.postpone(
                    bucket: Bucket.of(line.stream), stream: line.stream.name,
                    until: SystemClock.now.milliseconds + Doubts.longestPause)
            }
            return
        } catch {
            findings.place.unknown.append(original)
            throw error
        }
        let after = try await state(of: line.stream)
        if before != after {
            findings.place.learnt += 1
            findings.add(
                ReconcileReport.Missing(
                    bundle: api.place.bundleID, environment: api.place.environment,
                    what: line.doubt.rawValue, line: original, position: position))
        } else if after.isInDoubt(line.doubt) {
            findings.place.unknown.append(original)
        }
    }

    /// Records how the subscriptions of a line's customer stand; the last position that it added.
    private func statuses(of original: String, at api: ServerAPI) async throws(DaemonError)
        -> Position?
    {
        let page = try await asked { () throws(ServerAPIError) in
            try await api.statuses(of: original)
        }
        let environment = page.environment ?? api.place.environment
        var pieces: [Intake.Piece] = []
        for last in page.items {
            if let signed = last.signedTransaction {
                pieces.append(.transaction(signed, environment))
            }
            if let signed = last.signedRenewal { pieces.append(.renewal(signed, environment)) }
        }
        let fates = try await histories.intake.take(pieces)
        return fates.compactMap { fate in
            if case .appended(_, let position) = fate { position } else { nil }
        }.max()
    }

    /// What is asked about of a line, whatever it was said by.
    private struct State: Equatable {
        var periods: [Period]
        var willRenew: Bool?
        var nextProduct: String?
        var expirationIntent: Int64?
        var heardAt: Instant?

        static func == (left: State, right: State) -> Bool {
            left.periods == right.periods && left.willRenew == right.willRenew
                && left.nextProduct == right.nextProduct
                && left.expirationIntent == right.expirationIntent
        }

        /// Whether what was missing still is.
        func isInDoubt(_ doubt: LineInDoubt.Doubt) -> Bool {
            switch doubt {
            case .successorMissing: periods.last?.flags.contains(doubt.rawValue) == true
            case .overdue: (heardAt ?? .distantPast) < (periods.last?.until ?? .distantPast)
            }
        }
    }

    private func state(of stream: StreamID) async throws(DaemonError) -> State {
        let line: Line
        do throws(LedgerError) {
            line = Subscription(stream, entries: try await reader.entries(of: [stream])).line()
        } catch {
            throw .ledger(error)
        }
        let intent = line.intents.last
        return State(
            periods: line.periods, willRenew: intent?.willRenew, nextProduct: intent?.nextProduct,
            expirationIntent: intent?.expirationIntent, heardAt: intent?.signedAt)
    }
}
