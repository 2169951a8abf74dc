import Domain
import Ledger
import Postgres

/// Which streams have to do with each other, by the customers and tokens that their entries name.
struct Kinship {
    /// Streams and the numbers that their entries name.
    private var names: [(stream: StreamID, number: CustomerNumber)] = []
    private var streams: Set<StreamID> = []
    private var numbers: Set<CustomerNumber> = []

    private let pool: ConnectionPool
    private let last: Position

    /// Merges and links are followed so many steps.
    private static let depth = 16

    /// Finds all streams that decide what the owners of some streams may use, as of a position.
    static func groups(of streams: Set<StreamID>, upTo last: Position, _ pool: ConnectionPool)
        async throws(LedgerError) -> [[StreamID]]
    {
        var kinship = Kinship(pool: pool, last: last)
        // Who may own these lines; which lines they may own; who else may own those.
        try await kinship.takeNumbers(of: streams)
        try await kinship.followPeople()
        try await kinship.takeLines()
        try await kinship.followPeople()
        return kinship.grouped()
    }

    private init(pool: ConnectionPool, last: Position) {
        self.pool = pool
        self.last = last
    }

    /// Everybody that the entries of streams name.
    private mutating func takeNumbers(of wanted: Set<StreamID>) async throws(LedgerError) {
        let new = wanted.subtracting(streams).sorted()
        guard !new.isEmpty else { return }
        streams.formUnion(new)
        for stream in new {
            if let number = stream.person { note(stream, number) }
        }
        let rows = try await pool.read(
            """
            select distinct entry.stream, entry.subject \
            from unnest($1::int4[], $2::text[]) as wanted (bucket, stream) \
            join ledger.entry on entry.bucket = wanted.bucket::smallint \
            and entry.stream = wanted.stream and entry.position <= $3 \
            where entry.subject is not null
            """,
            [.int4s(new.map(Bucket.of)), .texts(new.map(\.name)), .int8(last.number)])
        try take(rows)
    }

    /// Whoever is linked to, or merged with, somebody known.
    private mutating func followPeople() async throws(LedgerError) {
        var asked: Set<CustomerNumber> = []
        for _ in 0..<Kinship.depth where asked != numbers {
            let new = numbers.subtracting(asked).sorted()
            asked = numbers
            var found: Set<StreamID> = []
            for row in try await named(new, likes: ["token/%", "customer/%"]) {
                found.insert(row.stream)
            }
            for number in new { found.formUnion([.token(number), .customer(number)]) }
            try await takeNumbers(of: found)
        }
    }

    /// The lines that somebody known may own, and who else may.
    private mutating func takeLines() async throws(LedgerError) {
        let found = try await named(numbers.sorted(), likes: ["apple/%"])
        try await takeNumbers(of: Set(found.map(\.stream).filter { $0.line != nil }))
    }

    private func named(_ numbers: [CustomerNumber], likes: [String]) async throws(LedgerError)
        -> [(stream: StreamID, number: CustomerNumber)]
    {
        guard !numbers.isEmpty else { return [] }
        let rows = try await pool.read(
            """
            select distinct stream, subject from ledger.entry \
            where subject = any($1) and position <= $2 and stream like any ($3)
            """,
            [.int8s(numbers.map(\.number)), .int8(last.number), .texts(likes)])
        return try Kinship.pairs(rows)
    }

    private mutating func take(_ rows: Rows) throws(LedgerError) {
        for pair in try Kinship.pairs(rows) { note(pair.stream, pair.number) }
    }

    private mutating func note(_ stream: StreamID, _ number: CustomerNumber) {
        names.append((stream, number))
        numbers.insert(number)
    }

    private static func pairs(_ rows: Rows) throws(LedgerError)
        -> [(stream: StreamID, number: CustomerNumber)]
    {
        do throws(PostgresError) {
            var pairs: [(StreamID, CustomerNumber)] = []
            for row in rows {
                pairs.append((StreamID(name: try row.text(0)), CustomerNumber(try row.int8(1))))
            }
            return pairs
        } catch {
            throw .database(error)
        }
    }

    /// The streams in groups: those that name, directly or through others, the same numbers.
    private func grouped() -> [[StreamID]] {
        var leader: [StreamID: StreamID] = [:]
        func find(_ stream: StreamID) -> StreamID {
            var current = stream
            while let next = leader[current] { current = next }
            if current != stream { leader[stream] = current }
            return current
        }
        var first: [CustomerNumber: StreamID] = [:]
        for (stream, number) in names {
            let (left, right) = (find(stream), find(first[number, default: stream]))
            first[number] = right
            if left != right { leader[left] = right }
        }
        return Dictionary(grouping: streams.sorted(), by: find).values.map(Array.init)
    }
}

extension StreamID {
    /// The customer or token whose stream it is.
    var person: CustomerNumber? {
        if let customer { return customer }
        guard name.hasPrefix("token/") else { return nil }
        return Int64(name.dropFirst("token/".count)).map(CustomerNumber.init)
    }
}
