import Domain
import Entitlements
import Ledger

/// `entitlements CUSTOMER` and `timeline CUSTOMER`.
struct Asking {
    let invocation: Invocation
    let configuration: Configuration

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    func run() async throws(DaemonError) -> ExitCode {
        // What is asked badly is refused before a database is started for it.
        let (asked, instant) = try question()
        return try await Commands.withGround(configuration) { ground throws(DaemonError) in
            var question = asked
            do throws(LedgerError) {
                if let instant {
                    question.knownAt = try await ground.reader.position(knownAt: instant).position
                }
                let view = try await ground.answers.view(question)
                if invocation.command == .timeline {
                    tell(try await Timeline.entries(of: view, ground.reader))
                } else {
                    tell(view.verdicts(at: question.at), question, view.position)
                }
            } catch {
                throw .ledger(error)
            }
            return .done
        }
    }

    /// The question, and the instant as known at which it is asked.
    private func question() throws(DaemonError) -> (Question, Instant?) {
        var question = Question(customer: invocation.arguments[0], at: SystemClock.now)
        do throws(Problem) {
            question.customer = try Reading.customer(invocation.arguments[0])
            if let name = invocation.value("environment") {
                question.environment = try Reading.environment(name)
            }
            if let text = invocation.value("at") { question.at = try Reading.instant(text, "--at") }
            question.app = invocation.value("app")
            question.knownAt = invocation.position("as-known-position").map(Position.init)
            let instant = try invocation.value("as-known-at").map { text throws(Problem) in
                try Reading.instant(text, "--as-known-at")
            }
            guard question.knownAt == nil || instant == nil else {
                throw .badRequest("--as-known-at and --as-known-position exclude each other")
            }
            return (question, instant)
        } catch {
            throw .badQuestion(error.detail)
        }
    }

    private func tell(_ verdicts: Verdicts, _ question: Question, _ position: Position) {
        if invocation.has("json") {
            let members = verdicts.entitlements.map { JSON.Member($0.name, $0.rendered) }
            Commands.write(
                JSON(members: [
                    "customer": .string(question.customer), "at": .moment(question.at),
                    "position": .integer(position.number), "entitlements": .object(members),
                ]))
            return
        }
        print("\(question.customer) at \(question.at), as known at position \(position)")
        if verdicts.entitlements.isEmpty { print("  nothing was ever held") }
        for entitlement in verdicts.entitlements {
            let verdict = entitlement.mayUse ? "active" : "inactive"
            let until = entitlement.until.map { "until \($0)" } ?? "without end"
            let product = entitlement.product ?? ""
            print(
                "  \(entitlement.name): \(verdict) (\(entitlement.state.rawValue)), \(until), \(product)"
            )
            if !entitlement.flags.isEmpty {
                print("    caveats: \(entitlement.flags.joined(separator: ", "))")
            }
        }
    }

    private func tell(_ entries: [Entry]) {
        for entry in entries {
            if invocation.has("json") {
                Commands.write(entry.rendered)
            } else {
                let line = entry.event.stream.line?.original ?? entry.event.stream.name
                print("\(entry.event.occurredAt)  \(line)  \(entry.story)")
                print("    learned \(entry.recordedAt), position \(entry.position)")
            }
        }
    }
}
