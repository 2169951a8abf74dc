import Analytics
import Domain
import Entitlements
import Ledger
import Postgres
import TestLives
import Testing

@Suite("The public schema")
struct ReportTests {
    private func withLives(_ body: (RecordedLedger) async throws -> Void) async throws {
        try await RecordedLedger.run { ledger in
            for content in testSettingsContents { try await ledger.set(content) }
            try await ledger.following([
                PeriodsProjection(), MetricsProjection(), LinesProjection(),
            ]) {
                try await ledger.record(1..<150, seed: 31)
            }
            try await body(ledger)
        }
    }

    /// The numbers of a metric as the interface tells them, each under its row's key.
    private func told(
        _ metric: Metric, _ window: Range<Instant>, _ ledger: RecordedLedger
    ) async throws -> [String: [Int64?]] {
        let question = MetricQuestion(
            metric, buckets: [MetricQuestion.Bucket(window: window)], by: [.app],
            knownAt: at("2026-01-01"), position: try await ledger.head())
        var rows: [String: [Int64?]] = [:]
        for row in try await ledger.metrics.measureRecord(question).finished() {
            let parts = row.key.members.filter { $0.name != "app" }.map { $0.value ?? "-" }
            let key = parts.joined(separator: "/")
            // Functions tell lines by the line's app, the interface by the period's.
            let before = rows[key] ?? Array(repeating: 0, count: row.values.count)
            rows[key] = zip(before, row.values).map { sum, value in
                if case .whole(let number) = value.number { (sum ?? 0) + number } else { nil }
            }
        }
        return rows.filter { $0.value.contains { $0 != 0 } }
    }

    /// The numbers of a function as an analyst reads them, the columns that are texts being the key.
    private func asked(_ sql: String, _ texts: Int, _ ledger: RecordedLedger)
        async throws -> [String: [Int64?]]
    {
        var rows: [String: [Int64?]] = [:]
        let session = try await BlockingConnection.open(
            ledger.address, options: ["set role subledger_analyst"])
        let answer = try await session.query(sql)
        await session.close()
        for row in answer {
            var parts: [String] = []
            for place in 0..<texts { parts.append(try row.textIfAny(place) ?? "-") }
            var values: [Int64?] = []
            for place in texts..<answer.columnNames.count {
                values.append(try row.int8IfAny(place))
            }
            rows[parts.joined(separator: "/")] = values
        }
        return rows.filter { $0.value.contains { $0 != 0 } }
    }

    @Test("has functions that tell the numbers of the interface")
    func functions() async throws {
        try await withLives { ledger in
            let window = at("2025-02-10")..<at("2025-04-15")
            let counts: [(Metric, [String])] = [
                (.newPaid, ["value", "from_trial", "from_intro", "direct"]),
                (.renewals, ["value"]), (.reactivationPurchases, ["value"]),
                (.planChanges, ["upgrade", "downgrade", "crossgrade"]),
                (.upgradeCreditUnknown, ["value"]), (.graceEntered, ["value"]),
                (.recoveredInGrace, ["value"]), (.recoveredAfterGap, ["value"]),
                (.lostInRetry, ["value"]), (.preferenceChanges, ["value"]),
                (.trialsStarted, ["value"]),
                (
                    .trialConversion,
                    ["trials", "converted", "pending", "abandoned", "late_conversion"]
                ), (.trialsMovement, ["value", "started", "converted", "lapsed"]),
                (.extensions, ["value", "days"]), (.refundReversals, ["value"]),
                (.reactivated, ["value"]), (.churned, ["value"]),
            ]
            let known: Set<Metric> = [.trialConversion, .trialsMovement]
            for (metric, members) in counts {
                let sums = members.map { "coalesce(sum(\($0)), 0)::bigint" }.joined(separator: ", ")
                let sql = """
                    select \(sums) from report.\(metric.rawValue)('2025-02-10Z', '2025-04-15Z'\
                    \(known.contains(metric) ? ", '2026-01-01Z'" : "")) \
                    where environment = 'Production'
                    """
                let found = try await asked(sql, 0, ledger)
                let wanted = try await told(metric, window, ledger)
                #expect(found == wanted, "\(metric)")
            }
        }
    }

    @Test("tells states and money as the interface does")
    func money() async throws {
        try await withLives { ledger in
            let instant = at("2025-03-01")
            for metric in [
                Metric.activePaid, .activeTrials, .activeFree, .activeFamily, .inGrace,
                .inBillingRetry,
            ] {
                let sql = """
                    select coalesce(sum(value), 0)::bigint from report.\(metric.rawValue)('2025-03-01Z') \
                    where environment = 'Production'
                    """
                let found = try await asked(sql, 0, ledger)
                let wanted = try await told(metric, instant..<instant, ledger)
                #expect(found == wanted, "\(metric)")
            }
            // Rounded once per row, so that rows must be the same: those of one app.
            for (metric, call) in [
                (Metric.mrr, "mrr('2025-03-01Z')"), (.arr, "arr('2025-03-01Z', 'calendar')"),
                (.revenue, "revenue('2025-02-10Z', '2025-04-15Z')"),
                (.refundsHappened, "refunds_happened('2025-02-10Z', '2025-04-15Z')"),
                (.mrrMovement, "mrr_movement('2025-02-10Z', '2025-04-15Z')"),
            ] {
                let window =
                    metric.taking == .at ? instant..<instant : at("2025-02-10")..<at("2025-04-15")
                var question = MetricQuestion(
                    metric, buckets: [MetricQuestion.Bucket(window: window)],
                    knownAt: at("2026-01-01"), position: try await ledger.head())
                question.app = "com.example.other"
                var wanted: [String: [Int64?]] = [:]
                for row in try await ledger.metrics.measureRecord(question).finished() {
                    wanted[row.key.members.map { $0.value ?? "-" }.joined(separator: "/")] =
                        row.values.filter { $0.name != "fx" }.map {
                            if case .whole(let number) = $0.number { number } else { nil }
                        }
                }
                let members = metric.members.filter { $0 != "fx" }.joined(separator: ", ")
                let sql = """
                    select currency, \(members) from report.\(call) \
                    where environment = 'Production' and bundle_id = 'com.example.other'
                    """
                let found = try await asked(sql, 1, ledger)
                #expect(found == wanted.filter { $0.value.contains { $0 != 0 } }, "\(metric)")
            }
            let days = try await ledger.number(
                "select count(distinct day) from report.mrr_daily('2025-03-01', '2025-03-05')")
            #expect(days == 5)
        }
    }

    @Test("tells of customers and cohorts what the interface does")
    func persons() async throws {
        try await withLives { ledger in
            var random = SplitMix64(seed: 8)
            try await ledger.following([
                PeriodsProjection(), MetricsProjection(), HoldingsProjection(),
            ]) { try await ledger.bind(80, &random) }
            let window = "'2025-01-20Z', '2025-04-15Z'"
            let known = "'2025-09-01Z'"
            // What has no currency is asked for with none.
            for (metric, call) in [
                (Metric.activeCustomers, "null, value from report.active_customers('2025-03-01Z')"),
                (.unattributedLines, "null, value from report.unattributed_lines('2025-03-01Z')"),
                (
                    .conversionToPaying,
                    "null, customers, converted, pending "
                        + "from report.conversion_to_paying(\(window), 11, \(known))"
                ),
                (
                    .trialConversionByFirstSeen,
                    "null, customers, trials, converted "
                        + "from report.trial_conversion_by_first_seen(\(window), \(known))"
                ),
                (
                    .arpu,
                    "currency, value, net, customers "
                        + "from report.arpu(\(window), 'restated', \(known))"
                ),
                (
                    .arppu,
                    "currency, value, net, payers "
                        + "from report.arppu(\(window), 'restated', \(known))"
                ),
                (
                    .realisedLTV,
                    "concat_ws('/', age, coalesce(currency, '-')), per_customer, "
                        + "per_paying_customer, net, customers, payers, mature "
                        + "from report.realised_ltv(\(window), 11, 'restated', \(known))"
                ),
                (
                    .cohortExplorer,
                    "concat_ws('/', age, coalesce(currency, '-')), customers, retained, revenue, "
                        + "refunds from report.cohort_explorer(\(window), 11, 'restated', \(known))"
                ),
                (
                    .subscriptionRetention,
                    "concat_ws('/', period, plan), retained, lines "
                        + "from report.subscription_retention(\(window), \(known))"
                ),
                (
                    .refundRateByValue,
                    "currency, refunded, paid from report.refund_rate_by_value(\(window))"
                ),
            ] {
                let window =
                    metric.taking == .at
                    ? at("2025-03-01")..<at("2025-03-01") : at("2025-01-20")..<at("2025-04-15")
                var question = MetricQuestion(
                    metric, buckets: [MetricQuestion.Bucket(window: window)],
                    knownAt: at("2025-09-01"), position: try await ledger.head())
                question.app = "com.example.app"
                question.days = 11
                question.basis = .restated
                var wanted: [String: [Int64?]] = [:]
                for row in try await ledger.metrics.measureRecord(question).finished() {
                    let key = row.key.members.map { $0.value ?? "-" }.joined(separator: "/")
                    // Ratios are for whoever asks in SQL to make.
                    wanted[key.isEmpty ? "-" : key] = row.values.compactMap {
                        switch $0.number {
                        case .whole(let number): .some(number)
                        case .millionths: nil
                        case .null: .some(nil)
                        }
                    }
                }
                let sql = """
                    select \(call) \
                    where environment = 'Production' and bundle_id = 'com.example.app'
                    """
                let found = try await asked(sql, 1, ledger)
                #expect(found.count > 0, "\(metric)")
                #expect(found == wanted.filter { $0.value.contains { $0 != 0 } }, "\(metric)")
            }
        }
    }

    @Test("is all that an analyst may read, and is described throughout")
    func analyst() async throws {
        try await withLives { ledger in
            let session = try await BlockingConnection.open(
                ledger.address, options: ["set role subledger_analyst"])
            for name in ["period", "coverage", "movement", "entry", "line"] {
                let count = try await session.query("select count(*) from report.\(name)").only()
                #expect(try count.int8(0) > 100, "\(name)")
            }
            for name in ["customer", "entitlement"] {
                _ = try await session.query("select * from report.\(name)")
            }
            _ = try await session.query("select * from report.mrr(now())")
            for name in [
                "ledger.entry", "ledger.batch", "projection.period", "projection.coverage",
                "projection.movement", "projection.line", "operation.customer", "operation.api_key",
            ] {
                await #expect(throws: PostgresError.self, "\(name)") {
                    try await session.query("select count(*) from \(name)")
                }
            }
            await #expect(throws: PostgresError.self) {
                try await session.query("delete from report.period")
            }
            await session.close()
            let bare = try await ledger.number(
                """
                select count(*) from pg_attribute as a join pg_class as c on c.oid = a.attrelid \
                where c.relnamespace = 'report'::regnamespace and c.relkind = 'v' \
                and a.attnum > 0 and col_description(c.oid, a.attnum) is null
                """)
            #expect(bare == 0)
            let functions = try await ledger.number(
                """
                select count(*) from pg_proc where pronamespace = 'report'::regnamespace \
                and obj_description(oid, 'pg_proc') is null
                """)
            #expect(functions == 0)
        }
    }
}
