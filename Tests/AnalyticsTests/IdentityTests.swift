import Analytics
import Domain
import TestLives
import Testing

@Suite("The numbers of random lives")
struct IdentityTests {
    /// The one row of a metric over lines, by member; money is of one currency here.
    private func numbers(
        _ metric: Metric, _ window: Range<Instant>, _ lines: [Line]
    ) -> [String: Int64] {
        let question = MetricQuestion(
            metric, buckets: [MetricQuestion.Bucket(window: window)], knownAt: at("2030-01-01"),
            position: Position(1))
        var measurement = Measurement(question, settings: testSettings, people: People())
        for line in lines { measurement.take(line) }
        var sums: [String: Int64] = [:]
        for value in measurement.finished().flatMap(\.values) {
            if case .whole(let number) = value.number { sums[value.name, default: 0] += number }
        }
        return sums
    }

    private func lines(_ seed: UInt64) -> [Line] {
        var random = SplitMix64(seed: seed)
        return (0..<12).map { index in
            let number = 5_001 + Int64(index)
            let life = RandomLife(seed: random.next(), line: number)
            return recorded(
                life.observations, stream: .line(.production, String(number))
            ).line()
        }
    }

    private func window(_ random: inout SplitMix64) -> Range<Instant> {
        let start = at("2025-01-01").adding(days: Int64(random.below(400)))
        return start..<start.adding(days: Int64(1 + random.below(120)))
    }

    @Test("add up: who was there, who came, who came back and who left")
    func stocks() {
        for seed in 0..<UInt64(cases(60, long: 4_000)) {
            var random = SplitMix64(seed: seed &+ 77)
            let (lines, window) = (lines(seed), window(&random))
            let (a, b) = (window.lowerBound, window.upperBound)
            let before = numbers(.activePaid, a..<a, lines)["value"] ?? 0
            let after = numbers(.activePaid, b..<b, lines)["value"] ?? 0
            let churned = numbers(.churned, window, lines)["value"] ?? 0
            let back = numbers(.reactivated, window, lines)["value"] ?? 0
            let new = lines.filter { line in
                let isThere = numbers(.activePaid, b..<b, [line])["value"] == 1
                let wasThere = numbers(.activePaid, a..<a, [line])["value"] == 1
                return isThere && !wasThere && numbers(.reactivated, window, [line])["value"] == 0
            }
            #expect(after == before + Int64(new.count) + back - churned, "seed \(seed)")
        }
    }

    @Test("move from one mrr to the other, exactly, line by line")
    func movements() {
        for seed in 0..<UInt64(cases(60, long: 4_000)) {
            var random = SplitMix64(seed: seed &+ 99)
            let window = window(&random)
            let (a, b) = (window.lowerBound, window.upperBound)
            for line in lines(seed) {
                let moved = numbers(.mrrMovement, window, [line])
                let up = ["new", "reactivation", "expansion"].map { moved[$0] ?? 0 }
                let down = ["contraction", "churn"].map { moved[$0] ?? 0 }
                let change = up.reduce(0, +) - down.reduce(0, +)
                let before = numbers(.mrr, a..<a, [line])["value"] ?? 0
                let after = numbers(.mrr, b..<b, [line])["value"] ?? 0
                // Each of three roundings may be half a milliunit off.
                #expect(abs(change - (after - before)) <= 1, "seed \(seed)")
            }
        }
    }

    @Test("keep their identities exactly, in the answer itself, in one currency too")
    func identities() {
        var rates = ExchangeRates()
        for (index, day) in stride(from: 0, to: 900, by: 3).enumerated() {
            rates.apply(rate(Day(of: at("2024-06-01")).adding(Int64(day)), index))
        }
        for seed in 0..<UInt64(cases(60, long: 4_000)) {
            var random = SplitMix64(seed: seed &+ 123)
            let lines = lines(seed)
            let windows = (0..<3).map { _ in window(&random) }
            for metric in [Metric.churned, .reactivated, .newPaid, .churnRate, .mrrMovement] {
                for currency in [nil, "JPY"] where currency == nil || metric.isMoney {
                    let question = MetricQuestion(
                        metric,
                        buckets: windows.enumerated().map {
                            MetricQuestion.Bucket(label: "\($0)", window: $1)
                        }, by: [.day, .product], in: currency, knownAt: at("2030-01-01"),
                        position: Position(1))
                    var measurement = Measurement(
                        question, settings: testSettings, people: People(), rates: rates)
                    for line in lines { measurement.take(line) }
                    let broken = measurement.identities.filter { !$0.holds }
                    #expect(broken == [], "seed \(seed)")
                    #expect(measurement.missingRates == [], "seed \(seed)")
                    #expect(!measurement.identities.isEmpty || metric.isMoney, "seed \(seed)")
                }
            }
        }
    }

    /// A day's rates that no other day has.
    private func rate(_ day: Day, _ index: Int) -> Entry {
        let set = RatesSet(
            day: day, base: "EUR", publisher: "ECB",
            values: [
                "USD": ExactDecimal("1.\(1_000 + index * 7)")!,
                "JPY": ExactDecimal("1\(50 + index % 40).\(index % 97)1")!,
            ])
        return Entry(
            position: Position(Int64(index) + 1), revision: Int64(index) + 1,
            recordedAt: .distantPast,
            event: Event(
                kind: .rateSet, stream: set.stream, key: "\(index)", occurredAt: day.start,
                observedAt: .distantPast, source: .command, content: .rates(set)))
    }

    @Test("never have more refunded than was paid, and net is what is left")
    func money() {
        let ever = at("2020-01-01")..<at("2040-01-01")
        for seed in 0..<UInt64(cases(60, long: 4_000)) {
            for line in lines(seed) {
                let money = numbers(.revenue, ever, [line])
                let (gross, net) = (money["gross"] ?? 0, money["net"] ?? 0)
                #expect((0...gross).contains(net), "seed \(seed)")
                #expect(
                    net == gross - (money["refunded"] ?? 0) + (money["reversed"] ?? 0),
                    "seed \(seed)")
            }
        }
    }

    @Test("of trials are converted, pending or abandoned, each once")
    func trials() {
        let ever = at("2020-01-01")..<at("2040-01-01")
        for seed in 0..<UInt64(cases(60, long: 4_000)) {
            let trials = numbers(.trialConversion, ever, lines(seed))
            let fates = ["converted", "pending", "abandoned"].map { trials[$0] ?? 0 }
            #expect(trials["trials"] == fates.reduce(0, +), "seed \(seed)")
        }
    }
}
