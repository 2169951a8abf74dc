import Domain
import Ledger
import Postgres
import Synchronization
import Testing

@Suite("A writer")
struct WriterTests {
    @Test("gives positions without gaps, and revisions of their own to each stream")
    func places() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let lines = ["a", "b", "a", "a", "b", "c"]
            for (number, line) in lines.enumerated() {
                let appended = try await writer.append(
                    Purchase(line: line, number: number + 1).proposal)
                #expect(appended.position == Position(Int64(number + 1)))
                #expect(appended.count == 1)
            }
            await writer.close()
            let entries = try await ledger.entries()
            #expect(entries.map(\.position.number) == [1, 2, 3, 4, 5, 6])
            #expect(entries.map(\.revision) == [1, 1, 2, 3, 2, 1])
            #expect(entries.map(\.event.stream) == lines.map { .line(.production, $0) })
        }
    }

    @Test("answers hundreds at once, many in one batch, each with its own position")
    func groups() async throws {
        try await withLedger { ledger in
            let told = Mutex<[Position]>([])
            let writer = ledger.writer(onAppend: { _, entries in
                told.withLock { $0 += entries.map(\.position) }
            })
            let positions = try await withThrowingTaskGroup(of: (String, Position).self) { group in
                for number in 0..<600 {
                    group.addTask {
                        let purchase = Purchase(line: "\(number % 50)", number: number)
                        return (
                            purchase.key, try await writer.append(purchase.proposal).position
                        )
                    }
                }
                return try await group.reduce(into: [String: Position]()) { $0[$1.0] = $1.1 }
            }
            await writer.close()
            let entries = try await ledger.entries()
            #expect(entries.map(\.position.number) == Array(1...600))
            #expect(
                Dictionary(uniqueKeysWithValues: entries.map { ($0.event.key, $0.position) })
                    == positions)
            #expect(told.withLock { $0 } == entries.map(\.position))
            for stream in Dictionary(grouping: entries, by: \.event.stream).values {
                #expect(stream.map(\.revision) == Array(1...Int64(stream.count)))
            }
            #expect(try await ledger.number("select count(*) from ledger.batch") < 100)
        }
    }

    @Test("appends nothing for a repeat, counts it and says where the record holds it")
    func repeats() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let purchase = Purchase(line: "a")
            let first = try await writer.append(purchase.proposal)
            _ = try await writer.append(Purchase(line: "b").proposal)
            for _ in 0..<3 {
                let again = try await writer.append(purchase.proposal)
                #expect(again.position == first.position)
                #expect(again.count == 0)
            }
            await writer.close()
            // A writer that remembers nothing says the same.
            let other = ledger.writer()
            #expect(try await other.append(purchase.proposal).position == first.position)
            await other.close()
            #expect(try await ledger.entries().count == 2)
            let copies = try await ledger.superuser.query(
                "select copies, stream, event_key from operation.redelivery")
            #expect(try copies.only().int8(0) == 4)
            #expect(try copies.only().text(1) == purchase.stream.name)
            #expect(try copies.only().text(2) == purchase.key)
        }
    }

    @Test("appends a statement once when its copies arrive in one group")
    func repeatsInOneGroup() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let answers = try await withThrowingTaskGroup(of: Appended.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        try await writer.append(Purchase(line: "\(number % 4)").proposal)
                    }
                }
                return try await group.reduce(into: [Appended]()) { $0.append($1) }
            }
            await writer.close()
            #expect(answers.map(\.count).reduce(0, +) == 4)
            let entries = try await ledger.entries()
            #expect(entries.count == 4)
            #expect(Set(answers.map(\.position)) == Set(entries.map(\.position)))
            #expect(
                try await ledger.number("select sum(copies)::bigint from operation.redelivery")
                    == 196)
        }
    }

    @Test("records at ever later instants, even when the clock stands still or goes back")
    func clock() async throws {
        try await withLedger { ledger in
            let clock = TestClock(base)
            let writer = ledger.writer(clock: clock)
            _ = try await writer.append(Purchase(line: "a").proposal)
            _ = try await writer.append(Purchase(line: "b").proposal)
            clock.set(base.adding(days: -1))
            _ = try await writer.append(Purchase(line: "c").proposal)
            clock.set(base.adding(milliseconds: 900))
            _ = try await writer.append(Purchase(line: "d").proposal)
            await writer.close()
            let entries = try await ledger.entries()
            #expect(
                entries.map { $0.recordedAt.milliseconds - base.milliseconds } == [0, 1, 2, 900])
        }
    }

    @Test("refuses while the clock is more than five seconds ahead of PostgreSQL's")
    func clockAhead() async throws {
        try await withLedger { ledger in
            let now = try await ledger.number(
                "select (extract(epoch from clock_timestamp()) * 1000)::bigint")
            let clock = TestClock(Instant(milliseconds: now + 60_000))
            let writer = ledger.writer(clock: clock)
            guard
                case .clockAhead(let lead) = await failure(of: { () throws(AppendError) in
                    try await writer.append(Purchase(line: "a").proposal)
                })
            else {
                Issue.record("a clock far ahead was not refused")
                return
            }
            #expect((1...60_000).contains(lead))
            clock.set(Instant(milliseconds: now - 1_000))
            _ = try await writer.append(Purchase(line: "a").proposal)
            // A leap between two appends is seen as well.
            clock.set(Instant(milliseconds: now + 600_000))
            let error = await failure { () throws(AppendError) in
                try await writer.append(Purchase(line: "b").proposal)
            }
            #expect(error?.code == "SL004")
            await writer.close()
            #expect(try await ledger.entries().count == 1)
        }
    }

    @Test("refuses more than may wait, and answers those that do")
    func overloaded() async throws {
        try await withLedger { ledger in
            var limits = Writer.Limits()
            limits.waiting = 3
            let writer = ledger.writer(limits: limits)
            try await ledger.superuser.execute(script: "begin; lock table ledger.batch")
            let codes = await withTaskGroup(of: String.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let error = await failure { () throws(AppendError) in
                            try await writer.append(Purchase(line: "\(number)").proposal)
                        }
                        return error?.code ?? "stored"
                    }
                }
                // One group of three at most is stuck behind the lock, and three more wait: all
                // others hear at once, before the lock goes.
                var codes: [String] = []
                for await code in group {
                    codes.append(code)
                    if codes.count == 14 { try? await ledger.superuser.execute(script: "commit") }
                }
                return codes
            }
            #expect(codes.prefix(14) == Array(repeating: "SL001", count: 14)[...])
            let stored = codes.filter { $0 == "stored" }.count
            #expect(stored == codes.filter { $0 != "SL001" }.count && stored >= 3, "\(codes)")
            await writer.close()
            #expect(try await ledger.entries().count == stored)
        }
    }

    @Test("refuses once it closes, and answers what it had accepted")
    func closing() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let error = await failure { () throws(AppendError) in
                            try await writer.append(Purchase(line: "\(number)").proposal)
                        }
                        #expect(error == nil || error == .closing)
                        return error == nil ? 1 : 0
                    }
                }
                group.addTask {
                    await writer.close()
                    return 0
                }
                return try await group.reduce(0, +)
            }
            #expect(try await ledger.entries().count == accepted)
            let late = await failure { () throws(AppendError) in
                try await writer.append(Purchase(line: "late").proposal)
            }
            #expect(late == .closing)
            #expect(await writer.canStore() == false)
        }
    }

    @Test("does not let one item that cannot be stored fail its neighbours")
    func neighbours() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let bad = [
                Command.append([Command.note(in: .line(.production, "x"), key: "nul\0")]),
                Command.append([Command.note(in: .line(.production, "nul\0"), key: "k")]),
                // Longer than an index takes, even compressed.
                Command.append([
                    Command.note(
                        in: .line(.production, "y"),
                        key: (0..<2_000).map { "\($0 * 7_919 % 9_973)" }.joined())
                ]),
                // One key twice in a stream: the decision of a careless proposal.
                Command.append([
                    Command.note(in: .line(.production, "z"), key: "k"),
                    Command.note(in: .line(.production, "z"), key: "k"),
                ]),
                // A stream that it did not ask for, and that has entries.
                Proposal(
                    streams: { _ in [] },
                    decide: { _ in
                        .append([Command.note(in: Purchase(line: "old").stream, key: "k")])
                    }),
            ]
            _ = try await writer.append(Purchase(line: "old").proposal)
            let (good, failed) = await withTaskGroup(of: (Bool, AppendError?).self) { group in
                for number in 0..<100 {
                    let isBad = number % 20 == 7
                    let proposal =
                        isBad ? bad[number / 20] : Purchase(line: "\(number)").proposal
                    group.addTask {
                        (
                            isBad,
                            await failure { () throws(AppendError) in
                                try await writer.append(proposal)
                            }
                        )
                    }
                }
                var good: [AppendError?] = []
                var failed: [AppendError?] = []
                for await (isBad, error) in group {
                    if isBad { failed.append(error) } else { good.append(error) }
                }
                return (good, failed)
            }
            #expect(good.count == 95 && good.allSatisfy { $0 == nil })
            #expect(failed.count == 5 && failed.allSatisfy { $0?.code == "SL003" })
            _ = try await writer.append(Purchase(line: "after").proposal)
            await writer.close()
            #expect(try await ledger.entries().map(\.position.number) == Array(1...97))
        }
    }

    @Test("goes on with its memory when an append names a stream that it did not ask for")
    func unasked() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let settings = Command.append([Command.note(in: .settings, key: "1")])
            _ = try await writer.append(settings)
            // The stream of settings is always known.
            _ = try await writer.append(
                Proposal(
                    streams: { _ in [] },
                    decide: { _ in .append([Command.note(in: .settings, key: "2")]) }))
            let known = try await writer.append(
                Proposal(keys: ["2"], streams: { _ in [.settings] }, decide: { _ in .append([]) }))
            #expect(known.position == Position(2))
            #expect(known.known.subscription(.settings).revision == 2)
            await writer.close()
        }
    }

    @Test("stores evidence, certificates and tokens once, with the entries that need them")
    func evidence() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let token = "6f1c6ad5-2c4f-4a50-8f5f-3a1d1f6cc001"
            var purchase = Purchase(line: "a", token: token)
            purchase.evidence = .sample("one", header: "header", tokens: [token.uppercased()])
            _ = try await writer.append(purchase.proposal)
            _ = try await writer.append(purchase.proposal)
            purchase.number = 2
            _ = try await writer.append(purchase.proposal)
            purchase.number = 3
            purchase.evidence = .sample("two", header: "header", tokens: [token])
            _ = try await writer.append(purchase.proposal)
            await writer.close()
            #expect(try await ledger.number("select count(*) from ledger.evidence") == 2)
            #expect(try await ledger.number("select count(*) from ledger.certificates") == 1)
            #expect(try await ledger.number("select count(*) from operation.token") == 1)
            let number = CustomerNumber(
                try await ledger.number("select number from operation.token"))
            let entries = try await ledger.entries()
            #expect(entries.map(\.event.subject) == [number, number, number])
            let pieces = try await EvidenceReader(ledger.pool).pieces(after: nil, atMost: 10).pieces
            #expect(pieces.map(\.tokens) == [[token], [token]])
            #expect(Set(pieces.map(\.template)) == [Array("one".utf8), Array("two".utf8)])
            let entry = try #require(entries.first)
            #expect(entry.event.evidence == fingerprint("one"))
        }
    }
}
