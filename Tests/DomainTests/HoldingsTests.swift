import Domain
import TestLives
import Testing

@Suite("A customer's holdings")
struct HoldingsTests {
    private let one = CustomerNumber(1)
    private let two = CustomerNumber(2)
    private let three = CustomerNumber(3)

    private func month() -> Line {
        var history = History()
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01")
        history.transaction("1002", from: "2025-06-01", until: "2025-07-01")
        return history.told
    }

    @Test("are a union: a refund of one line takes nothing from another")
    func union() {
        var lifetime = History(line: "8001")
        lifetime.transaction("8001", "pro.lifetime", from: "2025-01-01")
        let holdings = Holdings(
            lines: [month(), lifetime.told], links: [:], settings: testSettings)
        let pro = holdings.verdicts(for: one, at: at("2025-06-11")).entitlements[0]
        #expect(pro.mayUse && pro.until == nil && pro.product == "pro.lifetime")
        #expect(pro.because.map(\.transaction) == ["8001", "1002"])
    }

    @Test("end for the old owner and begin for the new one at a transfer")
    func transfer() {
        var line = month()
        line.claims = [.binding(LineBinding(customer: two, from: at("2025-06-15")))]
        let holdings = Holdings(lines: [line], links: [:], settings: testSettings)
        let before = holdings.verdicts(for: one, at: at("2025-06-14T23:59:59.999Z"))
        #expect(before.entitlements[0].mayUse)
        #expect(before.freshUntil == at("2025-06-15"))
        let old = holdings.verdicts(for: one, at: at("2025-06-15")).entitlements[0]
        #expect(!old.mayUse && old.until == at("2025-06-15"))
        let new = holdings.verdicts(for: two, at: at("2025-06-15")).entitlements[0]
        #expect(new.mayUse && new.since == at("2025-06-15") && new.until == at("2025-07-01"))
        #expect(line.tenures([:], testSettings).map(\.customer) == [one, two])
    }

    @Test("follow a token to the customer that it is bound to")
    func links() {
        let holdings = Holdings(lines: [month()], links: [one: two], settings: testSettings)
        #expect(holdings.verdicts(for: one, at: at("2025-06-11")).entitlements.isEmpty)
        #expect(holdings.verdicts(for: two, at: at("2025-06-11")).entitlements[0].mayUse)
    }

    @Test("stay with the owner when another customer presents the line")
    func presented() {
        var line = month()
        line.claims = [.presentation(Presentation(customer: two, at: at("2025-06-15")))]
        #expect(line.tenures([:], testSettings).map(\.customer) == [one])
    }

    @Test("go to whom the last word names, a transfer or, when so set, a presentation")
    func lastClaim() throws {
        let shown = Line.Claim.presentation(Presentation(customer: two, at: at("2025-06-10")))
        let moved = Line.Claim.binding(LineBinding(customer: three, from: at("2025-06-12")))
        let early = Line.Claim.binding(LineBinding(customer: three, from: at("2025-06-08")))
        let expected: [([Line.Claim], [CustomerNumber])] = [
            ([shown, moved], [one, two, three]), ([moved, shown], [one, two]),
            ([shown, early], [one, three]), ([early, shown], [one, three, two]),
        ]
        for (claims, owners) in expected {
            let line = try kept(month(claims: claims))
            #expect(line.claims == claims)
            #expect(line.tenures([:], lastPresenter).map(\.customer) == owners)
            #expect(!line.tenures([:], testSettings).map(\.customer).contains(two))
        }
    }

    /// A month with claims recorded in this order.
    private func month(claims: [Line.Claim]) -> Line {
        var history = History()
        history.transaction("1002", from: "2025-06-01", until: "2025-07-01")
        let stream = StreamID.line(history.environment, history.line)
        var subscription = recorded(history.observations, stream: stream)
        for (index, claim) in claims.enumerated() {
            let content: Event.Content =
                switch claim {
                case .binding(let binding): .binding(binding)
                case .presentation(let shown): .presentation(shown)
                }
            subscription.apply(entry(Int64(index) + 10, content, in: stream))
        }
        return subscription.line()
    }

    /// A line as a projection gives it back.
    private func kept(_ line: Line) throws -> Line {
        try Line(
            stream: line.stream, position: line.position,
            state: try JSON.parse(line.state))
    }

    private var lastPresenter: Settings {
        testSettings.evolved(
            by: entry(3, .settings(SettingsChange(ownership: .lastPresenter)), in: .settings))
    }

    private func entry(_ place: Int64, _ content: Event.Content, in stream: StreamID) -> Entry {
        Entry(
            position: Position(place), revision: place, recordedAt: Instant(milliseconds: place),
            event: Event(
                kind: .linked, stream: stream, key: "claim/\(place)",
                occurredAt: Instant(milliseconds: 0), observedAt: Instant(milliseconds: 0),
                source: .command, content: content))
    }

    @Test("belong to the first presenter when nothing names an owner")
    func firstPresenter() {
        var history = History()
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01") { $0.token = nil }
        var line = history.told
        #expect(line.tenures([:], testSettings).isEmpty)
        line.claims = [
            .presentation(Presentation(customer: two, at: at("2025-05-09"))),
            .presentation(Presentation(customer: one, at: at("2025-05-10"))),
        ]
        let tenures = line.tenures([:], testSettings)
        #expect(tenures.map(\.customer) == [two] && tenures[0].from == at("2025-05-01"))
    }

    @Test("keep one pass of ninety days for ninety days")
    func pass() {
        var history = History(line: "9001")
        history.transaction("9001", "pass.90d", from: "2025-01-01") {
            $0.type = "Non-Renewing Subscription"
        }
        #expect(history.entitlement(at: "2025-03-31T23:59:59.999Z").until == at("2025-04-01"))
        #expect(!history.entitlement(at: "2025-04-01").mayUse)
    }
}
