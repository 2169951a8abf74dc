import Domain
import Ledger
import Postgres
import Synchronization
import Testing

private let token = "6f1c6ad5-2c4f-4a50-8f5f-3a1d1f6cc0b2"

/// Numbers one after the other, from where a test says.
private final class Sequence: Sendable {
    private let last = Mutex<Int64>(0)

    func begin(at number: Int64) { last.withLock { $0 = number } }

    func next() -> CustomerNumber {
        last.withLock {
            $0 += 1
            return CustomerNumber($0)
        }
    }
}

@Suite("Two writers on one database")
struct TwoWritersTests {
    @Test("lose nothing, leave no gap and record no statement twice")
    func together() async throws {
        try await withLedger { ledger in
            let writers = [ledger.writer(), ledger.writer()]
            // Half of the lines are both writers', and every fifth purchase is offered to both.
            let positions = try await withThrowingTaskGroup(of: (String, Position).self) { group in
                for number in 0..<400 {
                    let line = number % 2 == 0 ? "shared \(number % 8)" : "own \(number % 40)"
                    let purchase = Purchase(line: line, number: number)
                    let chosen = number % 5 == 0 ? writers : [writers[number / 2 % 2]]
                    for writer in chosen {
                        group.addTask {
                            (purchase.key, try await writer.append(purchase.proposal).position)
                        }
                    }
                }
                return try await group.reduce(into: [String: Set<Position>]()) {
                    $0[$1.0, default: []].insert($1.1)
                }
            }
            let entries = try await ledger.entries()
            #expect(entries.map(\.position.number) == Array(1...400))
            #expect(
                positions
                    == Dictionary(
                        uniqueKeysWithValues: entries.map { ($0.event.key, [$0.position]) }))
            for stream in Dictionary(grouping: entries, by: \.event.stream).values {
                #expect(stream.map(\.revision) == Array(1...Int64(stream.count)))
            }
            // Both remember what the other appended.
            for writer in writers {
                for number in stride(from: 0, to: 400, by: 7) {
                    let line = number % 2 == 0 ? "shared \(number % 8)" : "own \(number % 40)"
                    let purchase = Purchase(line: line, number: number)
                    let again = try await writer.append(purchase.proposal)
                    #expect(again.count == 0 && positions[purchase.key] == [again.position])
                    #expect(
                        again.known.subscription(purchase.stream)
                            == Subscription(
                                purchase.stream,
                                entries: entries.filter { $0.event.stream == purchase.stream }))
                }
                await writer.close()
            }
            let verified = try await ChainVerifier(ledger.pool).verify()
            #expect(verified.faults == [])
        }
    }

    @Test("answer refusals and repeats by what the other has appended")
    func oldMemory() async throws {
        try await withLedger { ledger in
            let (one, other) = (ledger.writer(), ledger.writer())
            _ = try await one.append(Command.bind(token, to: "Ann"))
            _ = try await other.append(Command.bind(token, to: "Bob", transfer: true))
            // The first remembers Ann: it must neither refuse Bob nor take Ann's word for done.
            let bob = try await one.append(Command.bind(token, to: "Bob"))
            #expect(bob.count == 0)
            _ = try await other.append(Command.bind(token, to: "Cid", transfer: true))
            let again = try await one.append(Command.bind(token, to: "Bob", transfer: true))
            #expect(again.count == 1)
            let refusal = await failure { () throws(AppendError) in
                try await other.append(Command.bind(token, to: "Cid"))
            }
            #expect(refusal == .refused(.tokenBoundToOther))
            await one.close()
            await other.close()
            #expect(try await ledger.entries().count == 4)
        }
    }

    @Test("draw one number for a customer and a token that both see first at the same time")
    func numbers() async throws {
        try await withLedger { ledger in
            let writers = [ledger.writer(), ledger.writer()]
            for round in 0..<10 {
                async let first = writers[0].append(
                    Command.bind("\(token)\(round)", to: "\(round)"))
                async let second = writers[1].append(
                    Command.bind("\(token)\(round)", to: "\(round)"))
                let answers = try await [first, second]
                #expect(Set(answers.map { $0.known.customers["\(round)"] }).count == 1)
                #expect(Set(answers.map { $0.known.tokens["\(token)\(round)"] }).count == 1)
                #expect(answers.map(\.count).sorted() == [0, 1])
            }
            for writer in writers { await writer.close() }
            #expect(try await ledger.number("select count(*) from operation.token") == 10)
            #expect(try await ledger.number("select count(*) from operation.customer") == 10)
        }
    }

    @Test("do not take each other's batch for their own, even when it is the same to the byte")
    func sameBatch() async throws {
        try await withLedger { ledger in
            // One clock that stands still and one sequence of numbers: both make equal batches.
            let clock = TestClock(Instant(milliseconds: 1_700_000_000_000))
            let sequences = [Sequence(), Sequence()]
            let writers = sequences.map { sequence in
                ledger.writer(clock: clock, draw: { sequence.next() })
            }
            for round in 0..<20 {
                for sequence in sequences { sequence.begin(at: Int64(round) * 100) }
                async let first = writers[0].append(
                    Command.bind("\(token)\(round)", to: "\(round)"))
                async let second = writers[1].append(
                    Command.bind("\(token)\(round)", to: "\(round)"))
                let answers = try await [first, second]
                #expect(answers.map(\.count).sorted() == [0, 1])
            }
            for writer in writers { await writer.close() }
            #expect(try await ledger.entries().count == 20)
        }
    }

    @Test("begin anew when the database lost what it had acknowledged")
    func lostRecord() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            for line in ["a", "b", "c"] {
                _ = try await writer.append(Purchase(line: line).proposal)
            }
            // As after a failover to a server that had not heard of the last two batches.
            try await ledger.tamper(
                "delete from ledger.entry where position > 1; delete from ledger.batch where number > 1"
            )
            let other = ledger.writer()
            _ = try await other.append(Purchase(line: "d").proposal)
            _ = try await other.append(Purchase(line: "c").proposal)
            let lost = try await writer.append(Purchase(line: "b").proposal)
            #expect(lost.count == 1 && lost.position == Position(4))
            let known = try await writer.append(Purchase(line: "c").proposal)
            #expect(known.count == 0 && known.position == Position(3))
            await writer.close()
            await other.close()
        }
    }
}
