import Domain
import Ledger
import Postgres
import Projecting
import Testing

@Suite("A rebuild")
struct RebuildTests {
    private func withTally(
        entries: Int = 600, lines: Int = 90, _ body: (TestLedger, Writer) async throws -> Void
    ) async throws {
        try await withLedger { ledger in
            try await ledger.superuser.execute(script: Tally.table)
            let writer = ledger.writer()
            try await appendPurchases(entries, lines: lines, to: writer)
            try await body(ledger, writer)
            await writer.close()
        }
    }

    /// What a reader sees of the live generation, of one snapshot.
    private func live(_ ledger: TestLedger) async throws -> (
        generation: Int64, edition: Int64, checkpoint: Int64, total: Int64
    ) {
        let row = try await ledger.pool.query(
            """
            select generation, edition, checkpoint, (select coalesce(sum(total), 0)::bigint \
            from projection.tally where tally.generation = generation.generation) \
            from projection.generation where projection = 'tally' and is_live
            """
        ).only()
        return (try row.int8(0), try row.int8(1), try row.int8(2), try row.int8(3))
    }

    private func isLevel(_ ledger: TestLedger, at position: Int64) async throws {
        try await expectSoon(ledger.loop) {
            try await ledger.status(Tally()).position.number == position
        }
    }

    @Test("makes the rows that following made, and replaces them in one commit")
    func replaces() async throws {
        try await withTally { ledger, _ in
            try await ledger.following(Tally()) {
                try await isLevel(ledger, at: 600)
                let outcome = try await ledger.rebuild(Tally()).replace()
                #expect(outcome.entries == 600)
                #expect(outcome.isEqual == true)
                let live = try await live(ledger)
                #expect(live == (outcome.generation, 1, 600, 600))
                let generations = try await ledger.status(Tally()).generations
                #expect(generations.map(\.state) == ["live", "previous"])
            }
        }
    }

    @Test("has the same digest for any number of workers and any size of ranges")
    func digests() async throws {
        try await withTally { ledger, _ in
            try await ledger.following(Tally()) {
                try await isLevel(ledger, at: 600)
                var digests: Set<String> = []
                for (workers, buckets) in [(1, 1_024), (2, 7), (8, 64)] {
                    let rebuild = ledger.rebuild(
                        Tally(), workers: workers, rangeBuckets: buckets,
                        options: ["set timezone = 'Asia/Kathmandu'"])
                    digests.insert(try #require(try await rebuild.verify().digest))
                }
                #expect(digests.count == 1)
                #expect(try await ledger.number("select count(*) from projection.build") == 0)
                #expect(
                    try await ledger.number(
                        "select count(distinct generation) from projection.tally") == 1)
            }
        }
    }

    @Test("is compared piece by piece while entries arrive, and any row that differs is found")
    func pieces() async throws {
        try await withTally { ledger, writer in
            try await ledger.following(Tally()) {
                try await isLevel(ledger, at: 600)
                async let appended: Void = appendPurchases(400, from: 600, lines: 90, to: writer)
                let grown = try await ledger.rebuild(Tally(), comparedRows: 2).verify()
                try await appended
                #expect(grown.isEqual == true)
                try await isLevel(ledger, at: 1_000)
                var digests: Set<String> = []
                for size in [1, 7, 90, 10_000] {
                    let outcome = try await ledger.rebuild(Tally(), comparedRows: size).verify()
                    #expect(outcome.isEqual == true)
                    digests.insert(try #require(outcome.digest))
                }
                #expect(digests.count == 1)
                let rows = "projection.tally where stream ="
                for place in ["min(stream)", "max(stream)"] {
                    let one = "(select \(place) from projection.tally)"
                    let kept = try await ledger.number("select total from \(rows) \(one)")
                    let change = { (total: Int64) in
                        "update projection.tally set total = \(total) where stream = \(one)"
                    }
                    try await ledger.superuser.execute(script: change(kept + 1))
                    let changed = ledger.rebuild(Tally(), comparedRows: 7)
                    #expect(try await changed.verify().isEqual == false)
                    try await ledger.superuser.execute(script: change(kept))
                }
                try await ledger.superuser.execute(
                    script: "delete from \(rows) (select max(stream) from projection.tally)")
                #expect(
                    try await ledger.rebuild(Tally(), comparedRows: 7).verify().isEqual == false)
            }
        }
    }

    @Test("goes on where one that was killed ended, and makes the same rows")
    func resumes() async throws {
        try await withTally { ledger, _ in
            try await ledger.following(Tally()) {
                try await isLevel(ledger, at: 600)
                let clock = TestClock(base)
                for kill in 1...5 {
                    let folded = Task {
                        try await ledger.rebuild(
                            Tally(), workers: 1, rangeBuckets: 16, runner: "killed \(kill)",
                            clock: clock,
                            onProgress: { done in
                                // Stands still at another range each time.
                                if done > Int64(kill * 90) {
                                    withUnsafeCurrentTask { $0?.cancel() }
                                }
                            }
                        ).replace()
                    }
                    _ = try? await folded.value
                    clock.set(clock.now.adding(milliseconds: 20_000))
                }
                let before = try await ledger.number(
                    "select count(*) from projection.build_range")
                #expect(before > 5)
                let outcome = try await ledger.rebuild(
                    Tally(), rangeBuckets: 16, runner: "last", clock: clock
                ).replace()
                #expect(outcome.isEqual == true)
                #expect(outcome.entries == 600)
                #expect(try await live(ledger).total == 600)
            }
        }
    }

    @Test("finds a live row that the record does not make, and heals it")
    func heals() async throws {
        try await withTally { ledger, _ in
            try await ledger.following(Tally()) {
                try await isLevel(ledger, at: 600)
                try await ledger.superuser.execute(
                    script: """
                        update projection.tally set total = total + 1 where stream = \
                        (select min(stream) from projection.tally)
                        """)
                #expect(try await ledger.rebuild(Tally()).verify().isEqual == false)
                #expect(try await live(ledger).total == 601)
                #expect(try await ledger.rebuild(Tally()).replace().isEqual == false)
                #expect(try await live(ledger).total == 600)
                #expect(try await ledger.rebuild(Tally()).verify().isEqual == true)
            }
        }
    }

    @Test("serves the old edition until the new one is level, and nobody sees a step back")
    func editions() async throws {
        try await withTally { ledger, writer in
            try await ledger.following(Tally()) { try await isLevel(ledger, at: 600) }
            let next = Tally(edition: 2, weight: 10)
            try await ledger.following(next) {
                let reading = Task {
                    var highest: Int64 = 0
                    var editions: Set<Int64> = []
                    while !Task.isCancelled {
                        let live = try await live(ledger)
                        #expect(live.checkpoint >= highest)
                        if live.edition == 2 { #expect(live.total == live.checkpoint * 10) }
                        highest = live.checkpoint
                        editions.insert(live.edition)
                    }
                    return editions
                }
                async let appended: Void = appendPurchases(
                    400, from: 600, lines: 90, to: writer)
                let outcome = try await ledger.rebuild(next).replace()
                try await appended
                #expect(outcome.isEqual == nil)
                try await isLevel(ledger, at: 1_000)
                reading.cancel()
                #expect(try await reading.value.contains(2))
                #expect(try await live(ledger) == (outcome.generation, 2, 1_000, 10_000))
            }
        }
    }

    @Test("is gone back from to the generation before, brought level")
    func rollsBack() async throws {
        try await withTally { ledger, writer in
            try await ledger.following(Tally()) {
                try await isLevel(ledger, at: 600)
                let first = try await live(ledger).generation
                _ = try await ledger.rebuild(Tally()).replace()
                try await appendPurchases(50, from: 600, lines: 90, to: writer)
                try await isLevel(ledger, at: 650)
                let outcome = try await ledger.rebuild(Tally()).rollBack()
                #expect(outcome.generation == first)
                #expect(try await live(ledger) == (first, 1, 650, 650))
                #expect(try await ledger.rebuild(Tally()).verify().isEqual == true)
            }
        }
    }

    @Test("is refused to a second process, and ends when it is cancelled")
    func oneAtATime() async throws {
        try await withTally { ledger, _ in
            try await ledger.following(Tally()) {
                try await isLevel(ledger, at: 600)
                let other = ledger.rebuild(Tally(), runner: "other")
                let rebuild = ledger.rebuild(Tally(), workers: 1, rangeBuckets: 64)
                _ = try await rebuild.request()
                try await ledger.superuser.execute(
                    script: "update projection.build set runner = 'somebody'")
                await #expect(throws: ProjectingError.busy(generation: 2)) {
                    _ = try await other.replace()
                }
                #expect(try await other.cancel())
                #expect(try await other.cancel() == false)
                let failed = try await ledger.status(Tally()).generations.first
                #expect(failed?.failure == "cancelled")
                #expect(try await rebuild.replace().isEqual == true)
            }
        }
    }

    @Test("halts the streams that following halts, and a fix releases both alike")
    func poison() async throws {
        try await withTally { ledger, writer in
            let body = try await ledger.superuser.query(
                "select body::text, stream from ledger.entry where position = 300"
            ).only()
            let (text, stream) = (try body.text(0), try body.text(1))
            try await ledger.tamper(
                "update ledger.entry set body = '{\"transaction\":{}}' where position = 300")
            try await ledger.following(Tally()) {
                try await isLevel(ledger, at: 600)
                let halted = try await ledger.status(Tally()).halted
                #expect(halted.map(\.stream.name) == [stream])
                #expect(halted.first?.position == Position(300))
                #expect(try await ledger.rebuild(Tally()).replace().isEqual == true)
                #expect(try await ledger.status(Tally()).halted == halted)
            }
            try await ledger.tamper(
                "update ledger.entry set body = '\(text)' where position = 300")
            // A fixed program begins anew, and takes up what was halted.
            try await ledger.following(Tally()) {
                try await expectSoon(ledger.loop) {
                    try await ledger.status(Tally()).halted.isEmpty
                }
                #expect(try await live(ledger).total == 600)
                #expect(try await ledger.rebuild(Tally()).verify().isEqual == true)
            }
        }
    }
}
