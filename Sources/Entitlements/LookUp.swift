import Domain
import Ledger
import Postgres

/// What one round trip tells of a customer: its number, its projected lines, the links of the
/// tokens in question, and which streams the projections are behind with. All of one snapshot.
struct LookUp {
    struct LineRow {
        let stream: StreamID
        let position: Position
        let state: [UInt8]
        let halted: Bool
    }

    struct PersonRow {
        let number: CustomerNumber
        let position: Position
        let state: [UInt8]
    }

    var position = Position.start
    var settings = Position.start
    var customer: CustomerNumber?
    var numbers: Set<CustomerNumber> = []
    var lines: [LineRow] = []
    var links: TokenLinks = [:]
    var people: [PersonRow] = []
    var lastLink = Position.start
    /// Streams of interest with entries that the projections do not include yet.
    var tail: Set<StreamID> = []

    var streams: Set<StreamID> { Set(lines.map(\.stream)) }

    /// Whether the projections lack who is merged into whom: then the list of lines may lack some.
    var isBehind: Bool { tail.contains { $0.customer != nil } }

    init(_ rows: Rows) throws(PostgresError) {
        var newest: [CustomerNumber: Position] = [:]
        for row in rows {
            let first = try row.int8IfAny(1) ?? 0
            switch try row.text(0) {
            case "head":
                position = Position(first)
                settings = Position(try row.int8IfAny(2) ?? 0)
            case "customer": customer = CustomerNumber(first)
            case "number": numbers.insert(CustomerNumber(first))
            case "line":
                lines.append(
                    LineRow(
                        stream: StreamID(name: try row.text(3)), position: Position(first),
                        state: try row.bytes(4), halted: try row.int8IfAny(2) == 1))
            case "link":
                let token = CustomerNumber(first)
                let at = Position(Int64(try row.text(3)) ?? 0)
                if newest[token] ?? .start <= at {
                    newest[token] = at
                    links[token] = CustomerNumber(try row.int8(2))
                }
                lastLink = max(lastLink, at)
            case "person":
                people.append(
                    PersonRow(
                        number: CustomerNumber(try row.int8(2)), position: Position(first),
                        state: try row.bytes(4)))
            case "tail": tail.insert(StreamID(name: try row.text(3)))
            default: break
            }
        }
    }

    /// $1 the spellings of the customer's id or token, as asked first; $2 the most tail rows.
    static let sql = """
        with recursive generation as materialized ( \
        select max(generation) filter (where projection = 'subscriptions') as lines, \
        max(generation) filter (where projection = 'entitlements') as holdings, \
        case when count(*) = 2 then min(checkpoint) else 0 end as checkpoint from projection.generation \
        where is_live and projection in ('subscriptions', 'entitlements')), \
        asked as materialized ( \
        (select number from operation.customer where id = any($1) \
        order by id = ($1)[1] desc limit 1) \
        union all select number from operation.token where token = lower(($1)[1]) \
        and not exists (select from operation.customer where id = any($1))), \
        kin (number) as (select number from asked \
        union select next.number from kin, generation, lateral ( \
        select token as number from projection.token_link \
        where generation = generation.holdings and customer = kin.number \
        union all select into_customer from projection.merge \
        where generation = generation.holdings and customer = kin.number \
        union all select customer from projection.merge \
        where generation = generation.holdings and into_customer = kin.number) as next), \
        mine as materialized (select number from kin \
        union select substr(entry.stream, 7)::bigint from generation \
        join ledger.entry on entry.position > generation.checkpoint \
        where entry.subject in (select number from kin) and entry.stream like 'token/%'), \
        held as materialized (select distinct bucket, stream from projection.holding, generation \
        where holding.generation = generation.holdings \
        and customer in (select number from mine)), \
        related as materialized (select number from mine \
        union select holding.customer from held join generation on true \
        join projection.holding on holding.generation = generation.holdings \
        and holding.bucket = held.bucket and holding.stream = held.stream), \
        tail as materialized (select distinct entry.stream from generation \
        join ledger.entry on entry.position > generation.checkpoint \
        where entry.stream in (select stream from held) \
        or entry.subject in (select number from related) \
        or entry.stream in (select 'token/' || number from related \
        union all select 'customer/' || number from related) limit $2) \
        select 'head' as what, (select last_position from ledger.batch order by number desc limit 1) \
        as first, (select position from ledger.entry where bucket = \(Bucket.of(.settings))::smallint \
        and stream = 'settings' order by revision desc limit 1) as second, null::text as third, null::text as fourth \
        union all select 'customer', number, null, null, null from asked \
        union all select 'number', number, null, null, null from related \
        union all select 'line', line.position, (line.halted is not null)::int::bigint, line.stream, \
        line.state::text from held join generation on true \
        join projection.line on line.generation = generation.lines \
        and line.bucket = held.bucket and line.stream = held.stream \
        union all select 'link', token, customer, position::text, null \
        from projection.token_link, generation where token_link.generation = generation.holdings \
        and token in (select number from related) \
        union all select 'person', customer.position, customer.customer, null, customer.state::text \
        from projection.customer, generation where customer.generation = generation.holdings \
        and customer.customer in (select number from related) \
        union all select 'tail', null, null, stream, null from tail
        """
}
