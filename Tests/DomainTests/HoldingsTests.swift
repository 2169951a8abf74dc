import Domain
import Testing

@Suite("A customer's holdings")
struct HoldingsTests {
    private let one = CustomerNumber(1)
    private let two = CustomerNumber(2)

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
        line.bindings = [LineBinding(customer: two, from: at("2025-06-15"))]
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
        line.presentations = [Presentation(customer: two, at: at("2025-06-15"))]
        #expect(line.tenures([:], testSettings).map(\.customer) == [one])
    }

    @Test("belong to the first presenter when nothing names an owner")
    func firstPresenter() {
        var history = History()
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01") { $0.token = nil }
        var line = history.told
        #expect(line.tenures([:], testSettings).isEmpty)
        line.presentations = [
            Presentation(customer: two, at: at("2025-05-09")),
            Presentation(customer: one, at: at("2025-05-10")),
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
