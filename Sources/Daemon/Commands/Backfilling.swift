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
        var unknownCount = 0
        var failures: [(id: String, error: DaemonError)] = []
        var failed = 0
        /// After which no other history could be brought.
        var fatal: DaemonError?
    }

    func run() async throws(DaemonError) -> ExitCode {
        for id in invocation.arguments {
            do throws(Problem) {
                _ = try Reading.original(id)
            } catch {
                throw .badQuestion(error.detail)
            }
        }
        try checkApp()
        let summary = try await StoreCommand.run(configuration, app: invocation.value("app")) {
            (command) async throws(DaemonError) in
            try await invocation.arguments.isEmpty ? bringAll(command) : bringNamed(command)
        }
        report(summary)
        if let fatal = summary.fatal { throw fatal }
        let isLacking = !invocation.arguments.isEmpty && !summary.unknown.isEmpty
        return summary.failed > 0 || isLacking ? .failed : .done
    }

    /// An id names no app.
    private func checkApp() throws(DaemonError) {
        let keyed = configuration.apps.filter { $0.serverAPI != nil }
        guard !invocation.arguments.isEmpty, invocation.value("app") == nil, keyed.count > 1
        else { return }
        throw .badQuestion("several apps have a key for the server API; --app BUNDLE says which")
    }

    /// The histories of the ids that were given.
    private func bringNamed(_ command: StoreCommand) async -> Summary {
        var summary = Summary()
        let progress = Progress("backfill", unit: "transactions")
        let errands = command.stores.apps.prefix(1).flatMap { app in
            invocation.arguments.map { Errand(app: app, id: $0, environment: nil) }
        }
        await bring(errands, command, progress, &summary)
        progress.finish()
        return summary
    }

    /// The histories of all known lines; one history has all lines of its customer.
    private func bringAll(_ command: StoreCommand) async throws(DaemonError) -> Summary {
        try await command.levelLines()
        let lines = KnownLines(command.ground.writePool)
        var summary = Summary()
        let progress = Progress("backfill", unit: "transactions")
        for app in command.stores.apps {
            var place: KnownLines.Place? = .start
            while let from = place, summary.fatal == nil {
                let (found, next) = try await page(lines, app, after: from)
                place = next
                let errands = found.compactMap { stream -> Errand? in
                    guard let line = stream.line, app.place(line.environment) != nil else {
                        return nil
                    }
                    return Errand(app: app, id: line.original, environment: line.environment)
                }
                await bring(errands, command, progress, &summary)
            }
        }
        progress.finish()
        return summary
    }

    private func page(_ lines: KnownLines, _ app: StoreApps.App, after place: KnownLines.Place)
        async throws(DaemonError) -> (lines: [StreamID], next: KnownLines.Place?)
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
    ) async {
        let histories = Histories(
            intake: command.intake, cursors: HistoryCursors(command.ground.writePool))
        var summed = summary
        await withTaskGroup(of: (Errand, Result<Histories.Tally, DaemonError>).self) { group in
            var left = errands[...]
            var underWay = 0
            while true {
                while summed.fatal == nil, underWay < StoreApps.width,
                    let errand = left.popFirst()
                {
                    if isCovered(errand, by: summed.tally.lines) { continue }
                    underWay += 1
                    group.addTask { await bring(errand, histories, progress) }
                }
                guard let (errand, result) = await group.next() else { return }
                underWay -= 1
                summed.asked += 1
                note(result, of: errand, in: &summed)
                if summed.fatal != nil { group.cancelAll() }
            }
        }
        summary = summed
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

    /// Notes what came of a history. What Apple says of one customer does not stop the others; a
    /// key that is not accepted, or servers that do not answer, do.
    private func note(
        _ result: Result<Histories.Tally, DaemonError>, of errand: Errand,
        in summary: inout Summary
    ) {
        switch result {
        case .success(let tally): summary.tally.add(tally)
        case .failure(.store(.unknown)):
            summary.unknownCount += 1
            if summary.unknown.count < Backfilling.listed { summary.unknown.append(errand.id) }
        case .failure(.store(.refused)), .failure(.store(.failing)), .failure(.store(.stuck)),
            .failure(.store(.unreadable)):
            summary.failed += 1
            if summary.failures.count < Backfilling.listed, case .failure(let error) = result {
                summary.failures.append((errand.id, error))
            }
        case .failure(let error): summary.fatal = summary.fatal ?? error
        }
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
                    "unknownCount": .integer(Int64(summary.unknownCount)),
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
