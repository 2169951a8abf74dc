import Domain
import Ledger
import Postgres

/// Knows what was recorded lately, so that what is remembered can be answered again.
///
/// Whoever asks hears of every entry that was recorded before the question: all who ask while one
/// reading runs share the next one.
actor Recency {
    /// What an answer was computed from: it stands until one of these is named by a new entry.
    struct Concerns: Sendable {
        let streams: [StreamID]
        let numbers: [CustomerNumber]

        init(streams: Set<StreamID>, numbers: Set<CustomerNumber>) {
            self.streams =
                Array(streams) + numbers.map(StreamID.token) + numbers.map(StreamID.customer)
            self.numbers = Array(numbers)
        }
    }

    private let pool: ConnectionPool
    private var waiting: [CheckedContinuation<Result<Position, LedgerError>, Never>] = []
    private var isReading = false
    /// Everything up to here was read.
    private var level: Position?
    /// Nothing is known of what happened before.
    private var floor = Position.start
    private var streams: [StreamID: Position] = [:]
    private var numbers: [CustomerNumber: Position] = [:]

    private static let pageSize = 1_000
    private static let limit = 50_000

    /// The loop on which the pool lives.
    nonisolated var unownedExecutor: UnownedSerialExecutor { pool.unownedExecutor }

    init(_ pool: ConnectionPool) { self.pool = pool }

    /// The head, when nothing that concerns an answer was recorded after a position; else `nil`.
    func head(ifUnchanged concerns: Concerns, since position: Position)
        async throws(LedgerError) -> Position?
    {
        let answer = await withCheckedContinuation { continuation in
            waiting.append(continuation)
            if !isReading {
                isReading = true
                Task { await self.read() }
            }
        }
        let head = try answer.get()
        guard floor <= position else { return nil }
        for stream in concerns.streams {
            if let last = streams[stream], last > position { return nil }
        }
        for number in concerns.numbers {
            if let last = numbers[number], last > position { return nil }
        }
        return max(head, position)
    }

    private func read() async {
        while !waiting.isEmpty {
            let group = waiting
            waiting = []
            let answer: Result<Position, LedgerError>
            do throws(PostgresError) {
                answer = .success(try await follow())
            } catch {
                answer = .failure(.database(error))
            }
            for continuation in group { continuation.resume(returning: answer) }
        }
        isReading = false
    }

    /// Reads what follows; far behind, it forgets instead.
    private func follow() async throws(PostgresError) -> Position {
        guard var last = level, streams.count + numbers.count < Recency.limit else {
            return try await begin()
        }
        let rows = try await pool.query(
            """
            select position, stream, subject from ledger.entry where position > $1 \
            order by position limit \(Recency.pageSize)
            """, [.int8(last.number)])
        guard rows.count < Recency.pageSize else { return try await begin() }
        for row in rows {
            last = Position(try row.int8(0))
            note(StreamID(name: try row.text(1)), at: last)
            if let subject = try row.int8IfAny(2) { numbers[CustomerNumber(subject)] = last }
        }
        level = last
        return last
    }

    private func note(_ stream: StreamID, at position: Position) {
        let isOfSome = ["apple/", "token/", "customer/", "rates/"]
            .contains(where: stream.name.hasPrefix)
        if isOfSome {
            streams[stream] = position
        } else {
            floor = position  // settings concern everybody
        }
    }

    private func begin() async throws(PostgresError) -> Position {
        let rows = try await pool.query(
            "select last_position from ledger.batch order by number desc limit 1")
        let head = Position(try rows.first?.int8(0) ?? 0)
        (level, floor, streams, numbers) = (head, head, [:], [:])
        return head
    }
}
