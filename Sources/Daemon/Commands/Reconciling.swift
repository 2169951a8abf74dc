import AppStore
import Domain

/// `reconcile`: compares with Apple's notification history and statuses, and stores what was
/// missing.
struct Reconciling {
    let invocation: Invocation
    let configuration: Configuration

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    func run() async throws(DaemonError) -> ExitCode {
        let (from, to) = try asked()
        let report = try await StoreCommand.run(configuration, app: invocation.value("app")) {
            (command) async throws(DaemonError) in
            try await command.levelLines()
            let reconciliation = Reconciliation(command.stores, command.ground, command.intake)
            let progress = Progress("reconcile", unit: "notifications and lines")
            let report = await reconciliation.run(
                { (api) async throws(DaemonError) in
                    let window = Comparing.window(api.place.environment, now: SystemClock.now)
                    let start = max(window.lowerBound, from ?? .distantPast)
                    let end = min(window.upperBound, to ?? .distantFuture)
                    return Reconciliation.Extent(span: start < end ? start..<end : nil)
                }, told: { progress.advance(by: Int64($0)) })
            progress.finish()
            return report
        }
        tell(report)
        if !report.failures.isEmpty { return .failed }
        return report.missingCount > 0 ? .found : .done
    }

    private func asked() throws(DaemonError) -> (from: Instant?, to: Instant?) {
        do throws(Problem) {
            let from = try invocation.value("from").map { (text) throws(Problem) in
                try Reading.instant(text, "--from")
            }
            let to = try invocation.value("to").map { (text) throws(Problem) in
                try Reading.instant(text, "--to")
            }
            if let from, let to, from >= to {
                throw .badRequest("--from must be before --to")
            }
            return (from, to)
        } catch {
            throw .badQuestion(error.detail)
        }
    }

    private func tell(_ report: ReconcileReport) {
        if invocation.has("json") {
            Commands.write(report.rendered)
            return
        }
        for place in report.places { tell(place) }
        for missing in report.missing { print("  missing: \(missing.words)") }
        if report.missingCount > report.missing.count {
            print("  and \(report.missingCount - report.missing.count) more")
        }
        for (place, error) in report.failures {
            Program.complain(
                "subledger: \(place.bundle) \(place.environment.name): \(error.code) \(error)")
        }
        print(
            report.missingCount == 0
                ? "nothing was missing" : "missing and stored now: \(report.missingCount)")
    }

    private func tell(_ place: ReconcileReport.Place) {
        let name = "\(place.bundle) \(place.environment.name)"
        if place.isUnauthorized {
            print("\(name): not open to this app")
            return
        }
        let span = place.span.map { "\($0.lowerBound) to \($0.upperBound)" } ?? "no notifications"
        print("\(name): \(span)")
        for (day, counts) in place.days.sorted(by: { $0.key < $1.key }) {
            print(
                "  \(day)  sent \(counts.sent), held \(counts.held), missing \(counts.missing)"
                    + (counts.quarantined > 0 ? ", quarantined \(counts.quarantined)" : ""))
        }
        print("  lines asked about: \(place.asked), learnt of: \(place.learnt)")
        for line in place.unknown { print("  still unknown: line \(line)") }
        if place.unknownCount > place.unknown.count {
            print("  and \(place.unknownCount - place.unknown.count) more lines")
        }
    }
}

extension ReconcileReport {
    /// The report as results for machines.
    var rendered: JSON {
        JSON(members: [
            "places": .array(places.map(\.rendered)),
            "missing": .array(missing.map(\.rendered)),
            "missingCount": .integer(Int64(missingCount)),
            "failures": .array(
                failures.map { place, error in
                    JSON(members: [
                        "app": .string(place.bundle),
                        "environment": .string(place.environment.name),
                        "code": .string(error.code), "detail": .string("\(error)"),
                    ])
                }),
        ])
    }
}

extension ReconcileReport.Place {
    fileprivate var rendered: JSON {
        JSON(members: [
            "app": .string(bundle), "environment": .string(environment.name),
            "authorized": .bool(!isUnauthorized),
            "from": span.map { .moment($0.lowerBound) }, "to": span.map { .moment($0.upperBound) },
            "days": .array(
                days.sorted { $0.key < $1.key }.map { day, counts in
                    JSON(members: [
                        "day": .string(day), "sent": .integer(Int64(counts.sent)),
                        "held": .integer(Int64(counts.held)),
                        "missing": .integer(Int64(counts.missing)),
                        "quarantined": .integer(Int64(counts.quarantined)),
                    ])
                }),
            "asked": .integer(Int64(asked)), "learnt": .integer(Int64(learnt)),
            "unknown": .array(unknown.map(JSON.string)),
            "unknownCount": .integer(Int64(unknownCount)),
        ])
    }
}

extension ReconcileReport.Missing {
    fileprivate var rendered: JSON {
        JSON(members: [
            "app": .string(bundle), "environment": .string(environment.name),
            "what": .string(what), "notificationUUID": .text(notification?.uuid),
            "type": .text(notification?.type), "line": .text(line),
            "signedAt": signedAt.map { .moment($0) }, "position": .whole(position?.number),
        ])
    }

    /// What is missing, for people.
    fileprivate var words: String {
        var words = "\(bundle) \(environment.name) "
        if let notification {
            words += "\(notification.type) \(notification.uuid)"
        } else {
            words += what
        }
        if let line { words += ", line \(line)" }
        if let signedAt { words += ", signed \(signedAt)" }
        if let position { words += ", now at position \(position)" }
        return words
    }
}
