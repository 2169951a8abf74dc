public import Domain
public import Ledger
public import Postgres
public import Projecting
import Synchronization

/// The projection `subscriptions`: every line, its statements merged.
public final class LinesProjection: Projection {
    /// `subscriptions`.
    public let name = "subscriptions"
    /// Raised when what a line is made of changes.
    public let edition: Int64 = 4

    /// Streams folded lately; one projector at a time asks.
    private let cache = Mutex<[StreamID: Subscription]>([:])
    private static let cacheLimit = 20_000

    /// The projection.
    public init() {}

    /// One row for each line that the entries belong to.
    public func changes(by entries: [Entry], generation: Int64, reader: LedgerReader)
        async throws(LedgerError) -> [Statement]
    {
        let byStream = Dictionary(
            grouping: entries.filter { $0.event.stream.line != nil }, by: \.event.stream)
        guard !byStream.isEmpty else { return [] }
        var folded = cached(Array(byStream.keys))
        var missing: [StreamID] = []
        for (stream, news) in byStream {
            // What is remembered must end just before the news, or the stream is read again.
            if var known = folded[stream], known.revision + 1 == news[0].revision {
                for entry in news { known.apply(entry) }
                folded[stream] = known
            } else {
                missing.append(stream)
            }
        }
        let last = entries.last?.position ?? .start
        for stream in missing { folded[stream] = Subscription(stream) }
        for entry in try await reader.entries(of: missing, upTo: last) {
            folded[entry.event.stream]?.apply(entry)
        }
        remember(folded)
        return [transactions(entries, generation)].compactMap { $0 } + [
            upsert(folded.values.sorted { $0.stream < $1.stream }, generation)
        ]
    }

    /// Removes the rows of a generation.
    public func removal(ofGeneration generation: Int64) -> [Statement] {
        ["line", "transaction"].map { table in
            Statement("delete from projection.\(table) where generation = $1", [.int8(generation)])
        }
    }

    /// Which line each transaction id belongs to; `nil` when the entries name none.
    private func transactions(_ entries: [Entry], _ generation: Int64) -> Statement? {
        let stated = entries.compactMap { entry in
            if case .transaction(let statement) = entry.event.content { statement } else { nil }
        }
        guard !stated.isEmpty else { return nil }
        return Statement(
            """
            insert into projection.transaction (generation, environment, transaction, original) \
            select $1, * from unnest($2::text[], $3::text[], $4::text[]) on conflict do nothing
            """,
            [
                .int8(generation), .texts(stated.map(\.environment.name)),
                .texts(stated.map(\.transaction)), .texts(stated.map(\.original)),
            ])
    }

    private func cached(_ streams: [StreamID]) -> [StreamID: Subscription] {
        cache.withLock { cache in
            var found: [StreamID: Subscription] = [:]
            for stream in streams { found[stream] = cache[stream] }
            return found
        }
    }

    private func remember(_ folded: [StreamID: Subscription]) {
        cache.withLock { cache in
            if cache.count + folded.count > LinesProjection.cacheLimit { cache = [:] }
            cache.merge(folded) { _, new in new }
        }
    }

    private func upsert(_ folded: [Subscription], _ generation: Int64) -> Statement {
        let lines = folded.map { $0.line() }
        return Statement(
            """
            insert into projection.line (generation, bucket, stream, position, environment, \
            original, bundle, product_group, state, halted, doubt, doubt_from) \
            select $1, bucket::smallint, stream, position, environment, original, bundle, \
            product_group, state, halted, doubt, doubt_from from unnest($2::int4[], $3::text[], \
            $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::json[], \
            $10::text[], $11::text[], $12::bigint[]) as line (bucket, stream, position, \
            environment, original, bundle, product_group, state, halted, doubt, doubt_from) \
            on conflict (generation, bucket, stream) do update set position = excluded.position, \
            bundle = excluded.bundle, product_group = excluded.product_group, \
            state = excluded.state, halted = excluded.halted, doubt = excluded.doubt, \
            doubt_from = excluded.doubt_from
            """,
            [
                .int8(generation), .int4s(lines.map { Bucket.of($0.stream) }),
                .texts(lines.map(\.stream.name)), .int8s(lines.map(\.position.number)),
                .texts(lines.map(\.environment.name)), .texts(lines.map(\.original)),
                .texts(lines.map(\.bundle)), .texts(lines.map(\.group)),
                .jsons(lines.map { String(decoding: $0.state.canonicalBytes(), as: UTF8.self) }),
                .texts(folded.map { $0.haltedAt.map { "entry \($0) cannot be read" } }),
                .texts(lines.map { $0.doubt?.kind.rawValue }),
                .int8sIfAny(lines.map { $0.doubt?.from.milliseconds }),
            ])
    }
}
