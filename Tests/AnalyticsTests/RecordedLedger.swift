import Analytics
import Diagnostics
import Domain
import EventLoop
import Ledger
import Postgres
import Projecting
import TestLives
import TestSupport
import Testing

/// A ledger in a database of its own, the lives that it records, and its projections.
struct RecordedLedger: Sendable {
    let address: String
    let loop: EventLoop
    let pool: ConnectionPool
    let writer: Writer
    /// How many customers there are.
    let people: Int

    var reader: LedgerReader { LedgerReader(pool) }
    /// Answers from projections where it can.
    var metrics: MetricReader { MetricReader(reader, projected: pool) }

    /// Runs a test on a fresh ledger that has the tests' settings.
    static func run(people: Int = 40, _ body: (RecordedLedger) async throws -> Void) async throws {
        let address = try await TestCluster.freshDatabase()
        let session = try await BlockingConnection.open(address)
        _ = try await Migrator(session).migrate()
        await session.close()
        let loop = EventLoop(name: "metrics")
        defer { loop.stop() }
        let pool = ConnectionPool(
            ConnectionPool.Settings(
                connectionString: address, access: .readWrite, options: Migrator.sessionOptions),
            on: loop)
        await pool.start()
        try await pool.waitUntilAvailable(within: .seconds(300))
        let writer = Writer(
            on: loop, limits: Writer.Limits(),
            connect: { () async throws(PostgresError) -> Connection in
                try await Connection.open(
                    address, on: loop, options: Migrator.sessionOptions, within: .seconds(30))
            }, clock: { at("2026-01-01") }, draw: { CustomerNumber(.random(in: 1 ... .max)) },
            onAppend: { _, _ in })
        let ledger = RecordedLedger(
            address: address, loop: loop, pool: pool, writer: writer, people: people)
        do {
            try await body(ledger)
            await writer.close()
            await pool.close()
        } catch {
            await writer.close()
            await pool.close()
            throw error
        }
    }

    /// Appends settings.
    func set(_ content: Event.Content) async throws {
        _ = try await writer.append(
            Proposal(streams: { _ in [.settings] }) { known in
                let next = known.subscription(.settings).revision + 1
                return .append([
                    Event(
                        kind: .settingsChanged, stream: .settings, key: "settings/\(next)",
                        occurredAt: at("2025-01-01"), observedAt: at("2025-01-01"),
                        source: .command, content: content)
                ])
            })
    }

    /// Appends the varied lives of lines, many at a time, each in its order.
    func record(_ lines: some Sequence<Int64>, seed: UInt64) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, line) in lines.enumerated() {
                if number >= 64 { try await group.next() }
                group.addTask {
                    let life = variedLife(seed &* 7_919 &+ UInt64(line), line: line, people: people)
                    for observation in life { try await record(observation) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Appends what an observation teaches.
    func record(_ observation: Observation) async throws {
        let statement = observation.transaction?.content
        let original =
            statement?.original ?? observation.renewal?.content.original
            ?? observation.notice?.original
        guard let original else { return }
        let stream = StreamID.line(statement?.environment ?? .production, original)
        _ = try await writer.append(
            Proposal(streams: { _ in [stream] }) { known in
                .append(decide(observation, given: known.subscription(stream)))
            })
    }

    /// Says at random whose tokens and lines are, and who is whom.
    func bind(_ count: Int, _ random: inout SplitMix64) async throws {
        let lines = try await pool.query(
            "select distinct stream from ledger.entry where starts_with(stream, 'apple/')")
        var streams: [StreamID] = []
        for row in lines { streams.append(StreamID(name: try row.text(0))) }
        streams.sort()
        for _ in 0..<count {
            let customer = CustomerNumber(Int64(1 + random.below(people)))
            let other = CustomerNumber(Int64(1 + random.below(people)))
            let when = at("2024-12-15").adding(days: Int64(random.below(400)))
            let line = streams[random.below(streams.count)]
            switch random.below(5) {
            case 0:
                try await say(
                    .tokenLink(TokenLink(token: customer, customer: other)),
                    of: .token(customer))
            case 1:
                try await say(
                    .binding(
                        LineBinding(customer: other, from: random.once(in: 2) ? when : nil)),
                    of: line)
            case 2:
                try await say(.presentation(Presentation(customer: other, at: when)), of: line)
            // Never in a circle.
            case 3 where customer < other:
                try await say(.merge(Merge(into: other, at: when)), of: .customer(customer))
            case 4 where customer < other && random.once(in: 2):
                try await say(.unmerge(Merge(into: other, at: when)), of: .customer(customer))
            default: continue
            }
        }
    }

    private func say(_ content: Event.Content, of stream: StreamID) async throws {
        _ = try await writer.append(
            Proposal(streams: { _ in [stream] }) { known in
                let next = known.subscription(stream).revision + 1
                return .append([
                    Event(
                        kind: .linked, stream: stream, key: "said/\(next)",
                        occurredAt: at("2025-01-01"), observedAt: at("2025-01-01"),
                        source: .command, content: content)
                ])
            })
    }

    /// What questions come to by a fold of the record, which reads every line once.
    func folded(_ questions: [MetricQuestion], upTo last: Position) async throws -> [Measurement] {
        let settings = try await reader.entries(of: [.settings], upTo: last)
            .reduce(Settings()) { $0.evolved(by: $1) }
        let people = try await metrics.people(upTo: last)
        let middle = questions.count / 2
        async let first = folded(questions[..<middle], settings, people, upTo: last)
        async let second = folded(questions[middle...], settings, people, upTo: last)
        return try await first + second
    }

    private func folded(
        _ questions: ArraySlice<MetricQuestion>, _ settings: Settings, _ people: People,
        upTo last: Position
    ) async throws -> [Measurement] {
        var measurements = questions.map { Measurement($0, settings: settings, people: people) }
        func take(_ subscription: Subscription) {
            guard subscription.stream.line != nil else { return }
            let line = subscription.line()
            for place in measurements.indices { measurements[place].take(line) }
        }
        var current: Subscription?
        var place: (stream: StreamID, revision: Int64)?
        while true {
            let page = try await reader.entriesByStream(
                "apple/", after: place, upTo: last, atMost: 2_000)
            for entry in page {
                let stream = entry.event.stream
                if let done = current, done.stream != stream {
                    take(done)
                    current = nil
                }
                current = current ?? Subscription(stream)
                current?.apply(entry)
                place = (stream, entry.revision)
            }
            if page.count < 2_000 { break }
        }
        if let current { take(current) }
        for place in measurements.indices { measurements[place].settle() }
        return measurements
    }

    /// How far the record goes.
    func head() async throws -> Position { try await reader.head().position }

    /// Keeps projections level while a body runs, and waits until they are before it ends.
    func following(
        _ projections: [any Projection] = [PeriodsProjection(), MetricsProjection()],
        _ body: () async throws -> Void = {}
    ) async throws {
        let tasks = projections.map { projection in
            let projector = Projector(
                projection, reader: reader, pool: pool, on: loop,
                name: "\(UInt64.random(in: 0 ... .max))",
                gauges: Projector.Gauges(MetricRegistry(), projection: projection.name),
                clock: { at("2026-01-01") })
            return Task { await projector.run() }
        }
        do {
            try await body()
            for projection in projections { try await level(projection) }
        } catch {
            for task in tasks { task.cancel() }
            throw error
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func level(_ projection: any Projection) async throws {
        let head = try await head()
        try await until { try await status(projection).position >= head }
    }

    /// Waits until a condition holds.
    func until(_ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(cases(600, long: 7_200))
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                Issue.record("what was waited for has not come")
                return
            }
            try await loop.sleep(for: .milliseconds(2))
        }
    }

    /// How a projection stands.
    func status(_ projection: any Projection) async throws -> ProjectionStatus {
        try await ProjectionRegistry(pool).status(of: projection.name)
    }

    /// What builds a projection anew.
    func rebuild(_ projection: any Projection) -> Rebuild {
        let address = address
        return Rebuild(
            projection, pool: pool, reader: reader,
            resources: Rebuild.Resources(
                workers: 2, memoryMiB: 64,
                connect: { () async throws(PostgresError) in
                    try await BlockingConnection.open(
                        address, options: Migrator.sessionOptions, name: "rebuild")
                }), runner: "test", clock: { at("2026-01-01") })
    }

    /// One number that the database answers.
    func number(_ sql: String) async throws -> Int64 { try await pool.query(sql).only().int8(0) }
}

/// The settings that the tests of lives use, as the record holds them.
let testSettingsContents: [Event.Content] = {
    func plan(_ plan: String, _ level: Int64) -> Product {
        Product(kind: "autoRenewable", group: "G1", level: level, plan: plan)
    }
    return [
        .catalog(
            CatalogChange(products: [
                "plus.monthly": plan("P1M", 1), "pro.monthly": plan("P1M", 2),
                "pro.weekly": plan("P1W", 2), "basic.yearly": plan("P1Y", 3),
            ])), .settings(SettingsChange(graceDays: ["com.example.app": 16])),
    ]
}()

/// A random life whose line has a currency, an app, prices and a country of its own, and
/// whose token is of one of so many customers.
func variedLife(_ seed: UInt64, line: Int64, people: Int) -> [Observation] {
    var random = SplitMix64(seed: seed)
    let life = RandomLife(seed: random.next(), line: line)
    let currency = ["USD", "EUR", nil][random.below(3)]
    let isOtherApp = random.once(in: 5)
    let prices: [Int64] = [9_990, 4_990, 1_000, 59_990]
    let country = ["USA", "DEU", nil][random.below(3)]
    let token = random.once(in: 4) ? nil : CustomerNumber(Int64(1 + random.below(people)))
    let isSandbox = random.once(in: 12)
    return life.observations.compactMap { observation in
        var varied = observation
        if isSandbox {
            // Renewal infos and notices name their world as well; only purchases are kept here.
            varied.renewal = nil
            varied.notice = nil
            guard varied.transaction != nil else { return nil }
            varied.transaction?.content.environment = .sandbox
        }
        guard let said = varied.transaction?.content else { return varied }
        if let price = said.priceMilliunits, price > 0 {
            let day = said.purchasedAt.milliseconds / 86_400_000
            varied.transaction?.content.priceMilliunits = prices[Int(day % 4)]
        }
        varied.transaction?.content.currency = random.once(in: 9) ? "GBP" : currency
        varied.transaction?.content.storefront = country
        if said.token != nil { varied.transaction?.content.token = token }
        if isOtherApp { varied.transaction?.content.bundle = "com.example.other" }
        return varied
    }
}
