import Domain
import Entitlements
import Ledger

/// `replay`: entries as JSON lines, in order.
struct Replaying {
    let invocation: Invocation
    let configuration: Configuration

    private static let pageSize = 1_000

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    func run() async throws(DaemonError) -> ExitCode {
        try await Commands.withGround(configuration) { ground throws(DaemonError) in
            let filter = try await filter(ground)
            let kinds = Set(invocation.values("kind"))
            do throws(LedgerError) {
                let last = try await last(ground)
                var after = Position((invocation.position("from") ?? 1) - 1)
                while true {
                    let page = try await ground.reader.entries(
                        after: after, upTo: last, atMost: Replaying.pageSize, filter: filter)
                    for entry in page where kinds.isEmpty || kinds.contains(entry.event.kind.name) {
                        Commands.write(entry.rendered)
                    }
                    guard let end = page.last?.position else { break }
                    after = end
                }
            } catch {
                throw .ledger(error)
            }
            return .done
        }
    }

    private func last(_ ground: Ground) async throws(LedgerError) -> Position {
        let head = try await ground.reader.head().position
        var last = min(head, invocation.position("to").map(Position.init) ?? head)
        if let text = invocation.value("as-known-at"), let instant = Instant(text) {
            last = min(last, try await ground.reader.position(knownAt: instant).position)
        }
        return last
    }

    private func filter(_ ground: Ground) async throws(DaemonError) -> EntryFilter {
        var filter = EntryFilter()
        do throws(Problem) {
            if let text = invocation.value("as-known-at") {
                _ = try Reading.instant(text, "--as-known-at")
            }
            if let line = invocation.value("line") {
                let parts = line.split(separator: "/", maxSplits: 1).map(String.init)
                guard parts.count == 2 else {
                    throw .badRequest("--line is written ENVIRONMENT/ID, found \"\(line)\"")
                }
                filter.stream = .line(
                    try Reading.environment(parts[0]), try Reading.original(parts[1]))
            }
            if let customer = invocation.value("customer") {
                let id = try Reading.customer(customer)
                filter.customer = try await reading { () throws(LedgerError) in
                    try await ground.answers.streams(of: id)
                }
            }
        } catch {
            throw .badQuestion(error.detail)
        }
        return filter
    }
}
