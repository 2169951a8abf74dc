import Domain
import Entitlements
import Ledger

/// A customer's entries, in the order in which they happened.
enum Timeline {
    static func entries(
        of view: CustomerView, _ reader: LedgerReader
    ) async throws(LedgerError) -> [Entry] {
        let mine = view.holdings.lines.filter { line in
            view.owns(line, at: nil)
        }
        let tokens = view.holdings.links.filter { $0.value == view.number }.keys
        let own = view.number.map { [StreamID.customer($0)] } ?? []
        let streams = mine.map(\.stream) + tokens.map(StreamID.token) + own
        let entries = try await reader.entries(of: streams.sorted(), upTo: view.position)
        return entries.sorted {
            ($0.event.occurredAt, $0.position) < ($1.event.occurredAt, $1.position)
        }
    }
}
