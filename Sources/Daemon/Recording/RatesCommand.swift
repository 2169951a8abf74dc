import Domain
import Ledger

/// Makes the proposal that records a day's exchange rates.
enum RatesCommand {
    /// The proposal that sets rates; what is known already is left out.
    static func record(_ set: RatesSet, now: Instant) -> Proposal {
        Proposal(streams: { _ in [set.stream] }) { known in
            let known = known.subscription(set.stream)
            guard let news = known.rates.news(in: set) else { return .append([]) }
            return .append([
                Event(
                    kind: .rateSet, stream: set.stream, key: key(edition(of: set, known) + 1, set),
                    occurredAt: set.day.start, observedAt: now, source: .command,
                    content: .rates(news))
            ])
        }
    }

    /// How often rates of its day were recorded.
    static func edition(of set: RatesSet, _ known: Subscription) -> Int {
        var edition = 0
        while known.position(of: key(edition + 1, set)) != nil { edition += 1 }
        return edition
    }

    private static func key(_ edition: Int, _ set: RatesSet) -> String { "\(set.day)/\(edition)" }
}
