import Analytics
import Domain
import Entitlements
import Foundation
import Postgres
import Projecting

/// Metrics asked over HTTP, against SQL written by hand over the entries.
struct Measuring {
    let ground: Ground
    let forge: Forge
    let binary: String
    /// How many periods there are.
    let count: Int

    private static let database = "measuring"
    private static let rounds = 3

    /// Runs it: what every projected metric takes for a year by months, and what the daemon holds.
    func figures() async throws -> [Figure] {
        let address = try await ground.database(Measuring.database)
        // Its first start records the catalogue.
        try served().stop()
        let last = try await fill(address)
        var figures = try await build(address, last)
        Figure.show(figures)
        let daemon = try served()
        defer { daemon.stop() }
        let idle = Processes.highWater(daemon.number)
        for metric in Metric.allCases where !metric.isOfQuality {
            let seconds = try await ask(daemon, metric).seconds
            let figure = Figure(
                "a year of \(metric.rawValue) by month, s", "", seconds,
                .atMost(metric == .mrrMovement ? 1 : 3))
            // It takes long: what is known is told at once.
            print(figure.line)
            figures.append(figure)
        }
        let held = Processes.highWater(daemon.number) - idle
        figures.append(
            Figure("metrics, memory beyond idle", "\(held.short) MiB", held, .atMost(64)))
        return figures + [try await byHand(address, daemon)]
    }

    private func served() throws -> ServedLedger {
        try ServedLedger(
            binary, ground, database: Measuring.database, forge: forge, plans: Subscriber.plans)
    }

    /// Fills the record in order of time, month by month.
    ///
    /// - Returns: the last position.
    private func fill(_ address: String) async throws -> Int64 {
        var subscribers: [(subscriber: Subscriber, next: Int64)] = []
        var periods: Int64 = 0
        while periods < count {
            subscribers.append((Subscriber(Int64(subscribers.count)), 0))
            periods += subscribers[subscribers.count - 1].subscriber.periods
        }
        var filling = try await Filling(address)
        var revisions = [Int64](repeating: 0, count: subscribers.count)
        var month = Subscriber.dawn
        while periods > 0 {
            month = month.adding(days: 30)
            for place in subscribers.indices {
                let subscriber = subscribers[place].subscriber
                while subscribers[place].next < subscriber.periods,
                    subscriber.purchase(subscribers[place].next) < month
                {
                    for (content, kind) in subscriber.contents(subscribers[place].next) {
                        revisions[place] += 1
                        try await filling.add(
                            content, kind, at: month, subject: nil, revision: revisions[place])
                    }
                    subscribers[place].next += 1
                    periods -= 1
                }
            }
        }
        return try await filling.end()
    }

    /// Builds the projections that metrics rest on; those that they do not rest on are left alone.
    private func build(_ address: String, _ last: Int64) async throws -> [Figure] {
        try await Filling.withPool(address) { pool in
            for projection in [LinesProjection(), HoldingsProjection()] as [any Projection] {
                try await Filling.stand(projection, at: last, edition: projection.edition, pool)
            }
            try await Filling.standEvents(at: last, pool)
            var figures: [Figure] = []
            for projection in [PeriodsProjection(), MetricsProjection()] as [any Projection] {
                let (entries, seconds) = try await Filling.rebuild(
                    projection, at: last, workers: 2, address, pool)
                figures.append(
                    Figure(
                        "rebuild \(projection.name), 2 workers",
                        "\((Double(entries) / seconds).whole) entries/s"))
            }
            return figures
        }
    }

    /// Asks for a metric's months of 2024, or the instants that begin them.
    ///
    /// - Returns: the answer, and how long the quickest of some rounds took.
    private func ask(_ daemon: ServedLedger, _ metric: Metric) async throws
        -> (answer: JSON, seconds: Double)
    {
        let path =
            "/v1/metrics/\(metric.rawValue)?from=2024-01-01&to=2025-01-01&by=month"
        var (answer, seconds) = (JSON.null, Double.infinity)
        for _ in 0..<Measuring.rounds {
            let start = ContinuousClock.now
            answer = try await daemon.answer(path)
            seconds = min(seconds, start.secondsSince)
        }
        return (answer, seconds)
    }

    /// The movements of the year by SQL over the entries, which must be the same to the cent.
    private func byHand(_ address: String, _ daemon: ServedLedger) async throws -> Figure {
        let session = try await BlockingConnection.open(address, patience: .seconds(3_600))
        try await session.query("set time zone 'UTC'")
        let start = ContinuousClock.now
        let rows = try await session.query(Measuring.handWritten)
        let seconds = start.secondsSince
        await session.close()
        let (answer, quickest) = try await ask(daemon, .mrrMovement)
        let members = ["new", "reactivation", "expansion", "contraction", "churn"]
        var ours: Set<String> = []
        for row in answer["rows"]?.elements ?? [] {
            let key = [row["key"]?["month"]?.text, row["key"]?["currency"]?.text].map { $0 ?? "" }
            ours.insert("\(key) \(members.map { row[$0]?.integer ?? -1 })")
        }
        var theirs: Set<String> = []
        for row in rows {
            let key = [try row.text(0), try row.text(1)]
            theirs.insert("\(key) \(try (2...6).map { try row.int8($0) })")
        }
        guard ours == theirs, !ours.isEmpty else {
            throw BenchError.unexpected(
                "movements: \(ours.subtracting(theirs).sorted().first ?? "nothing") is not "
                    + "\(theirs.subtracting(ours).sorted().first ?? "anything")")
        }
        return Figure(
            "the year's mrr_movement by hand ÷ ours", "by hand \(seconds.short) s",
            seconds / quickest, .atLeast(10))
    }

    /// Money in twelfths of a milliunit a month, so that a sum is rounded once.
    private static let handWritten = """
        with said as (
            select stream, body -> 'transaction' as said from ledger.entry
            where kind in ('purchased', 'renewed', 'revoked')
        ), period as (
            select distinct on (stream, said ->> 'transactionId') stream,
                (said ->> 'purchaseDate')::bigint as since,
                least((said ->> 'expiresDate')::bigint, (said ->> 'revocationDate')::bigint)
                    as until,
                (said ->> 'price')::bigint * case said ->> 'productId'
                    when 'pro.weekly' then 52 when 'pro.yearly' then 1 else 12 end as monthly,
                said ->> 'currency' as currency
            from said
            order by stream, said ->> 'transactionId', (said ->> 'signedDate')::bigint desc
        ), paid as (
            select * from period where monthly > 0
        ), first as (
            select stream, min(since) as since from paid group by stream
        ), boundary as (
            select n, (extract(epoch from timestamptz '2024-01-01' + n * interval '1 month')
                * 1000)::bigint as at
            from generate_series(0, 12) as n
        ), standing as (
            select n, at, paid.* from paid join boundary on since <= at and until > at
        ), turn as (
            select coalesce(old.n, new.n - 1) as n, coalesce(old.currency, new.currency) as currency,
                coalesce(old.monthly, 0) as old, coalesce(new.monthly, 0) as new,
                first.since < coalesce(old.at, before.at) as was_paid
            from standing as old
            full join standing as new on new.stream = old.stream and new.n = old.n + 1
            join first on first.stream = coalesce(old.stream, new.stream)
            left join boundary as before on before.n = new.n - 1
            where coalesce(old.n, new.n - 1) between 0 and 11
        )
        select to_char(timestamptz '2024-01-01' + n * interval '1 month', 'YYYY-MM'), currency,
            report.half_even(coalesce(sum(new) filter (where old = 0 and not was_paid), 0), 12),
            report.half_even(coalesce(sum(new) filter (where old = 0 and was_paid), 0), 12),
            report.half_even(coalesce(sum(new - old) filter (where old > 0 and new > old), 0), 12),
            report.half_even(
                coalesce(sum(old - new) filter (where new > 0 and new < old), 0), 12),
            report.half_even(coalesce(sum(old) filter (where new = 0), 0), 12)
        from turn where old <> new group by n, currency
        """
}
