import Domain
import Ledger
import Postgres
import Testing

@Suite("The chain verifier")
struct ChainVerifierTests {
    /// A ledger of five batches: 1 2 | 3 | 4 5 | 6 | 7.
    private func withChain(_ body: (TestLedger) async throws -> Void) async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            for (batch, size) in [2, 1, 2, 1, 1].enumerated() {
                let stream = Purchase(line: "\(batch)").stream
                let notes = (0..<size).map { Command.note(in: stream, key: "\($0)") }
                _ = try await writer.append(Command.append(notes))
            }
            await writer.close()
            try await body(ledger)
        }
    }

    @Test("finds no fault in what writers wrote")
    func intact() async throws {
        try await withChain { ledger in
            let (head, faults) = try await ChainVerifier(ledger.pool).verify()
            #expect(head == Position(7))
            #expect(faults == [])
        }
    }

    @Test("finds no fault in an empty ledger")
    func empty() async throws {
        try await withLedger { ledger in
            let (head, faults) = try await ChainVerifier(ledger.pool).verify()
            #expect(head == .start)
            #expect(faults == [])
        }
    }

    @Test(
        "names what was changed, and only that",
        arguments: [
            (
                "update ledger.entry set body = '{\"x\":2}' where position = 3",
                [
                    "entry 3 was changed", "the digest of batch 2 is another",
                    "the tree at batch 2 is another",
                ]
            ),
            (
                "update ledger.entry set subject = 5 where position = 4",
                [
                    "entry 4 was changed", "the digest of batch 3 is another",
                    "the tree at batch 3 is another",
                ]
            ),
            (
                "update ledger.entry set digest = '\\x01' where position = 5",
                ["entry 5 was changed"]
            ),
            (
                "update ledger.entry set bucket = (bucket + 1) % 1024 where position = 6",
                ["entry 6 is in a wrong bucket"]
            ),
            (
                "update ledger.batch set digest = decode(repeat('00', 32), 'hex') where number = 2",
                ["the digest of batch 2 is another", "the digest of batch 3 is another"]
            ),
            (
                "update ledger.batch set root = decode(repeat('00', 32), 'hex') where number = 4",
                ["the tree at batch 4 is another"]
            ),
            (
                "update ledger.batch set recorded_at = recorded_at + 1000000 where number = 5",
                ["entry 7 was not recorded with its batch", "the digest of batch 5 is another"]
            ),
            (
                "delete from ledger.entry where position = 4",
                [
                    "position 4 is missing", "the digest of batch 3 is another",
                    "the tree at batch 3 is another",
                ]
            ),
            (
                "delete from ledger.entry where position in (4, 5)",
                [
                    "positions 4 to 5 are missing", "the digest of batch 3 is another",
                    "the tree at batch 3 is another",
                ]
            ),
            (
                """
                insert into ledger.entry select (bucket + 1) % 1024, 8, stream, 9, kind, 'k', \
                environment, subject, occurred_at, signed_at, observed_at, recorded_at, source, \
                evidence, body, digest from ledger.entry where position = 7
                """,
                ["1 entries stand beyond the newest batch"]
            ),
            (
                "delete from ledger.batch where number = 5",
                ["1 entries stand beyond the newest batch"]
            ),
        ])
    func tampered(_ change: String, _ faults: [String]) async throws {
        try await withChain { ledger in
            try await ledger.tamper(change)
            #expect(try await ChainVerifier(ledger.pool).verify().faults == faults)
        }
    }

    @Test("names a second entry at a position that is taken")
    func twice() async throws {
        try await withChain { ledger in
            try await ledger.tamper(
                """
                insert into ledger.entry select (bucket + 1) % 1024, 3, stream, 9, kind, 'k', \
                environment, subject, occurred_at, signed_at, observed_at, recorded_at, source, \
                evidence, body, digest from ledger.entry where position = 3
                """)
            let faults = try await ChainVerifier(ledger.pool).verify().faults
            #expect(faults.contains("position 3 is taken twice"))
        }
    }
}
