import Diagnostics
import Domain
import EventLoop
import Ledger
import Postgres
import Projecting
import Testing

/// Counts the entries of each stream in a table of the test's.
private struct Tally: Projection {
    let name = "tally"
    var edition: Int64 = 1
    /// What an edition makes of an entry.
    var weight: Int64 = 1

    func changes(by entries: [Entry], generation: Int64, reader: LedgerReader)
        async throws(LedgerError) -> [Statement]
    {
        entries.map { entry in
            Statement(
                """
                insert into projection.tally as known values ($1, $2, $3) \
                on conflict (generation, stream) do update set total = known.total + excluded.total
                """, [.int8(generation), .text(entry.event.stream.name), .int8(weight)])
        }
    }

    func removal(ofGeneration generation: Int64) -> [Statement] {
        [Statement("delete from projection.tally where generation = $1", [.int8(generation)])]
    }
}

@Suite("A projector")
struct ProjectorTests {
    private func withTally(_ body: (TestLedger, Writer) async throws -> Void) async throws {
        try await withLedger { ledger in
            try await ledger.superuser.execute(
                script: """
                    create table projection.tally (generation bigint, stream text, total bigint,
                        primary key (generation, stream));
                    grant all on projection.tally to subledger_daemon
                    """)
            let writer = ledger.writer()
            try await body(ledger, writer)
            await writer.close()
        }
    }

    private func projector(_ ledger: TestLedger, _ tally: Tally = Tally()) -> Projector {
        let registry = MetricRegistry()
        return Projector(
            tally, reader: ledger.reader, pool: ledger.pool, on: ledger.loop,
            lag: registry.gauge("lag", help: "lag"), clock: { base })
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
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in first..<first + count {
                group.addTask {
                    _ = try await writer.append(
                        Purchase(line: "\(number % 7)", number: number).proposal)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("follows the record, its rows and its checkpoint in step")
    func follows() async throws {
        try await withTally { ledger, writer in
            let projector = projector(ledger)
            let task = Task { await projector.run() }
            for round in 0..<5 {
                try await append(40, from: round * 40, to: writer)
                await projector.wake()
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
                for projector in projectors { await projector.wake() }
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

    @Test("rebuilds another edition beside the live one, and a reader never misses one")
    func editions() async throws {
        try await withTally { ledger, writer in
            try await append(300, to: writer)
            let old = projector(ledger)
            let first = Task { await old.run() }
            try await expectSoon(ledger.loop) { try await live(ledger)?.checkpoint == 300 }
            first.cancel()
            await first.value
            let new = projector(ledger, Tally(edition: 2, weight: 10))
            let second = Task { await new.run() }
            try await expectSoon(ledger.loop) {
                let live = try #require(try await live(ledger))
                #expect(live.checkpoint == 300)
                #expect(live.total == (live.edition == 1 ? 300 : 3_000))
                return live.edition == 2
            }
            second.cancel()
            await second.value
            #expect(try await ledger.number("select count(*) from projection.generation") == 1)
            #expect(
                try await ledger.number("select count(distinct generation) from projection.tally")
                    == 1)
        }
    }

    @Test("leaves a projection to a newer program that has taken it over")
    func older() async throws {
        try await withTally { ledger, writer in
            try await append(10, to: writer)
            let new = projector(ledger, Tally(edition: 2, weight: 10))
            let old = projector(ledger)
            let tasks = [new, old].map { projector in Task { await projector.run() } }
            try await expectSoon(ledger.loop) {
                let live = try await live(ledger)
                return live?.edition == 2 && live?.checkpoint == 10
            }
            try await append(10, from: 10, to: writer)
            for projector in [old, new] { await projector.wake() }
            try await expectSoon(ledger.loop) { try await live(ledger)?.checkpoint == 20 }
            for task in tasks {
                task.cancel()
                await task.value
            }
            #expect(try await live(ledger)?.total == 200)
        }
    }
}
