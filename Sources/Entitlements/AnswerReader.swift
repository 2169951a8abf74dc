public import Domain
public import Ledger
public import Postgres
import Synchronization

/// Answers questions about customers and lines: projected rows, and the entries after them.
public final class AnswerReader: Sendable {
    private let pool: ConnectionPool
    private let reader: LedgerReader
    private let memory = Mutex(Memory())
    private let recency: Recency
    private let views = ViewMemory()

    private struct Memory {
        var lines: [LineKey: Line] = [:]
        var settings: [Position: Settings] = [:]
    }

    private struct LineKey: Hashable {
        let stream: StreamID
        let position: Position
    }

    private static let lineLimit = 50_000
    private static let settingsLimit = 64
    /// How often it looks again, 5 ms apart, for projections that are behind.
    private static let patience = 200
    /// More entries than this behind, and the streams are read from the ledger instead.
    private static let tailLimit = 1_000

    /// A reader over read-only sessions.
    public init(_ pool: ConnectionPool) {
        self.pool = pool
        reader = LedgerReader(pool)
        recency = Recency(pool)
    }

    /// What a customer may use, and the view that it was computed from.
    public func answer(_ question: Question)
        async throws(LedgerError) -> (view: CustomerView, verdicts: Verdicts)
    {
        let (view, readAt, known) = try await current(question)
        if let known { return (view, known) }
        let verdicts = view.verdicts(at: question.at)
        if question.knownAt == nil { views.remember(question, view, verdicts, readAt: readAt) }
        return (view, verdicts)
    }

    /// What is known of a customer: never older than an acknowledged append.
    public func view(_ question: Question) async throws(LedgerError) -> CustomerView {
        try await current(question).view
    }

    /// The view, the position at which it was read, and what it came to when that is still known.
    private func current(_ question: Question) async throws(LedgerError) -> (
        view: CustomerView, readAt: Position, verdicts: Verdicts?
    ) {
        guard question.knownAt == nil, let remembered = views[question.customer],
            let head = try await recency.head(
                ifUnchanged: remembered.concerns, since: remembered.view.position)
        else {
            let view = try await readView(question)
            return (view, view.position, nil)
        }
        let known = remembered.answer(to: question)
        var view = known?.view ?? remembered.view
        if known == nil { view.holdings.lines.removeAll { !question.covers($0) } }
        view.position = head
        return (view, remembered.view.position, known?.verdicts)
    }

    private func readView(_ question: Question) async throws(LedgerError) -> CustomerView {
        var found = try await lookUpLevel(question.customer)
        let isKnownNow = question.knownAt == nil || question.knownAt == found.position
        if isKnownNow, found.tail.isEmpty {
            var view = try await projected(found)
            if question.knownAt == nil, view.number != nil {
                views.remember(
                    question.customer, view,
                    Recency.Concerns(streams: found.streams, numbers: found.numbers))
            }
            view.holdings.lines.removeAll { !question.covers($0) }
            return view
        }
        found.position = question.knownAt.map { min($0, found.position) } ?? found.position
        var view = try await folded(found)
        view.holdings.lines.removeAll { !question.covers($0) }
        return view
    }

    /// What is known of a customer by the live generations, and by folding the record anew.
    ///
    /// - Shape: both as of one position, unless the projections are behind.
    public func views(_ question: Question)
        async throws(LedgerError) -> (live: CustomerView, recorded: CustomerView)
    {
        var found = try await lookUpLevel(question.customer)
        var live = try await projected(found)
        let rows = try await pool.read(
            """
            select distinct stream from ledger.entry where subject = any($1) \
            and stream like 'apple/%'
            """, [.int8s(found.numbers.map(\.number))])
        for row in rows {
            found.tail.insert(
                StreamID(name: try read { () throws(PostgresError) in try row.text(0) }))
        }
        var recorded = try await folded(found)
        live.holdings.lines.removeAll { !question.covers($0) }
        recorded.holdings.lines.removeAll { !question.covers($0) }
        return (live, recorded)
    }

    /// Customers after one, by their ids; then, behind them, unbound account tokens.
    ///
    /// - Shape: in the order of the database; empty when there are no more.
    public func customers(after id: String, amongTokens: Bool, atMost count: Int)
        async throws(LedgerError) -> [String]
    {
        let sql =
            amongTokens
            ? """
            select token from operation.token where token > $1 \
            and not exists (select from projection.token_link join projection.generation \
            using (generation) where projection = 'entitlements' and is_live \
            and token_link.token = token.number) order by token limit \(count)
            """
            : "select id from operation.customer where id > $1 order by id limit \(count)"
        var names: [String] = []
        for row in try await pool.read(sql, [.text(id)]) {
            names.append(try read { () throws(PostgresError) in try row.text(0) })
        }
        return names
    }

    /// Forgets what was read of generations: another one is live.
    public func forget() {
        memory.withLock { $0.lines = [:] }
        views.forget()
    }

    /// The last position.
    public func head() async throws(LedgerError) -> Position {
        try await reader.head().position
    }

    /// A line as known at a position, and whose it is; `nil` when nothing is recorded of it.
    public func line(
        _ environment: Environment, _ original: String, knownAt: Position? = nil
    ) async throws(LedgerError) -> (
        line: Line, links: TokenLinks, settings: Settings, position: Position
    )? {
        let stream = StreamID.line(environment, original)
        let head = try await reader.head().position
        let position = knownAt.map { min($0, head) } ?? head
        let entries = try await reader.entries(of: [stream, .settings], upTo: position)
        let subscription = Subscription(
            stream, entries: entries.filter { $0.event.stream == stream })
        guard !subscription.isEmpty else { return nil }
        let line = subscription.line()
        let links = try await links(of: line.tokens, upTo: position)
        let settings = entries.filter { $0.event.stream == .settings }
            .reduce(Settings()) { $0.evolved(by: $1) }
        return (line, links, settings, position)
    }

    /// The original transaction id of the line that a transaction id, or an alias, belongs to;
    /// `nil` when no entry names it.
    public func original(of transaction: String, in environment: Environment)
        async throws(LedgerError) -> String?
    {
        let rows = try await pool.read(
            """
            with generation as materialized (select generation, checkpoint \
            from projection.generation where is_live and projection = 'subscriptions') \
            (select original from projection.transaction, generation \
            where transaction.generation = generation.generation \
            and environment = $1 and transaction = $2 order by original collate "C" limit 1) \
            union all select body->'transaction'->>'originalTransactionId' from ledger.entry \
            where position > coalesce((select checkpoint from generation), 0) \
            and environment = $1 and body->'transaction'->>'transactionId' = $2 limit 1
            """, [.text(environment.name), .text(transaction)])
        return try read { () throws(PostgresError) in try rows.first?.text(0) }
    }

    /// The backend's ids of customers, or the tokens of customers that are only tokens.
    public func names(of numbers: Set<CustomerNumber>)
        async throws(LedgerError) -> [CustomerNumber: String]
    {
        guard !numbers.isEmpty else { return [:] }
        var names: [CustomerNumber: String] = [:]
        let rows = try await pool.read(
            """
            select number, coalesce(customer.id, token.token) \
            from unnest($1::bigint[]) as wanted (number) \
            left join operation.customer using (number) left join operation.token using (number) \
            where coalesce(customer.id, token.token) is not null
            """, [.int8s(numbers.map(\.number))])
        for row in rows {
            let (number, name) = try read { () throws(PostgresError) in
                (try row.int8(0), try row.text(1))
            }
            names[CustomerNumber(number)] = name
        }
        return names
    }

    /// Streams that concern a customer, and its numbers, as far as known.
    public func streams(of customer: String)
        async throws(LedgerError) -> (streams: [StreamID], numbers: [CustomerNumber])
    {
        let found = try await lookUp(customer)
        return (Array(found.streams).sorted(), Array(found.numbers).sorted())
    }

    /// Looks up until the projections say who is merged into whom, for a bounded time: without a
    /// daemon nobody moves them, and what they lack is read from the record.
    private func lookUpLevel(_ customer: String) async throws(LedgerError) -> LookUp {
        var found = try await lookUp(customer)
        for _ in 0..<AnswerReader.patience where found.isBehind {
            try? await Task.sleep(for: .milliseconds(5))
            found = try await lookUp(customer)
        }
        return found
    }

    private func lookUp(_ customer: String) async throws(LedgerError) -> LookUp {
        let rows = try await pool.read(
            LookUp.sql, [.texts(Spellings.of(customer)), .int8(Int64(AnswerReader.tailLimit))])
        return try read { () throws(PostgresError) in try LookUp(rows) }
    }

    /// The view when the projections are level with what concerns the customer.
    private func projected(_ found: LookUp) async throws(LedgerError) -> CustomerView {
        var lines: [Line] = []
        for row in found.lines { lines.append(try line(row)) }
        let settings = try await settings(at: found.settings)
        var people: [CustomerNumber: Customer] = [:]
        for row in found.people { people[row.number] = try customer(row) }
        return CustomerView(
            position: found.position, number: found.customer,
            holdings: Holdings(
                lines: lines, links: found.links, settings: settings, customers: Customers(people)),
            halted: Set(found.lines.filter { $0.halted }.map(\.stream)),
            lastEntry: max(
                found.settings, found.lines.map(\.position).max() ?? .start,
                found.lastLink, found.people.map(\.position).max() ?? .start))
    }

    /// The view folded from the record: for the past, and for what the projections lack yet.
    private func folded(_ found: LookUp) async throws(LedgerError) -> CustomerView {
        let tokens = found.numbers.flatMap { [StreamID.token($0), StreamID.customer($0)] }
        let streams = found.streams.union(found.tail)
        let entries = try await reader.entries(
            of: Array(streams.union(tokens).union([.settings])).sorted(), upTo: found.position)
        var folds: [StreamID: Subscription] = [:]
        var settings = Settings()
        for entry in entries {
            if entry.event.stream == .settings {
                settings = settings.evolved(by: entry)
            } else {
                folds[entry.event.stream, default: Subscription(entry.event.stream)].apply(entry)
            }
        }
        var lines: [Line] = []
        var links: TokenLinks = [:]
        for (stream, fold) in folds.sorted(by: { $0.key < $1.key }) {
            if stream.line != nil { lines.append(fold.line()) }
        }
        var people: [CustomerNumber: Customer] = [:]
        for number in found.numbers {
            links[number] = folds[.token(number)]?.linkedCustomer
            people[number] = folds[.customer(number)]?.customer
        }
        // Lines that only the tail names may carry tokens that the projections do not know.
        let strangers = Set(lines.flatMap(\.tokens)).subtracting(found.numbers)
        links.merge(try await self.links(of: strangers, upTo: found.position)) { known, _ in known }
        return CustomerView(
            position: found.position, number: found.customer,
            holdings: Holdings(
                lines: lines, links: links, settings: settings, customers: Customers(people)),
            halted: Set(folds.filter { $0.value.haltedAt != nil }.keys),
            lastEntry: entries.last?.position ?? .start)
    }

    private func links(of tokens: Set<CustomerNumber>, upTo last: Position)
        async throws(LedgerError) -> TokenLinks
    {
        var links: TokenLinks = [:]
        for entry in try await reader.entries(of: tokens.map(StreamID.token).sorted(), upTo: last) {
            if case .tokenLink(let link) = entry.event.content { links[link.token] = link.customer }
        }
        return links
    }

    private func line(_ row: LookUp.LineRow) throws(LedgerError) -> Line {
        let key = LineKey(stream: row.stream, position: row.position)
        if let known = memory.withLock({ $0.lines[key] }) { return known }
        let line: Line
        do {
            line = try Line(
                stream: row.stream, position: row.position, state: try JSON.parse(row.state))
        } catch {
            throw .damaged("the projected line \(row.stream.name): \(error)")
        }
        memory.withLock { memory in
            if memory.lines.count >= AnswerReader.lineLimit { memory.lines = [:] }
            memory.lines[key] = line
        }
        return line
    }

    private func customer(_ row: LookUp.PersonRow) throws(LedgerError) -> Customer {
        do {
            return try Customer(
                row.number, position: row.position, state: try JSON.parse(row.state))
        } catch {
            throw .damaged("a projected customer: \(error)")
        }
    }

    private func settings(at position: Position) async throws(LedgerError) -> Settings {
        if let known = memory.withLock({ $0.settings[position] }) { return known }
        var settings = Settings()
        for entry in try await reader.entries(of: [.settings], upTo: position) {
            settings = settings.evolved(by: entry)
        }
        memory.withLock { [settings] memory in
            if memory.settings.count >= AnswerReader.settingsLimit { memory.settings = [:] }
            memory.settings[position] = settings
        }
        return settings
    }

    private func read<T>(_ body: () throws(PostgresError) -> T) throws(LedgerError) -> T {
        do throws(PostgresError) {
            return try body()
        } catch {
            throw .database(error)
        }
    }
}

extension Question {
    /// Whether a line is of the world and the app that are asked about.
    func covers(_ line: Line) -> Bool {
        line.environment == environment && (app == nil || line.bundle == app)
    }
}
