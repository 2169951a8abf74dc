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
        // What is asked badly is refused before a database is started for it.
        let (asked, customer, instant) = try filter()
        if invocation.has("compare") || supposes {
            guard invocation.has("compare"), supposes else {
                throw .badQuestion("--compare goes with --catalog, --ownership or both")
            }
            return try await Supposing(invocation, configuration).run(knownAt: instant)
        }
        let kinds = Set(invocation.values("kind"))
        return try await Commands.withGround(configuration) { ground throws(DaemonError) in
            var filter = asked
            do throws(LedgerError) {
                if let customer { filter.customer = try await ground.answers.streams(of: customer) }
                let last = try await last(ground, knownAt: instant)
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

    private var supposes: Bool {
        invocation.value("catalog") != nil || invocation.value("ownership") != nil
    }

    private func last(_ ground: Ground, knownAt instant: Instant?)
        async throws(LedgerError) -> Position
    {
        let head = try await ground.reader.head().position
        var last = min(head, invocation.position("to").map(Position.init) ?? head)
        if let known = invocation.position("as-known-position") {
            last = min(last, Position(known))
        }
        if let instant {
            last = min(last, try await ground.reader.position(knownAt: instant).position)
        }
        return last
    }

    /// Which entries, of which customer, and as known at which instant.
    private func filter() throws(DaemonError) -> (EntryFilter, String?, Instant?) {
        var filter = EntryFilter()
        do throws(Problem) {
            let instant = try invocation.value("as-known-at").map { text throws(Problem) in
                try Reading.instant(text, "--as-known-at")
            }
            if let line = invocation.value("line") {
                let parts = line.split(separator: "/", maxSplits: 1).map(String.init)
                guard parts.count == 2 else {
                    throw .badRequest("--line is written ENVIRONMENT/ID, found \"\(line)\"")
                }
                filter.stream = .line(
                    try Reading.environment(parts[0]), try Reading.original(parts[1]))
            }
            guard instant == nil || invocation.value("as-known-position") == nil else {
                throw .badRequest("--as-known-at and --as-known-position exclude each other")
            }
            let customer = try invocation.value("customer").map { id throws(Problem) in
                try Reading.customer(id)
            }
            return (filter, customer, instant)
        } catch {
            throw .badQuestion(error.detail)
        }
    }
}
