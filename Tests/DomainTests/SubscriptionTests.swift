import Domain
import TestLives
import Testing

@Suite("A subscription")
struct SubscriptionTests {
    private func entries(_ history: History) -> [Entry] {
        var subscription = Subscription(.line(history.environment, history.line))
        var entries: [Entry] = []
        for observation in history.observations {
            for event in decide(observation, given: subscription) {
                let revision = subscription.revision + 1
                let entry = Entry(
                    position: Position(revision), revision: revision,
                    recordedAt: observation.observedAt, event: event)
                subscription.apply(entry)
                entries.append(entry)
            }
        }
        return entries
    }

    private func months(_ count: Int) -> History {
        var history = History()
        for month in 1...count {
            history.transaction(
                String(1000 + month), from: "2025-0\(month)-01", until: "2025-0\(month + 1)-01")
        }
        return history
    }

    @Test("learns nothing from an entry that it has taken in before")
    func repeatedEntry() {
        var entries = entries(months(2))
        let binding = Event(
            kind: .linked, stream: entries[0].event.stream, key: "b",
            occurredAt: at("2025-01-01"), observedAt: at("2025-01-01"), source: .command,
            content: .binding(LineBinding(customer: CustomerNumber(2), from: nil)))
        entries.append(
            Entry(
                position: Position(3), revision: 3, recordedAt: at("2025-01-01"), event: binding))
        let stream = entries[0].event.stream
        #expect(
            Subscription(stream, entries: entries + entries)
                == Subscription(stream, entries: entries))
    }

    @Test("that is halted tells its last good fold, and still counts revisions and keys")
    func halted() {
        var entries = entries(months(3))
        let good = Subscription(entries[0].event.stream, entries: entries[0..<1]).line().periods
        entries[1].event.content = .unreadable(Position(2))
        let halted = Subscription(entries[0].event.stream, entries: entries)
        #expect(halted.haltedAt == Position(2))
        #expect(halted.line().periods == good)
        #expect(halted.revision == 3)
        #expect(halted.position(of: entries[2].event.key) == Position(3))
    }

    @Test("records the same statement signed later as a confirmation, even of a confirmation")
    func confirmed() {
        var history = months(1)
        for day in 2...4 {
            history.transaction(
                "1001", from: "2025-01-01", until: "2025-02-01", signed: "2025-01-0\(day)")
        }
        history.renewal(signed: "2025-01-02")
        history.renewal(signed: "2025-01-03")
        let kinds = entries(history).map(\.event.kind)
        #expect(
            kinds == [
                .purchased, .confirmed, .confirmed, .confirmed, .renewalChanged, .confirmed,
            ])
    }

    @Test("lets a confirmation signed after a refund undo it")
    func confirmedReversal() {
        var history = History()
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01")
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-09")
        history.transaction(
            "1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-08"
        ) { $0.revokedAt = at("2025-05-07") }
        #expect(entries(history).map(\.event.kind) == [.purchased, .confirmed, .revoked])
        #expect(history.entitlement(at: "2025-05-10").mayUse)
    }

    @Test("weighs a statement by the notification that repeats it")
    func strengthened() {
        var history = History()
        history.transaction(
            "1001", "plus.monthly", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-01")
        let posted = history.observations[0].transaction
        history.transaction(
            "1001", "pro.monthly", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-01",
            source: .serverAPI)
        #expect(history.told.periods.map(\.product) == ["pro.monthly"])
        let notice = Notice(
            uuid: "u-1", type: "SUBSCRIBED", signedAt: at("2025-05-01"),
            environment: .production, bundle: "com.example.app")
        history.add(
            Observation(
                notice: notice, transaction: posted, source: .notification,
                observedAt: at("2025-05-01")))
        #expect(history.told.periods.map(\.product) == ["plus.monthly"])
    }

    @Test("is owned by whom the last word names, from that word's instant on")
    func lastWord() {
        var line = months(3).told
        let (two, three) = (CustomerNumber(2), CustomerNumber(3))
        line.claims = [
            .binding(LineBinding(customer: two, from: at("2025-03-10"))),
            .binding(LineBinding(customer: three, from: at("2025-02-10"))),
        ]
        let tenures = line.tenures([:], testSettings)
        #expect(tenures.map(\.customer) == [CustomerNumber(1), three])
        #expect(tenures.map(\.from) == [at("2025-01-01"), at("2025-02-10")])
        line.claims.append(.binding(LineBinding(customer: two, from: nil)))
        #expect(line.tenures([:], testSettings).map(\.customer) == [two])
    }

    @Test("of many periods, copies and notices is told whole")
    func long() {
        let week: Int64 = 7 * Instant.millisecondsPerDay
        var history = History(line: "100001")
        let count = 2000
        for index in 0..<count {
            let start = at("2000-01-01").adding(milliseconds: Int64(index) * week)
            history.transaction(
                String(100_001 + index), from: start.description,
                until: start.adding(milliseconds: week).description)
            history.renewal(signed: start.description)
        }
        let line = recorded(
            history.observations.reversed(), stream: .line(history.environment, history.line)
        ).line()
        #expect(line.periods.count == count && line.intents.count == count)
        let end = at("2000-01-01").adding(milliseconds: Int64(count) * week)
        let verdicts = Holdings(lines: [line], links: [:], settings: testSettings)
            .verdicts(for: CustomerNumber(1), at: end.adding(milliseconds: -1))
        #expect(verdicts.entitlements.map(\.since) == [at("2000-01-01")])
        #expect(verdicts.entitlements.map(\.until) == [end])
    }
}
