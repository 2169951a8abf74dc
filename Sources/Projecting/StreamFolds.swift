import Domain
import Ledger
import Postgres

/// Folds of streams, those of late remembered: the live way of making a projection's rows.
struct StreamFolds: Sendable {
    private struct Known: Sendable {
        var fold: any StreamFold
        var revision: Int64
        /// Whether it is on the list of the halted.
        var isListed = false

        mutating func apply(_ entry: Entry) {
            fold.apply(entry)
            revision = entry.revision
        }
    }

    /// Folds that were used of late, until newer ones take the room.
    private struct Remembered: Sendable {
        private var young: [StreamID: Known] = [:]
        /// Those used before the young ones; all of them are forgotten at once.
        private var old: [StreamID: Known] = [:]
        /// How many entries the young ones have folded.
        private var count: Int64 = 0

        /// At how many entries the young ones become the old ones: each may take about a KiB.
        private static let limit: Int64 = 30_000

        subscript(stream: StreamID) -> Known? { young[stream] ?? old[stream] }

        mutating func remember(_ known: Known, of stream: StreamID) {
            if count > Remembered.limit { (old, young, count) = (young, [:], 0) }
            count += known.revision - (young[stream]?.revision ?? 0)
            young[stream] = known
        }
    }

    private let projection: any Projection
    /// Whether some tables hold whole streams, so that what a stream had must be known.
    private let hasWholes: Bool
    private var known = Remembered()

    init(_ projection: any Projection) {
        self.projection = projection
        hasWholes = projection.tables.contains(where: \.isWhole)
    }

    /// What entries that follow a position change in a generation.
    ///
    /// - Parameter isForeign: the generation's rows were made by another edition, so that what a
    ///   stream had is not what its fold made.
    mutating func changes(
        by entries: [Entry], after position: Position, generation: Int64, reader: LedgerReader,
        isForeign: Bool = false
    ) async throws(LedgerError) -> [Statement] {
        var folded: [StreamID: Known] = [:]
        var old = hasWholes && !isForeign ? ProjectedRows(projection.tables) : nil
        var missing: [StreamID] = []
        for (stream, news) in Dictionary(grouping: entries, by: \.event.stream) {
            guard let fresh = projection.fold(of: stream) else { continue }
            // What is remembered must end just before the news, or the stream is read again.
            let last = known[stream]
            if type(of: fresh).needsHistory, news[0].revision > 1,
                last?.revision != news[0].revision - 1
            {
                folded[stream] = Known(fold: fresh, revision: 0)
                missing.append(stream)
                continue
            }
            var next = last ?? Known(fold: fresh, revision: 0)
            if news[0].revision == 1 { next = Known(fold: fresh, revision: 0) }
            if next.revision > 0 { old?.add(next.fold, of: stream, since: .start) }
            for entry in news { next.apply(entry) }
            folded[stream] = next
        }
        var waiting = Set(missing)
        for entry in try await reader.entries(of: missing.sorted(), upTo: entries.last?.position) {
            let stream = entry.event.stream
            if entry.position > position, waiting.remove(stream) != nil, let before = folded[stream]
            {
                old?.add(before.fold, of: stream, since: .start)
            }
            folded[stream]?.apply(entry)
        }
        return statements(&folded, from: old, after: position, generation)
    }

    /// What the streams that are halted make now: those that can be read again are released.
    mutating func releases(
        _ streams: [StreamID], upTo position: Position, generation: Int64, reader: LedgerReader
    ) async throws(LedgerError) -> [Statement] {
        var folded: [StreamID: Known] = [:]
        for stream in streams {
            folded[stream] = projection.fold(of: stream).map {
                Known(fold: $0, revision: 0, isListed: true)
            }
        }
        for entry in try await reader.entries(of: streams.sorted(), upTo: position) {
            folded[entry.event.stream]?.apply(entry)
        }
        return statements(&folded, from: nil, after: .start, generation)
    }

    private mutating func statements(
        _ folded: inout [StreamID: Known], from old: ProjectedRows?, after position: Position,
        _ generation: Int64
    ) -> [Statement] {
        var rows = ProjectedRows(projection.tables)
        for (stream, known) in folded.sorted(by: { $0.key < $1.key }) {
            rows.add(known.fold, of: stream, since: position)
        }
        let halted = Set(rows.halts.map(\.stream))
        let released = folded.filter { $0.value.isListed && !halted.contains($0.key) }
            .map(\.key).sorted()
        for stream in folded.keys { folded[stream]?.isListed = halted.contains(stream) }
        for (stream, last) in folded where type(of: last.fold).needsHistory {
            known.remember(last, of: stream)
        }
        return rows.changes(from: old, of: folded.keys.sorted(), generation: generation)
            + HaltList.statements(
                rows.halts, released: released, projection.name, generation: generation)
    }
}
