import Domain
import EventLoop
import Ledger
import Postgres
import Projecting
import Testing

/// Counts the entries of each stream in a table of the test's.
struct Tally: Projection {
    static let totals = ProjectionTable("tally", key: ["stream": .text], ["total": .int8])

    let name = "tally"
    var edition: Int64 = 1
    /// What an edition makes of an entry.
    var weight: Int64 = 1
    let tables = [Tally.totals]

    func fold(of stream: StreamID) -> (any StreamFold)? { Fold(stream: stream, weight: weight) }

    private struct Fold: StreamFold {
        static let needsHistory = true

        let stream: StreamID
        let weight: Int64
        var total: Int64 = 0
        var haltedAt: Position?

        mutating func apply(_ entry: Entry) {
            if case .unreadable(let place) = entry.event.content { haltedAt = haltedAt ?? place }
            if haltedAt == nil { total += weight }
        }

        func addRows(since position: Position, to rows: inout ProjectedRows) {
            rows.add(to: Tally.totals, [.text(stream.name), .int8(total)])
        }
    }

    static let table = """
        create table projection.tally (generation bigint, stream text, total bigint,
            primary key (generation, stream));
        grant all on projection.tally to subledger_daemon
        """
}

@Suite("A projector")
struct ProjectorTests {
    private func withTally(_ body: (TestLedger, Writer) async throws -> Void) async throws {
        try await withLedger { ledger in
            try await ledger.superuser.execute(script: Tally.table)
            let writer = ledger.writer()
            try await body(ledger, writer)
            await writer.close()
        }
    }

    private func projector(_ ledger: TestLedger, _ tally: Tally = Tally()) -> Projector {
        ledger.projector(tally)
    }

    /// What a reader sees: the live generation's checkpoint, edition and sum, of one snapshot.
    private func live(_ ledger: TestLedger) async throws
        -> (checkpoint: Int64, edition: Int64, total: Int64)?
    {
        let rows = try await ledger.pool.query(
            """
            select checkpoint, edition, (select coalesce(sum(total), 0)::bigint \
            from projection.tally where tally.generation = generation.generation) \
            from projection.generation where projection = 'tally' and is_live
            """)
        guard let row = rows.first else { return nil }
        _ = try rows.only()
        return (try row.int8(0), try row.int8(1), try row.int8(2))
    }

    private func append(_ count: Int, from first: Int = 0, to writer: Writer) async throws {
        try await appendPurchases(count, from: first, lines: 7, to: writer)
    }

    @Test("follows the record, its rows and its checkpoint in step")
    func follows() async throws {
        try await withTally { ledger, writer in
            let projector = projector(ledger)
            let task = Task { await projector.run() }
            for round in 0..<5 {
                try await append(40, from: round * 40, to: writer)
                projector.wake()
                let goal = Int64(round + 1) * 40
                try await expectSoon(ledger.loop) {
                    guard let live = try await live(ledger) else { return false }
                    #expect(live.total == live.checkpoint)
                    return live.checkpoint == goal
                }
            }
            task.cancel()
            await task.value
        }
    }

    @Test("steps back when another moved the checkpoint, so that every entry counts once")
    func two() async throws {
        try await withTally { ledger, writer in
            let projectors = [projector(ledger), projector(ledger)]
            let tasks = projectors.map { projector in Task { await projector.run() } }
            for round in 0..<8 {
                try await append(50, from: round * 50, to: writer)
                for projector in projectors { projector.wake() }
            }
            try await expectSoon(ledger.loop) { try await live(ledger)?.checkpoint == 400 }
            for task in tasks {
                task.cancel()
                await task.value
            }
            #expect(try await live(ledger)?.total == 400)
            #expect(try await ledger.number("select count(*) from projection.generation") == 1)
        }
    }

    @Test("leaves a projection to a newer program that has taken it over")
    func older() async throws {
        try await withTally { ledger, writer in
            try await append(10, to: writer)
            let new = projector(ledger, Tally(edition: 2, weight: 10))
            let first = Task { await new.run() }
            try await expectSoon(ledger.loop) { try await live(ledger)?.checkpoint == 10 }
            let old = projector(ledger)
            let tasks = [first, Task { await old.run() }]
            try await append(10, from: 10, to: writer)
            for projector in [old, new] { projector.wake() }
            try await expectSoon(ledger.loop) { try await live(ledger)?.checkpoint == 20 }
            for task in tasks {
                task.cancel()
                await task.value
            }
            #expect(try await live(ledger)?.total == 200)
        }
    }
}
