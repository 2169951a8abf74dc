import Domain
import Foundation
import Ledger
import Postgres
import Projecting
import Testing

/// A client that follows by LISTEN alone, each time with a session of its own.
private struct Listening {
    let address: String

    init(_ address: String) throws { self.address = address }

    /// Whether it hears something when a statement ran after it began to listen.
    func hears(after statement: String) throws -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/psql")
        process.arguments = ["-X", address, "-c", "listen news", "-c", statement, "-c", "select 1"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableNotLoadable) }
        return String(decoding: said, as: UTF8.self).contains("Asynchronous notification")
    }
}

/// What readers of event stores on PostgreSQL fall into, each beside a simpler way that does.
@Suite("Following the record")
struct PitfallTests {
    private func withTally(_ body: (TestLedger, Writer) async throws -> Void) async throws {
        try await withLedger { ledger in
            try await ledger.superuser.execute(script: Tally.table)
            let writer = ledger.writer()
            try await body(ledger, writer)
            await writer.close()
        }
    }

    /// The live rows' sum and the checkpoint, of one snapshot.
    private func live(_ ledger: TestLedger) async throws -> (total: Int64, checkpoint: Int64) {
        let row = try await ledger.superuser.query(
            """
            select (select coalesce(sum(total), 0)::bigint from projection.tally \
            where tally.generation = generation.generation), checkpoint \
            from projection.generation where projection = 'tally' and is_live
            """
        ).first
        return (try row?.int8(0) ?? 0, try row?.int8(1) ?? 0)
    }

    private func expectLevel(_ ledger: TestLedger, at position: Int64) async throws {
        try await expectSoon(ledger.loop) { try await live(ledger) == (position, position) }
    }

    @Test("by a sequence loses what commits after a later number, and leaves holes")
    func sequences() async throws {
        try await withLedger { ledger in
            try await ledger.superuser.execute(
                script: "create table numbered (number bigserial primary key)")
            let slow = try await BlockingConnection.open(ledger.address)
            let insert = "insert into numbered default values"
            try await slow.query("begin")
            try await slow.query(insert)
            try await ledger.superuser.query(insert)
            let cursor = try await ledger.number("select max(number) from numbered")
            try await slow.query("commit")
            let seen = try await ledger.number(
                "select count(*) from numbered where number > $1", [.int8(cursor)])
            #expect(cursor == 2 && seen == 0, "the control does not show what is to be shown")
            try await slow.query("begin")
            try await slow.query(insert)
            try await slow.query("rollback")
            try await ledger.superuser.query(insert)
            #expect(try await ledger.number("select max(number) - count(*) from numbered") == 1)
            await slow.close()
        }
    }

    @Test("by positions waits for whoever holds the pen, and a rollback leaves no hole")
    func pen() async throws {
        try await withTally { ledger, writer in
            try await appendPurchases(20, lines: 5, to: writer)
            try await ledger.following(Tally()) {
                try await expectLevel(ledger, at: 20)
                let slow = try await BlockingConnection.open(ledger.address)
                try await slow.query("begin")
                try await slow.query(
                    """
                    insert into ledger.batch select number + 1, number, last_position, \
                    last_position + 1, last_position + 1, recorded_at + 1, digest, root, frontier \
                    from ledger.batch order by number desc limit 1
                    """)
                async let appended: Void = appendPurchases(20, from: 20, lines: 5, to: writer)
                // Somebody waits for the pen by now, and nobody sees anything beyond it.
                try await expectSoon(ledger.loop) {
                    try await ledger.number(
                        "select count(*) from pg_locks where not granted") > 0
                }
                #expect(try await live(ledger) == (20, 20))
                try await slow.query("rollback")
                try await appended
                try await expectLevel(ledger, at: 40)
                await slow.close()
            }
            let entries = try await ledger.entries()
            #expect(entries.map(\.position.number) == Array(1...40))
        }
    }

    @Test("goes on while a stranger's transaction stays open, where a horizon would stand still")
    func strangers() async throws {
        try await withTally { ledger, writer in
            let stranger = try await BlockingConnection.open(ledger.address)
            try await stranger.execute(script: "create table theirs (number int)")
            try await stranger.query("begin")
            try await stranger.query("insert into theirs values (1)")
            let held = try await stranger.query(
                "select pg_current_xact_id()::text::bigint"
            ).only().int8(0)
            try await ledger.following(Tally()) {
                try await appendPurchases(40, lines: 5, to: writer)
                try await expectLevel(ledger, at: 40)
            }
            let horizon = try await ledger.number(
                "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
            #expect(horizon <= held, "the control does not show what is to be shown")
            try await stranger.query("rollback")
            await stranger.close()
        }
    }

    @Test("keeps rows and checkpoint in step, though its sessions are ended again and again")
    func crashes() async throws {
        try await withTally { ledger, writer in
            try await ledger.following(Tally()) {
                for round in 0..<20 {
                    async let appended: Void = appendPurchases(
                        20, from: round * 20, lines: 5, to: writer)
                    _ = try await ledger.superuser.query(
                        """
                        select pg_terminate_backend(pid) from pg_stat_activity \
                        where datname = current_database() and pid <> pg_backend_pid() \
                        and query like '%projection.%'
                        """)
                    let found = try await live(ledger)
                    #expect(found.total == found.checkpoint)
                    try await appended
                }
                try await expectLevel(ledger, at: 400)
            }
        }
    }

    @Test("is taken over within seconds when its keeper is gone, and needs no waking")
    func takeover() async throws {
        try await withTally { ledger, writer in
            try await appendPurchases(10, lines: 5, to: writer)
            try await ledger.following(Tally()) { try await expectLevel(ledger, at: 10) }
            // As a process leaves it that was killed.
            try await ledger.superuser.execute(
                script: "insert into projection.keeper values ('tally', 'killed')")
            try await appendPurchases(10, from: 10, lines: 5, to: writer)
            try await ledger.following(Tally()) { try await expectLevel(ledger, at: 20) }
            #expect(try await ledger.number("select count(*) from projection.keeper") == 0)
        }
    }

    @Test("needs nobody to say that there is news, which a listener's new session never hears")
    func listeners() async throws {
        try await withTally { ledger, writer in
            let listen = try Listening(ledger.address)
            #expect(try listen.hears(after: "notify news"), "the control cannot listen at all")
            // What is said between the end of its session and its next one is lost.
            try await ledger.superuser.execute(script: "notify news")
            #expect(try !listen.hears(after: "select 1"), "the control keeps what it missed")
            try await ledger.following(Tally()) {
                try await appendPurchases(20, lines: 5, to: writer)
                try await expectLevel(ledger, at: 20)
                // Its sessions are ended while it rests, and nothing is appended after that.
                _ = try await ledger.superuser.query(
                    """
                    select pg_terminate_backend(pid) from pg_stat_activity \
                    where datname = current_database() and pid <> pg_backend_pid()
                    """)
                try await appendPurchases(5, from: 20, lines: 5, to: writer)
                try await expectLevel(ledger, at: 25)
            }
        }
    }

    @Test("does not ask the database what time it is: positions order what clocks confuse")
    func clocks() async throws {
        try await withTally { ledger, _ in
            let clock = TestClock(base)
            let writer = ledger.writer(clock: clock)
            try await ledger.following(Tally()) {
                for round in 0..<5 {
                    clock.set(base.adding(milliseconds: Int64(-1_000 * round)))
                    try await appendPurchases(10, from: round * 10, lines: 5, to: writer)
                }
                try await expectLevel(ledger, at: 50)
            }
            await writer.close()
            let recorded = try await ledger.entries().map(\.recordedAt)
            #expect(recorded == recorded.sorted())
        }
    }

    @Test("leaves a rebuild's rows out when the process ends between them and their mark")
    func halfRange() async throws {
        try await withTally { ledger, writer in
            try await appendPurchases(100, lines: 40, to: writer)
            try await ledger.following(Tally()) {
                try await expectLevel(ledger, at: 100)
                let rebuild = ledger.rebuild(
                    Tally(), workers: 1, rangeBuckets: 64,
                    onProgress: { done in
                        if done > 20 { withUnsafeCurrentTask { $0?.cancel() } }
                    })
                await #expect(throws: ProjectingError.overtaken) { _ = try await rebuild.replace() }
                let marked = try await ledger.number(
                    "select sum(entries)::bigint from projection.build_range")
                let held = try await ledger.number(
                    "select sum(total)::bigint from projection.tally where generation = 2")
                #expect(marked == held && marked > 20 && marked < 100)
                #expect(try await live(ledger) == (100, 100))
            }
        }
    }
}
