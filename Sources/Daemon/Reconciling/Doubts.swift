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
    /// How many lines one look reads.
    private static let pageSize = 1_000
    private static let longestPause: Int64 = 7 * Instant.millisecondsPerDay

    /// How many lines are asked about, and whether again after a short time.
    struct Limits: Sendable {
        var most = Int.max
        var respectsPauses = false
    }

    /// What asking about one line came to.
    private enum Answer: Sendable {
        /// Somebody else asks about it.
        case leftAlone
        /// Apple said something new; the position is that of its last entry, if it is known.
        case learnt(Position?)
        /// Nothing new, and nothing is in doubt any more.
        case settled
        /// It is still not known what happened.
        case unknown
    }

    /// Asks about the lines in doubt of an app in an environment, a few at a time.
    ///
    /// - Parameter told: told of each line that was asked about.
    func ask(
        at api: ServerAPI, _ limits: Limits, _ findings: inout Comparing.Findings,
        told: @Sendable (Int) -> Void
    ) async throws(DaemonError) {
        let scope = LinesInDoubt.Scope(
            bundle: api.place.bundleID, environment: api.place.environment, now: SystemClock.now,
            respectsPauses: limits.respectsPauses)
        var place: LinesInDoubt.Place? = .start
        var left = limits.most
        while let from = place, left > 0 {
            let (found, next) = try await page(scope, after: from)
            place = next
            let lines = found.prefix(left)
            left -= lines.count
            for start in stride(from: 0, to: lines.count, by: StoreApps.width) {
                let few = lines[start..<min(start + StoreApps.width, lines.count)]
                try await ask(about: few, at: api, limits, &findings)
                told(few.count)
            }
        }
    }

    /// Asks about a few lines at once.
    private func ask(
        about lines: ArraySlice<LinesInDoubt.Found>, at api: ServerAPI, _ limits: Limits,
        _ findings: inout Comparing.Findings
    ) async throws(DaemonError) {
        let answers = await withTaskGroup(of: Answered.self) { group in
            for place in lines.indices {
                let line = lines[place]
                group.addTask { await answered(line, place, api, limits) }
            }
            var answers: [Answered] = []
            for await answer in group { answers.append(answer) }
            return answers.sorted { $0.place < $1.place }
        }
        var failure: DaemonError?
        for answered in answers {
            let line = lines[answered.place]
            let original = line.stream.line?.original ?? line.stream.name
            switch answered.answer {
            case .success(.leftAlone): continue
            case .success(.settled): break
            case .success(.unknown): findings.place.stillUnknown(original)
            case .success(.learnt(let position)):
                findings.place.learnt += 1
                findings.add(
                    ReconcileReport.Missing(
                        bundle: api.place.bundleID, environment: api.place.environment,
                        what: line.kind.rawValue, line: original, position: position))
            case .failure(let error):
                findings.place.stillUnknown(original)
                failure = failure ?? error
            }
            findings.place.asked += 1
        }
        if let failure { throw failure }
    }

    /// What became of one line among a few, by its place.
    private struct Answered: Sendable {
        let place: Int
        let answer: Result<Answer, DaemonError>
    }

    private func answered(
        _ line: LinesInDoubt.Found, _ place: Int, _ api: ServerAPI, _ limits: Limits
    ) async -> Answered {
        do throws(DaemonError) {
            guard try await begin(line, limits) else {
                return Answered(place: place, answer: .success(.leftAlone))
            }
            let answer = try await ask(about: line, at: api)
            return Answered(place: place, answer: .success(answer))
        } catch {
            return Answered(place: place, answer: .failure(error))
        }
    }

    private func page(_ scope: LinesInDoubt.Scope, after place: LinesInDoubt.Place)
        async throws(DaemonError) -> (lines: [LinesInDoubt.Found], next: LinesInDoubt.Place?)
    {
        do throws(LedgerError) {
            return try await lines.page(scope, after: place, atMost: Doubts.pageSize)
        } catch {
            throw .ledger(error)
        }
    }

    private func begin(_ line: LinesInDoubt.Found, _ limits: Limits) async throws(DaemonError)
        -> Bool
    {
        let now = SystemClock.now.milliseconds
        let doublings = min(line.times, 10)
        let pause = min(Doubts.firstPause << doublings, Doubts.longestPause)
        return try await stored { () throws(PostgresError) in
            try await inquiries.begin(
                bucket: Bucket.of(line.stream), stream: line.stream.name, now: now,
                next: now + pause, pauses: limits.respectsPauses ? now : .max)
        }
    }

    private func ask(about line: LinesInDoubt.Found, at api: ServerAPI) async throws(DaemonError)
        -> Answer
    {
        guard let original = line.stream.line?.original else { return .settled }
        let before = State(try await self.line(line.stream))
        var position: Position?
        do throws(DaemonError) {
            switch line.kind {
            case .overdue: position = try await statuses(of: original, at: api)
            case .successorMissing:
                _ = try await histories.bring(original, from: api, page: { _ in })
            }
        } catch .store(.unknown) {
            try await stored { () throws(PostgresError) in
                try await inquiries.postpone(
                    bucket: Bucket.of(line.stream), stream: line.stream.name,
                    until: SystemClock.now.milliseconds + Doubts.longestPause)
            }
            return .unknown
        } catch {
            throw error
        }
        let after = try await self.line(line.stream)
        if before != State(after) { return .learnt(position) }
        let isOver = (after.doubt?.from ?? .distantFuture) > SystemClock.now
        return isOver ? .settled : .unknown
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
            if case .appended(_, let added) = fate { added.position } else { nil }
        }.max()
    }

    /// What is asked about of a line, whatever it was said by.
    private struct State: Equatable {
        let periods: [Period]
        let willRenew: Bool?
        let nextProduct: String?
        let expirationIntent: Int64?

        init(_ line: Line) {
            periods = line.periods
            let intent = line.intents.last
            willRenew = intent?.willRenew
            nextProduct = intent?.nextProduct
            expirationIntent = intent?.expirationIntent
        }
    }

    private func line(_ stream: StreamID) async throws(DaemonError) -> Line {
        do throws(LedgerError) {
            return Subscription(stream, entries: try await reader.entries(of: [stream])).line()
        } catch {
            throw .ledger(error)
        }
    }
}
