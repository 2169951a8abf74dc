import Analytics
import Domain
import Ledger
import Projecting
import TestLives
import Testing

@Suite("A metric of projected rows")
struct ProjectedMetricTests {
    /// Those that rows are kept for.
    private static let metrics = Metric.allCases.filter { !$0.isOfQuality }
    private static let personal = metrics.filter { $0.isOfPersons || $0 == .activeCustomers }

    /// A question about anything at all.
    private func question(_ random: inout SplitMix64, at position: Position) -> MetricQuestion {
        let metrics = random.once(in: 3) ? Self.personal : Self.metrics
        let metric = metrics[random.below(metrics.count)]
        let start = at("2024-12-15").adding(milliseconds: Int64(random.below(400 * 86_400)) * 1_000)
        let length = Int64([1, 7, 30, 90][random.below(4)])
        let count = random.once(in: 2) ? 1 : 1 + random.below(40)
        let isCut = count > 1
        let buckets = (0..<count).map { number in
            let from = start.adding(days: Int64(number) * length)
            let until = metric.taking == .at ? from : from.adding(days: length)
            return MetricQuestion.Bucket(
                label: isCut ? "\(1_000 + number)" : nil, window: from..<until)
        }
        var dimensions: [Dimension] = isCut ? [.day] : []
        // Lines alone are summed otherwise when nothing tells them apart, or a currency.
        let rarity = random.once(in: 2) ? 4 : 100
        for dimension in Dimension.allCases
        where !dimension.isTime && random.once(in: dimension == .currency ? 4 : rarity)
            && (dimension != .reason || metric == .churned)
        {
            dimensions.append(dimension)
        }
        var question = MetricQuestion(
            metric, buckets: buckets, by: dimensions,
            knownAt: at("2024-12-15").adding(days: Int64(random.below(500))), position: position)
        question.basis = random.once(in: 2) ? .restated : .asTransacted
        question.profile = random.once(in: 2) ? .revenuecat : .calendar
        question.environment = random.once(in: 8) ? .sandbox : .production
        if let usual = metric.usualDays { question.days = random.once(in: 2) ? usual : 11 }
        question.app = random.once(in: 4) ? "com.example.app" : nil
        return question
    }

    /// What persons count for on each of so many days.
    private func days(_ count: Int64, at position: Position) -> [MetricQuestion] {
        Self.personal.map { metric in
            let buckets = (0..<count).map { number in
                let from = at("2025-01-01").adding(days: number)
                return MetricQuestion.Bucket(
                    label: "\(1_000 + number)",
                    window: from..<from.adding(days: metric.taking == .at ? 0 : 1))
            }
            return MetricQuestion(
                metric, buckets: buckets, by: [.day], knownAt: at("2026-01-01"), position: position)
        }
    }

    /// Asks so many random questions of a position both ways.
    private func compare(
        _ ledger: RecordedLedger, _ count: Int, _ random: inout SplitMix64, at position: Position
    ) async throws {
        try await compare(
            ledger, (0..<count).map { _ in question(&random, at: position) }, at: position)
    }

    private func compare(
        _ ledger: RecordedLedger, _ questions: [MetricQuestion], at position: Position
    ) async throws {
        let folded = try await ledger.folded(questions, upTo: position)
        for (question, folded) in zip(questions, folded) {
            let projected = try await ledger.metrics.measureProjected(question)
            let told =
                "\(question.metric) by \(question.dimensions), \(question.buckets.count) "
                + "from \(question.buckets[0].window), \(question.basis), \(question.profile), "
                + "\(question.environment), app \(question.app ?? "any") at \(question.position)"
            #expect(projected?.finished() == folded.finished(), "\(told)")
            #expect(projected?.completeness == folded.completeness, "\(told)")
            #expect(projected?.identities == folded.identities, "\(told)")
            #expect(projected?.blips == folded.blips, "\(told)")
        }
    }

    @Test("is what the fold of the whole record is, level, behind, and at positions long gone")
    func equalsFold() async throws {
        let count = Int64(cases(150, long: 200_000))
        try await RecordedLedger.run(people: cases(40, long: 50_000)) { ledger in
            for content in testSettingsContents { try await ledger.set(content) }
            var random = SplitMix64(seed: 4_711)
            try await ledger.following {
                try await ledger.record(1..<count, seed: 1)
                try await ledger.bind(cases(60, long: 5_000), &random)
            }
            let level = try await ledger.head()
            try await compare(ledger, cases(120, long: 50), &random, at: level)
            // More days than a column of bits has places.
            try await compare(ledger, days(130, at: level), at: level)
            // What is told later is not projected yet.
            try await ledger.record(count - 40..<count + 40, seed: 2)
            try await ledger.bind(10, &random)
            let head = try await ledger.head()
            try await compare(ledger, 25, &random, at: head)
            try await ledger.following()
            try await compare(ledger, 25, &random, at: head)
            let settings = Int64(testSettingsContents.count)
            let oldest = max(settings, head.number - 10_000)
            for _ in 0..<10 {
                let past = Position(oldest + Int64(random.below(Int(head.number - oldest))))
                try await compare(ledger, 5, &random, at: past)
            }
        }
    }

    @Test("rests on rows that a rebuild makes as well")
    func rebuilt() async throws {
        try await RecordedLedger.run { ledger in
            for content in testSettingsContents { try await ledger.set(content) }
            try await ledger.following {
                // Arriving in pieces, so that rows change and vanish.
                for round in 0..<4 {
                    try await ledger.record(1..<120, seed: UInt64(round))
                }
            }
            for projection in [PeriodsProjection(), MetricsProjection()] as [any Projection] {
                try await ledger.following([projection]) {
                    let verified = try await ledger.rebuild(projection).verify()
                    #expect(verified.isEqual == true)
                    let replaced = try await ledger.rebuild(projection).replace()
                    #expect(replaced.isEqual == true)
                }
            }
            #expect(try await ledger.number("select count(*) from projection.period") > 500)
            #expect(try await ledger.number("select count(*) from projection.coverage") > 500)
            #expect(try await ledger.number("select count(*) from projection.movement") > 500)
        }
    }

    /// Records a line of a week from each of some instants.
    private func buyWeeks(_ ledger: RecordedLedger, _ starts: Instant...) async throws {
        for (number, from) in starts.enumerated() {
            var bought = TransactionStatement(
                transaction: "\(number)", original: "1", bundle: "com.example.app",
                product: "pro.weekly", purchasedAt: from, signedAt: from,
                environment: .production)
            bought.expiresAt = from.adding(days: 7)
            bought.type = "Auto-Renewable Subscription"
            bought.priceMilliunits = 1_000
            bought.currency = "USD"
            let fingerprint = Fingerprint(hex: String(repeating: "\(number)", count: 64))
            try await ledger.record(
                Observation(
                    transaction: Stated(bought, fingerprint), source: .app, observedAt: from))
        }
        try await ledger.following()
    }

    @Test("finds nobody retained at the instant at which the access ends")
    func lastInstant() async throws {
        try await RecordedLedger.run { ledger in
            for content in testSettingsContents { try await ledger.set(content) }
            try await buyWeeks(ledger, at("2025-01-01"))
            var question = MetricQuestion(
                .cohortExplorer,
                buckets: [MetricQuestion.Bucket(window: at("2025-01-01")..<at("2025-02-01"))],
                knownAt: at("2025-01-20"), position: try await ledger.head())
            question.days = 7
            let rows = try await ledger.metrics.measureProjected(question)?.finished() ?? []
            let retained = rows.map { $0.values.first { $0.name == "retained" }?.number }
            #expect(retained == [.whole(1), .whole(0), .whole(0)])
        }
    }

    @Test("counts whoever comes back in the window that begins as the access ends")
    func returned() async throws {
        try await RecordedLedger.run { ledger in
            for content in testSettingsContents { try await ledger.set(content) }
            try await buyWeeks(ledger, at("2025-01-01"), at("2025-01-10"))
            let edges = ["2025-01-01", "2025-01-08", "2025-02-01"].map(at)
            let question = MetricQuestion(
                .arpu,
                buckets: zip(edges, edges.dropFirst()).map { from, until in
                    MetricQuestion.Bucket(label: "\(from)", window: from..<until)
                }, by: [.day], knownAt: at("2025-03-01"), position: try await ledger.head())
            let projected = try await ledger.metrics.measureProjected(question)?.finished()
            #expect(projected == (try await ledger.metrics.measureRecord(question).finished()))
            #expect(projected?.count == 2)
        }
    }

    @Test("tells of no period beyond the last number that is told")
    func lateReturn() async throws {
        try await RecordedLedger.run { ledger in
            for content in testSettingsContents { try await ledger.set(content) }
            // Weeks, of which the second is the 179th.
            try await buyWeeks(ledger, at("2022-01-01"), at("2025-06-01"))
            let question = MetricQuestion(
                .subscriptionRetention,
                buckets: [MetricQuestion.Bucket(window: at("2022-01-01")..<at("2022-02-01"))],
                knownAt: at("2025-07-01"), position: try await ledger.head())
            let projected = try await ledger.metrics.measureProjected(question)?.finished()
            #expect(projected?.count == 120)
            #expect(projected == (try await ledger.metrics.measureRecord(question).finished()))
        }
    }

    @Test("goes by the settings known at its position, and is rebuilt when they change rows")
    func settings() async throws {
        try await RecordedLedger.run { ledger in
            for content in testSettingsContents { try await ledger.set(content) }
            try await ledger.following { try await ledger.record(1..<60, seed: 3) }
            let before = try await ledger.head()
            var random = SplitMix64(seed: 5)
            guard case .catalog(let catalog) = testSettingsContents[0] else { return }
            var more = catalog
            more.products["other.product"] = Product(kind: "autoRenewable", plan: "P1M")
            // A product that nobody has bought changes no row.
            try await ledger.set(.catalog(more))
            let second = try await ledger.head()
            // Its rows are judged to belong to the new settings after it is level.
            try await ledger.following {
                let probe = MetricQuestion(
                    .mrr,
                    buckets: [MetricQuestion.Bucket(window: at("2025-03-01")..<at("2025-03-01"))],
                    knownAt: at("2026-01-01"), position: second)
                try await ledger.until {
                    try await ledger.metrics.measureProjected(probe) != nil
                }
            }
            try await compare(ledger, 15, &random, at: before)
            // Nobody is read as somebody else yet.
            try await compare(ledger, days(40, at: before), at: before)
            try await compare(ledger, 15, &random, at: second)
            // One whose plan becomes another does: until it is rebuilt the record answers.
            more.products["pro.monthly"]?.plan = "P1Y"
            try await ledger.set(.catalog(more))
            try await ledger.following()
            let third = try await ledger.head()
            let question = MetricQuestion(
                .mrr, buckets: [MetricQuestion.Bucket(window: at("2025-03-01")..<at("2025-03-01"))],
                knownAt: at("2026-01-01"), position: third)
            #expect(try await ledger.metrics.measureProjected(question) == nil)
            try await compare(ledger, 5, &random, at: second)
            for projection in [PeriodsProjection(), MetricsProjection()] as [any Projection] {
                try await ledger.following([projection]) {
                    // The projector asks for it once it has met the new settings.
                    try await ledger.until { try await ledger.status(projection).isRebuilding }
                    _ = try await ledger.rebuild(projection).replace()
                }
            }
            try await ledger.following()
            try await compare(ledger, 15, &random, at: third)
            #expect(try await ledger.metrics.measureProjected(question) != nil)
        }
    }
}
