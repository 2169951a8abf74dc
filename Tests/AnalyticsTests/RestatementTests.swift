import Analytics
import Domain
import Ledger
import Projecting
import TestLives
import Testing

@Suite("What changed in a report")
struct RestatementTests {
    private static let metrics = Metric.allCases.filter { !$0.isOfQuality }

    private func questions(_ random: inout SplitMix64, _ positions: ClosedRange<Int64>)
        -> (then: MetricQuestion, now: MetricQuestion)
    {
        let metric = Self.metrics[random.below(Self.metrics.count)]
        let start = at("2024-12-15").adding(days: Int64(random.below(300)))
        let buckets = (0..<4).map { number in
            let from = start.adding(days: Int64(number) * 30)
            let until = metric.taking == .at ? from : from.adding(days: 30)
            return MetricQuestion.Bucket(label: "\(number)", window: from..<until)
        }
        func question(_ position: Int64) -> MetricQuestion {
            var question = MetricQuestion(
                metric, buckets: buckets, by: [.day, .product], knownAt: at("2026-01-01"),
                position: Position(position))
            question.isGross = metric.hasBlips
            return question
        }
        let span = positions.upperBound - positions.lowerBound
        let then = positions.lowerBound + Int64(random.below(Int(span)))
        let now = then + 1 + Int64(random.below(Int(positions.upperBound - then)))
        return (question(then), question(now))
    }

    /// The rows of a measurement of the whole record, those of nothing but zeros left out.
    private func rows(_ ledger: RecordedLedger, _ question: MetricQuestion) async throws
        -> [RowKey: [MetricRow.Value]]
    {
        let rows = try await ledger.metrics.measureRecord(question).finished()
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0.values) })
    }

    private func isNothing(_ values: [MetricRow.Value]?) -> Bool {
        (values ?? []).allSatisfy { $0.number == .whole(0) || $0.number == .null }
    }

    @Test("is the difference of two whole measurements, whatever they were made from")
    func differences() async throws {
        try await RecordedLedger.run { ledger in
            for content in testSettingsContents { try await ledger.set(content) }
            let first = try await ledger.head().number
            try await ledger.following {
                for seed in 1...2 as ClosedRange<UInt64> {
                    try await ledger.record(1..<60, seed: seed)
                }
            }
            let head = try await ledger.head().number
            var random = SplitMix64(seed: 31)
            var changed = 0
            for _ in 0..<cases(40, long: 1_000) {
                let (then, now) = questions(&random, first...head)
                let found = try await ledger.metrics.restatements(of: now, since: then)
                let cells = try #require(found).cells
                let (was, `is`) = (try await rows(ledger, then), try await rows(ledger, now))
                let told = "\(now.metric) from \(then.position) to \(now.position)"
                let expected = Set(was.keys).union(`is`.keys).filter { key in
                    was[key] != `is`[key] && !(isNothing(was[key]) && isNothing(`is`[key]))
                }
                let keys = cells.filter { cell in
                    // Nothing may be told as zeros or not at all.
                    !(isNothing(was[cell.key]) && isNothing(`is`[cell.key]))
                }.map(\.key)
                #expect(Set(keys) == expected, "\(told)")
                for cell in cells {
                    for change in cell.changes {
                        func number(_ values: [MetricRow.Value]?) -> MetricRow.Number? {
                            values?.first { $0.name == change.member }?.number
                        }
                        let (old, new) = (number(was[cell.key]), number(`is`[cell.key]))
                        #expect(old == nil || old == change.was, "\(told)")
                        #expect(new == nil || new == change.is, "\(told)")
                    }
                    changed += 1
                    // A row of persons may lose a line to another row without news of it.
                    #expect(cell.factCount > 0 || now.metric.isOfPersons, "\(told)")
                    let places = cell.facts.map(\.position)
                    #expect(places == places.sorted() && places.allSatisfy { $0 > then.position })
                }
            }
            #expect(changed > 50)
        }
    }
}
