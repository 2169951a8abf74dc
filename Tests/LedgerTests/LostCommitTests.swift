import Domain
import EventLoop
import Ledger
import Postgres
import TestSupport
import Testing

@Suite("An append whose session is lost")
struct LostCommitTests {
    private func withProxy(
        _ body: (TestLedger, Proxy, Writer) async throws -> Void
    ) async throws {
        try await withLedger { ledger in
            let folder = try #require(
                ledger.address.split(separator: "'").dropFirst().first.map(String.init))
            let proxy = try Proxy(to: folder)
            defer { proxy.close() }
            var limits = Writer.Limits()
            limits.patience = .seconds(300)
            // Who commits, or waits for it, goes on until the test is ready, however slow the machine
            // is, also when its client has gone.
            let writer = ledger.writer(
                limits: limits, address: ledger.address + " host=\(proxy.folder)",
                options: [
                    "set client_connection_check_interval = 0", "set lock_timeout = 0",
                    "set statement_timeout = 0",
                ], within: limits.patience)
            try await body(ledger, proxy, writer)
            await writer.close()
        }
    }

    private func expectExactly(_ count: Int, in ledger: TestLedger, _ answers: [Appended])
        async throws
    {
        let entries = try await ledger.entries()
        #expect(entries.map(\.position.number) == Array(1...Int64(count)))
        #expect(Set(entries.map(\.event.key)).count == count)
        #expect(answers.map(\.position.number).sorted() == Array(1...Int64(count)))
        #expect(try await ChainVerifier(ledger.pool).verify().faults == [])
    }

    @Test("is on the record exactly once, wherever the line was cut")
    func everywhere() async throws {
        try await withProxy { ledger, proxy, writer in
            var answers = [try await writer.append(Purchase(line: "a", number: 0).proposal)]
            answers.append(try await writer.append(Purchase(line: "a", number: 1).proposal))
            _ = proxy.takePassed()
            answers.append(try await writer.append(Purchase(line: "a", number: 2).proposal))
            let usual = proxy.takePassed()
            #expect(usual.toServer > 500 && usual.toClient > 50)
            var number = 3
            for (direction, bytes) in [
                (Proxy.Direction.toServer, usual.toServer), (.toClient, usual.toClient),
            ] {
                for part in 0..<24 {
                    proxy.cut(direction, after: bytes * part / 24)
                    answers.append(
                        try await writer.append(Purchase(line: "a", number: number).proposal))
                    #expect(answers.last?.count == 1)
                    number += 1
                }
            }
            #expect(proxy.cuts == 48)
            try await expectExactly(number, in: ledger, answers)
        }
    }

    @Test("is answered with its own batch, which was still being committed on the lost session")
    func slowCommit() async throws {
        try await withProxy { ledger, proxy, writer in
            try await slowDownCommits(ledger)
            try await ledger.superuser.query("select pg_advisory_lock(1)")
            async let answer = writer.append(Purchase(line: "a").proposal)
            try await expectSoon(ledger.loop) { try await waiting(ledger, "Lock", "advisory") == 1 }
            // The server goes on committing; only the client is told nothing.
            proxy.refuse(true)
            try await expectSoon(ledger.loop) { proxy.refused > 0 }
            proxy.refuse(false)
            try await expectSoon(ledger.loop) {
                try await waiting(ledger, "Lock", "transactionid") == 1
            }
            try await ledger.superuser.query("select pg_advisory_unlock(1)")
            let appended = try await answer
            #expect(appended.count == 1)
            try await expectExactly(1, in: ledger, [appended])
            #expect(try await ledger.number("select count(*) from operation.redelivery") == 0)
        }
    }

    @Test("is sent again when its session was ended in the middle of the commit")
    func endedCommit() async throws {
        try await withProxy { ledger, proxy, writer in
            try await slowDownCommits(ledger)
            try await ledger.superuser.query("select pg_advisory_lock(1)")
            async let answer = writer.append(Purchase(line: "a").proposal)
            try await expectSoon(ledger.loop) { try await waiting(ledger, "Lock", "advisory") == 1 }
            try await endSessions(ledger)
            try await ledger.superuser.query("select pg_advisory_unlock(1)")
            let appended = try await answer
            #expect(appended.count == 1)
            try await expectExactly(1, in: ledger, [appended])
        }
    }

    @Test("is on the record exactly once, though sessions are ended again and again")
    func endedSessions() async throws {
        try await withProxy { ledger, _, writer in
            let answers = try await withThrowingTaskGroup(of: Appended?.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        try await ledger.loop.sleep(for: .milliseconds(number))
                        return try await writer.append(
                            Purchase(line: "\(number % 9)", number: number).proposal)
                    }
                }
                group.addTask {
                    for _ in 0..<40 {
                        try await endSessions(ledger)
                        try await ledger.loop.sleep(for: .milliseconds(8))
                    }
                    return nil
                }
                return try await group.reduce(into: [Appended]()) {
                    if let one = $1 { $0.append(one) }
                }
            }
            try await expectExactly(300, in: ledger, answers)
        }
    }

    @Test("fails as unavailable while PostgreSQL is away, and succeeds once it is back")
    func away() async throws {
        try await withProxy { ledger, proxy, _ in
            var limits = Writer.Limits()
            limits.patience = .milliseconds(200)
            let writer = ledger.writer(
                limits: limits, address: ledger.address + " host=\(proxy.folder)")
            _ = try await writer.append(Purchase(line: "a").proposal)
            #expect(await writer.canStore())
            proxy.refuse(true)
            for _ in 0..<2 {
                let error = await failure { () throws(AppendError) in
                    try await writer.append(Purchase(line: "b").proposal)
                }
                #expect(error?.code == "SL003")
            }
            #expect(await !writer.canStore())
            proxy.refuse(false)
            #expect(try await writer.append(Purchase(line: "b").proposal).position == Position(2))
            #expect(await writer.canStore())
            await writer.close()
        }
    }

    @Test("waits for PostgreSQL as long as its patience lasts")
    func patience() async throws {
        try await withProxy { ledger, proxy, writer in
            proxy.refuse(true)
            async let answer = writer.append(Purchase(line: "a").proposal)
            try await expectSoon(ledger.loop) { proxy.refused >= 3 }
            proxy.refuse(false)
            #expect(try await answer.position == Position(1))
        }
    }

    /// Makes every commit wait for the advisory lock 1.
    private func slowDownCommits(_ ledger: TestLedger) async throws {
        try await ledger.superuser.execute(
            script: """
                create function public.wait() returns trigger language plpgsql as $$
                begin perform pg_advisory_xact_lock_shared(1); return null; end $$;
                create constraint trigger wait after insert on ledger.batch
                    deferrable initially deferred for each row execute function public.wait()
                """)
    }

    /// Number of writers' sessions that wait for something.
    private func waiting(_ ledger: TestLedger, _ type: String, _ event: String) async throws
        -> Int64
    {
        try await ledger.number(
            """
            select count(*) from pg_stat_activity where datname = current_database() \
            and application_name = 'writer' and wait_event_type = $1 and wait_event = $2
            """, [.text(type), .text(event)])
    }

    private func endSessions(_ ledger: TestLedger) async throws {
        try await ledger.superuser.query(
            """
            select pg_terminate_backend(pid) from pg_stat_activity \
            where datname = current_database() and application_name = 'writer'
            """)
    }
}
