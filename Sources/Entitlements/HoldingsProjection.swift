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
        var customers: Set<StreamID> = []
        var people: [CustomerNumber: Customer] = [:]
        for entry in entries {
            if case .tokenLink(let link) = entry.event.content {
                links.append((link, entry.position))
            } else if entry.event.stream.customer != nil {
                customers.insert(entry.event.stream)
            } else if let subject = entry.event.subject, entry.event.stream.line != nil {
                holdings.insert(Holding(customer: subject, stream: entry.event.stream))
            }
        }
        var changes: [Statement] = []
        if !holdings.isEmpty { changes.append(insert(holdings.sorted(), generation)) }
        // One statement each: a statement cannot change one row twice.
        for (link, position) in links { changes.append(upsert(link, position, generation)) }
        if let last = entries.last?.position, !customers.isEmpty {
            for entry in try await reader.entries(of: customers.sorted(), upTo: last) {
                guard let number = entry.event.stream.customer else { continue }
                people[number, default: Customer(number)].apply(entry)
            }
        }
        for customer in people.values.sorted(by: { $0.number < $1.number }) {
            changes += upsert(customer, generation)
        }
        return changes
    }

    private func upsert(_ customer: Customer, _ generation: Int64) -> [Statement] {
        let state = String(decoding: customer.state.canonicalBytes(), as: UTF8.self)
        let person = Statement(
            """
            insert into projection.customer (generation, customer, position, state) \
            values ($1, $2, $3, $4) on conflict (generation, customer) \
            do update set position = excluded.position, state = excluded.state
            """,
            [
                .int8(generation), .int8(customer.number.number),
                .int8(customer.position.number), .json(state),
            ])
        let merges = customer.merges.map { merge in
            Statement(
                """
                insert into projection.merge (generation, customer, into_customer) \
                values ($1, $2, $3) on conflict do nothing
                """,
                [
                    .int8(generation), .int8(customer.number.number),
                    .int8(merge.customer.number),
                ])
        }
        return [person] + merges
    }

    /// Removes the rows of a generation.
    public func removal(ofGeneration generation: Int64) -> [Statement] {
        [
            "holding", "token_link", "customer", "merge",
        ].map { table in
            Statement("delete from projection.\(table) where generation = $1", [.int8(generation)])
        }
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
