import Analytics
import Domain
import Glibc
import Ledger

/// `metrics NAME`: a metric for people and scripts.
struct Measuring {
    let invocation: Invocation
    let configuration: Configuration

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    func run() async throws(DaemonError) -> ExitCode {
        // What is asked badly is refused before a database is started for it.
        let parameters: MetricParameters
        let knowledge: KnowledgeOption
        do throws(Problem) {
            parameters = try MetricParameters(
                invocation.arguments[0], MetricsForm.query(invocation), now: SystemClock.now)
            knowledge = try KnowledgeOption(invocation)
        } catch {
            throw .refused(error)
        }
        return try await Commands.withGround(configuration) { ground throws(DaemonError) in
            let known = try await knowledge.resolved(ground.reader)
            let measured: Measurement
            do throws(LedgerError) {
                measured = try await MetricDesk(ground).measure(
                    parameters.question(knownAt: known.at, position: known.position))
            } catch {
                throw .ledger(error)
            }
            do throws(Problem) {
                tell(
                    try MetricAnswer(
                        parameters, measured, knownAt: known.at, isSettled: known.isSettled))
            } catch {
                throw .refused(error)
            }
            return .done
        }
    }

    private func tell(_ answer: MetricAnswer) {
        if invocation.has("json") { return Commands.write(answer.json) }
        switch invocation.value("format") {
        case "csv": print(answer.csv, terminator: "")
        case "ndjson": for row in answer.rows { Commands.write(row.rendered) }
        default:
            let isTerminal = isatty(STDOUT_FILENO) == 1
            print(MetricTable(answer, hasBars: isTerminal).text, terminator: "")
        }
    }
}

/// How much of the record a command is to know: `--as-known-at`, `--as-known-position`, or all.
struct KnowledgeOption {
    private let instant: Instant?
    private let position: Position?

    /// - Throws: `Problem` when both are given, or the instant is none.
    init(_ invocation: Invocation) throws(Problem) {
        position = invocation.position("as-known-position").map(Position.init)
        instant = try invocation.value("as-known-at").map { text throws(Problem) in
            try Reading.instant(text, "--as-known-at")
        }
        guard position == nil || instant == nil else {
            throw .badRequest("--as-known-at and --as-known-position exclude each other")
        }
    }

    /// Whether either was given.
    var isGiven: Bool { instant != nil || position != nil }

    /// A position, when that much was known, and whether that can still grow.
    struct Known {
        var position: Position
        var at: Instant
        var isSettled: Bool?
    }

    /// What the options come to on a ledger.
    func resolved(_ reader: LedgerReader) async throws(DaemonError) -> Known {
        var head = Position.start
        var recordedAt: Instant?
        do throws(LedgerError) {
            if let instant {
                let known = try await reader.position(knownAt: instant)
                return Known(position: known.position, at: instant, isSettled: known.isSettled)
            }
            head = try await reader.head().position
            if let position { recordedAt = try await reader.recordedAt(position) }
        } catch {
            throw .ledger(error)
        }
        guard let position else { return Known(position: head, at: SystemClock.now) }
        guard position <= head else {
            throw .badQuestion("--as-known-position is beyond the head, which is at \(head)")
        }
        return Known(position: position, at: recordedAt ?? SystemClock.now)
    }
}
