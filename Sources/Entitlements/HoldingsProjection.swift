public import Domain
public import Ledger
public import Postgres
public import Projecting

/// The projection `entitlements`: which lines may be whose, and whose the tokens are.
public struct HoldingsProjection: Projection {
    /// `entitlements`.
    public let name = "entitlements"
    /// Raised when what is held changes its meaning.
    public let edition: Int64 = 1

    /// The projection.
    public init() {}

    /// A row for each customer that a line's entries name, and for each token's link.
    public func changes(by entries: [Entry], generation: Int64, reader: LedgerReader)
        async throws(LedgerError) -> [Statement]
    {
        var holdings: Set<Holding> = []
        var links: [(link: TokenLink, position: Position)] = []
        for entry in entries {
            if case .tokenLink(let link) = entry.event.content {
                links.append((link, entry.position))
            } else if let subject = entry.event.subject, entry.event.stream.line != nil {
                holdings.insert(Holding(customer: subject, stream: entry.event.stream))
            }
        }
        var changes: [Statement] = []
        if !holdings.isEmpty { changes.append(insert(holdings.sorted(), generation)) }
        // One statement each: a statement cannot change one row twice.
        for (link, position) in links { changes.append(upsert(link, position, generation)) }
        return changes
    }

    /// Removes the rows of a generation.
    public func removal(ofGeneration generation: Int64) -> [Statement] {
        [
            Statement("delete from projection.holding where generation = $1", [.int8(generation)]),
            Statement(
                "delete from projection.token_link where generation = $1", [.int8(generation)]),
        ]
    }

    private struct Holding: Hashable, Comparable {
        let customer: CustomerNumber
        let stream: StreamID

        static func < (left: Holding, right: Holding) -> Bool {
            (left.customer, left.stream) < (right.customer, right.stream)
        }
    }

    private func insert(_ holdings: [Holding], _ generation: Int64) -> Statement {
        Statement(
            """
            insert into projection.holding (generation, customer, bucket, stream) \
            select $1, customer, bucket::smallint, stream \
            from unnest($2::bigint[], $3::int4[], $4::text[]) as held (customer, bucket, stream) \
            on conflict do nothing
            """,
            [
                .int8(generation), .int8s(holdings.map(\.customer.number)),
                .int4s(holdings.map { Bucket.of($0.stream) }),
                .texts(holdings.map(\.stream.name)),
            ])
    }

    private func upsert(_ link: TokenLink, _ position: Position, _ generation: Int64)
        -> Statement
    {
        Statement(
            """
            insert into projection.token_link (generation, token, customer, position) \
            values ($1, $2, $3, $4) on conflict (generation, token, customer) \
            do update set position = greatest(token_link.position, excluded.position)
            """,
            [
                .int8(generation), .int8(link.token.number), .int8(link.customer.number),
                .int8(position.number),
            ])
    }
}
