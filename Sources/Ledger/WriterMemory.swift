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
    /// The head that the remembered streams are level with.
    private var level: Head?

    /// How many entries are rather followed than read anew when their streams are asked for.
    private static let longestWay: Int64 = 10_000

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
        level = batch.head
        for subscription in plan.known.streams.values {
            streams[subscription.stream] = subscription
        }
        for entry in batch.entries where plan.known.streams[entry.event.stream] == nil {
            streams[entry.event.stream] = nil
        }
        for (token, number) in plan.newTokens { tokens[token] = number }
        for (customer, number) in plan.newCustomers { customers[customer] = number }
        settings = plan.known.settings
    }

    /// Makes the memory level with the ledger.
    mutating func take(_ news: News) {
        if !news.continues {
            forgetAll()
            settings = Settings()
        }
        for entry in news.entries {
            if entry.event.stream == .settings { settings = settings.evolved(by: entry) }
            if var known = streams[entry.event.stream] {
                known.apply(entry)
                streams[entry.event.stream] = known
            }
        }
        level = news.head
        head = news.head
    }

    /// What the ledger holds beyond this memory.
    func news(_ session: Connection) async throws(PostgresError) -> News {
        let current = try await session.head()
        if let level, try await isContinued(level, by: current, session) {
            let entries = try await session.entries(
                after: level.position, upTo: current.position)
            return News(head: current, entries: entries, continues: true)
        }
        let entries = try await session.entries(of: [.settings], upTo: current.position)
        return News(head: current, entries: entries, continues: false)
    }

    /// Whether a head that was seen is still on the record, and not far behind. It is gone when
    /// the database lost what it had acknowledged, as a backup that was played back has.
    private func isContinued(_ level: Head, by current: Head, _ session: Connection)
        async throws(PostgresError) -> Bool
    {
        guard level.number <= current.number,
            current.position.number - level.position.number <= WriterMemory.longestWay
        else { return false }
        if level.number == 0 { return true }
        if level.number == current.number { return level.digest == current.digest }
        return try await session.digest(ofBatch: level.number) == level.digest
    }
}

/// What brings a memory level with the ledger.
struct News: Sendable {
    let head: Head
    /// What follows the memory; or else, when it has to begin anew, all settings.
    let entries: [Entry]
    let continues: Bool
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
    /// The newest batch.
    func head() async throws(PostgresError) -> Head {
        let rows = try await query(HeadRow.sql)
        do throws(LedgerError) {
            return try HeadRow.head(rows)
        } catch let .database(error) {
            throw error
        } catch {
            throw .unexpectedAnswer("\(error)")
        }
    }

    /// The digest of a batch; `nil` when there is none of this number.
    func digest(ofBatch number: Int64) async throws(PostgresError) -> Fingerprint? {
        let rows = try await query(
            "select digest from ledger.batch where number = $1", [.int8(number)])
        guard let row = rows.first else { return nil }
        return Fingerprint(bytes: try row.bytes(0))
    }

    /// All entries of some streams, in order, up to a position.
    func entries(of streams: [StreamID], upTo last: Position) async throws(PostgresError) -> [Entry]
    {
        var entries: [Entry] = []
        let rows = try await query(
            StreamQuery.sql, StreamQuery.parameters(streams, upTo: last))
        for row in rows { entries.append(try EntryRow.read(row)) }
        return entries
    }

    /// All entries between two positions.
    func entries(after first: Position, upTo last: Position) async throws(PostgresError) -> [Entry]
    {
        guard first < last else { return [] }
        let rows = try await query(
            """
            select \(EntryRow.columns) from ledger.entry \
            where position > $1 and position <= $2 order by position
            """, [.int8(first.number), .int8(last.number)])
        guard rows.count == Int(last.number - first.number) else {
            throw .unavailable("some entries up to position \(last) are not visible yet")
        }
        var entries: [Entry] = []
        for row in rows { entries.append(try EntryRow.read(row)) }
        return entries
    }
}
