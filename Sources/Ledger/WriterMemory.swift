import Crypto
import Domain
import Postgres

/// What a writer remembers between groups: the head, folded streams, settings and numbers.
struct WriterMemory {
    private(set) var head: Head?
    private(set) var settings = Settings()
    private var streams: TwoGenerations<StreamID, Subscription>
    private var tokens: TwoGenerations<String, CustomerNumber>
    private var customers: TwoGenerations<String, CustomerNumber>
    /// The position that the remembered streams are level with.
    private var level: Position?

    init(limit: Int) {
        streams = TwoGenerations(limit: limit)
        tokens = TwoGenerations(limit: limit * 4)
        customers = TwoGenerations(limit: limit * 4)
    }

    /// The head must be read again before the next append.
    mutating func forgetHead() { head = nil }

    /// Everything must be read again.
    mutating func forgetAll() {
        head = nil
        level = nil
        streams.removeAll()
        tokens.removeAll()
        customers.removeAll()
    }

    func subscription(_ stream: StreamID) -> Subscription? { streams[stream] }

    mutating func remember(_ subscription: Subscription) {
        streams[subscription.stream] = subscription
    }

    func token(_ token: String) -> CustomerNumber? { tokens[token] }
    func customer(_ id: String) -> CustomerNumber? { customers[id] }
    mutating func remember(token: String, _ number: CustomerNumber) { tokens[token] = number }
    mutating func remember(customer: String, _ number: CustomerNumber) {
        customers[customer] = number
    }

    /// Takes in what a committed plan appended.
    mutating func took(_ plan: Plan, _ batch: Batch) {
        head = batch.head
        level = batch.head.position
        for subscription in plan.known.streams.values {
            streams[subscription.stream] = subscription
        }
        for (token, number) in plan.newTokens { tokens[token] = number }
        for (customer, number) in plan.newCustomers { customers[customer] = number }
        settings = plan.known.settings
    }

    /// Makes the memory level with the ledger, when that is not known.
    mutating func catchUp(_ session: Connection) async throws(PostgresError) {
        guard head == nil else { return }
        let newest = try await session.query(HeadRow.sql)
        let current: Head
        do throws(LedgerError) {
            current = try HeadRow.head(newest)
        } catch let .database(error) {
            throw error
        } catch {
            throw .unexpectedAnswer("\(error)")
        }
        if let level, current.position.number - level.number <= 10_000 {
            try await follow(session, after: level, upTo: current.position)
        } else {
            forgetAll()
            settings = Settings()
            for entry in try await session.entries(of: [.settings], upTo: current.position) {
                settings = settings.evolved(by: entry)
            }
        }
        level = current.position
        head = current
    }

    /// Folds what another writer appended.
    private mutating func follow(_ session: Connection, after level: Position, upTo last: Position)
        async throws(PostgresError)
    {
        guard level < last else { return }
        let rows = try await session.query(
            """
            select \(EntryRow.columns) from ledger.entry \
            where position > $1 and position <= $2 order by position
            """, [.int8(level.number), .int8(last.number)])
        for row in rows {
            let entry = try EntryRow.read(row)
            if entry.event.stream == .settings { settings = settings.evolved(by: entry) }
            if var known = streams[entry.event.stream] {
                known.apply(entry)
                streams[entry.event.stream] = known
            }
        }
    }
}

/// A bounded memory: what was not asked for during one generation is forgotten with the next.
struct TwoGenerations<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let limit: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    init(limit: Int) { self.limit = max(limit / 2, 1) }

    subscript(key: Key) -> Value? {
        get { young[key] ?? old[key] }
        set {
            if young.count >= limit {
                old = young
                young = [:]
            }
            young[key] = newValue
            if newValue == nil { old[key] = nil }
        }
    }

    mutating func removeAll() {
        young = [:]
        old = [:]
    }
}

extension EntryRow {
    /// Reads a row of `columns`, with the database's own errors.
    static func read(_ row: Row) throws(PostgresError) -> Entry {
        do throws(LedgerError) {
            return try entry(row)
        } catch let .database(error) {
            throw error
        } catch {
            throw .unexpectedAnswer("\(error)")
        }
    }
}

extension Connection {
    /// All entries of some streams, in order, up to a position.
    func entries(of streams: [StreamID], upTo last: Position) async throws(PostgresError) -> [Entry]
    {
        var entries: [Entry] = []
        let rows = try await query(
            StreamQuery.sql, StreamQuery.parameters(streams, upTo: last))
        for row in rows { entries.append(try EntryRow.read(row)) }
        return entries
    }
}
