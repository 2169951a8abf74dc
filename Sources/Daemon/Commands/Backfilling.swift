import AppStore
import Domain
import Entitlements
import Ledger
import Operation

/// `backfill`: histories of customers, from Apple's server API.
struct Backfilling {
    let invocation: Invocation
    let configuration: Configuration

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    /// How many failures are listed.
    private static let listed = 1_000

    /// One history to bring.
    private struct Errand: Sendable {
        let app: StoreApps.App
        let id: String
        /// The environment, when it is known.
        let environment: Environment?
    }

    private struct Summary: Sendable {
        var asked = 0
        var tally = Histories.Tally()
        var unknown: [String] = []
        var failures: [(id: String, error: DaemonError)] = []
        var failed = 0
    }

    func run() async throws(DaemonError) -> ExitCode {
        for id in invocation.arguments {
            do throws(Problem) {
                _ = try Reading.original(id)
            } catch {
                throw .badQuestion(error.detail)
            }
        }
        let summary = try await StoreCommand.run(configuration, app: invocation.value("app")) {
            (command) async throws(DaemonError) in
            try await invocation.arguments.isEmpty ? bringAll(command) : bringNamed(command)
        }
        report(summary)
        let isLacking = !invocation.arguments.isEmpty && !summary.unknown.isEmpty
        return summary.failed > 0 || isLacking ? .failed : .done
    }

    /// The histories of the ids that were given.
    private func bringNamed(_ command: StoreCommand) async throws(DaemonError) -> Summary {
        guard let app = command.stores.apps.first, command.stores.apps.count == 1 else {
            throw .badQuestion(
                command.stores.apps.isEmpty
                    ? "no app has a key for the server API (apps[].serverAPI)"
                    : "several apps have a key for the server API; --app BUNDLE says which")
        }
        var summary = Summary()
        let progress = Progress("backfill", unit: "transactions")
        let errands = invocation.arguments.map { Errand(app: app, id: $0, environment: nil) }
        try await bring(errands, command, progress, &summary)
        progress.finish()
        return summary
    }

    /// The histories of all known lines; one history has all lines of its customer.
    private func bringAll(_ command: StoreCommand) async throws(DaemonError) -> Summary {
        guard !command.stores.apps.isEmpty else {
            throw .badQuestion("no app has a key for the server API (apps[].serverAPI)")
        }
        try await command.levelLines()
        let lines = KnownLines(command.ground.writePool)
        var summary = Summary()
        let progress = Progress("backfill", unit: "transactions")
        for app in command.stores.apps {
            var place: LinesInDoubt.Place? = .start
            while let from = place {
                let (found, next) = try await page(lines, app, after: from)
                place = next
                let errands = found.compactMap { stream -> Errand? in
                    guard let line = stream.line, app.place(line.environment) != nil else {
                        return nil
                    }
                    return Errand(app: app, id: line.original, environment: line.environment)
                }
                try await bring(errands, command, progress, &summary)
            }
        }
        progress.finish()
        return summary
    }

    private func page(_ lines: KnownLines, _ app: StoreApps.App, after place: LinesInDoubt.Place)
        async throws(DaemonError) -> (lines: [StreamID], next: LinesInDoubt.Place?)
    {
        do throws(LedgerError) {
            return try await lines.page(app: app.bundleID, after: place, atMost: 500)
        } catch {
            throw .ledger(error)
        }
    }

    /// Brings histories, a few at a time; what one customer's answer has covered is not asked for
    /// again.
    private func bring(
        _ errands: [Errand], _ command: StoreCommand, _ progress: Progress,
        _ summary: inout Summary
    ) async throws(DaemonError) {
        let histories = Histories(
            intake: command.intake, cursors: HistoryCursors(command.ground.writePool))
        var summed = summary
        let failure = await withTaskGroup(
            of: (Errand, Result<Histories.Tally, DaemonError>).self
        ) { group -> DaemonError? in
            var left = errands[...]
            var underWay = 0
            while true {
                while underWay < StoreApps.width, let errand = left.popFirst() {
                    if isCovered(errand, by: summed.tally.lines) { continue }
                    underWay += 1
                    group.addTask { await bring(errand, histories, progress) }
                }
                guard let (errand, result) = await group.next() else { return nil }
                underWay -= 1
                summed.asked += 1
                if let fatal = note(result, of: errand, in: &summed) {
                    group.cancelAll()
                    return fatal
                }
            }
        }
        summary = summed
        if let failure { throw failure }
    }

    private func isCovered(_ errand: Errand, by lines: Set<StreamID>) -> Bool {
        errand.environment.map { lines.contains(.line($0, errand.id)) } ?? false
    }

    private func bring(_ errand: Errand, _ histories: Histories, _ progress: Progress) async
        -> (Errand, Result<Histories.Tally, DaemonError>)
    {
        do throws(DaemonError) {
            let told: @Sendable (Int) -> Void = { progress.advance(by: Int64($0)) }
            let place = errand.environment.flatMap { errand.app.place($0) }
            let tally =
                if let place {
                    try await histories.bring(errand.id, from: place, page: told)
                } else {
                    try await histories.bring(errand.id, of: errand.app, page: told)
                }
            return (errand, .success(tally))
        } catch {
            return (errand, .failure(error))
        }
    }

    /// Notes what came of a history; an error after which no other can be brought is returned.
    private func note(
        _ result: Result<Histories.Tally, DaemonError>, of errand: Errand,
        in summary: inout Summary
    ) -> DaemonError? {
        switch result {
        case .success(let tally): summary.tally.add(tally)
        case .failure(.store(.unknown)):
            if summary.unknown.count < Backfilling.listed { summary.unknown.append(errand.id) }
        case .failure(.store(.unauthorized)) where errand.environment == nil:
            return .store(.unauthorized)
        case .failure(.store(let error)):
            summary.failed += 1
            if summary.failures.count < Backfilling.listed {
                summary.failures.append((errand.id, .store(error)))
            }
        case .failure(let error): return error
        }
        return nil
    }

    private func report(_ summary: Summary) {
        let reasons = summary.tally.quarantined.sorted { $0.key < $1.key }
        if invocation.has("json") {
            Commands.write(
                JSON(members: [
                    "asked": .integer(Int64(summary.asked)),
                    "transactions": .integer(Int64(summary.tally.texts)),
                    "appended": .integer(Int64(summary.tally.appended)),
                    "known": .integer(Int64(summary.tally.known)),
                    "quarantined": .object(
                        reasons.map { .init($0.key, .integer(Int64($0.value))) }),
                    "unknown": .array(summary.unknown.map(JSON.string)),
                    "failures": .array(
                        summary.failures.map {
                            JSON(members: [
                                "id": .string($0.id), "code": .string($0.error.code),
                                "detail": .string("\($0.error)"),
                            ])
                        }),
                ]))
            return
        }
        let quarantined = reasons.map(\.value).reduce(0, +)
        print(
            "asked \(summary.asked): appended \(summary.tally.appended), already known "
                + "\(summary.tally.known), quarantined \(quarantined)")
        for (reason, count) in reasons { print("  \(reason): \(count)") }
        for id in summary.unknown { print("  \(id): unknown to Apple") }
        for (id, error) in summary.failures { print("  \(id): \(error.code) \(error)") }
    }
}
