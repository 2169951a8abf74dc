import Domain
import TestLives
import Testing

@Suite("Customers")
struct CustomersTests {
    private let one = CustomerNumber(1)
    private let two = CustomerNumber(2)

    private func entry(_ position: Int64, _ content: Event.Content) -> Entry {
        Entry(
            position: Position(position), revision: position,
            recordedAt: Instant(milliseconds: position),
            event: Event(
                kind: .granted, stream: .customer(one), key: String(position),
                occurredAt: Instant(milliseconds: 0), observedAt: Instant(milliseconds: 0),
                source: .command, content: content))
    }

    private func customer(_ contents: Event.Content...) -> Customer {
        var customer = Customer(one)
        for (index, content) in contents.enumerated() {
            customer.apply(entry(Int64(index) + 1, content))
        }
        return customer
    }

    private func grant(until: String?) -> Event.Content {
        .grant(
            Grant(
                id: "g1", entitlement: "pro", from: at("2025-06-15"), until: until.map(at),
                reason: "apology"))
    }

    private func holdings(_ lines: [Line], _ known: Customer...) -> Holdings {
        Holdings(
            lines: lines, links: [:], settings: testSettings,
            customers: Customers(Dictionary(uniqueKeysWithValues: known.map { ($0.number, $0) })))
    }

    private func month() -> Line {
        var history = History()
        history.transaction("1001", from: "2025-06-01", until: "2025-07-01")
        return history.told
    }

    @Test("have what was granted beside what they bought, as one unbroken run")
    func union() {
        let holdings = holdings([month()], customer(grant(until: "2025-08-01")))
        let bought = holdings.verdicts(for: one, at: at("2025-06-20")).entitlements[0]
        #expect(bought.state == .granted && bought.until == at("2025-08-01"))
        #expect(bought.because.map(\.grant) == ["g1", nil])
        let after = holdings.verdicts(for: one, at: at("2025-08-01")).entitlements[0]
        #expect(!after.mayUse && after.state == .expired)
    }

    @Test("decide by the purchase when a grant ends at the same instant")
    func tie() {
        let holdings = holdings([month()], customer(grant(until: "2025-07-01")))
        let verdict = holdings.verdicts(for: one, at: at("2025-06-20")).entitlements[0]
        #expect(verdict.state == .active && verdict.because.map(\.line) == ["1001", nil])
    }

    @Test("lose a grant at the instant at which it was taken back, and no sooner")
    func ended() {
        let customer = customer(
            grant(until: nil), .grantEnd(GrantEnd(id: "g1", at: at("2025-07-10"))))
        let holdings = holdings([], customer)
        let during = holdings.verdicts(for: one, at: at("2025-07-01"))
        #expect(during.entitlements[0].mayUse && during.freshUntil == at("2025-07-10"))
        #expect(!holdings.verdicts(for: one, at: at("2025-07-10")).entitlements[0].mayUse)
    }

    @Test("read as the one they were merged into until that is undone")
    func merged() {
        let customer = customer(
            .merge(Merge(into: two, at: at("2025-06-10"))),
            .unmerge(Merge(into: two, at: at("2025-06-12"))))
        let holdings = holdings([month()], customer)
        func mayUse(_ number: CustomerNumber, _ instant: String) -> Bool {
            holdings.verdicts(for: number, at: at(instant)).entitlements.first?.mayUse ?? false
        }
        #expect(mayUse(one, "2025-06-09") && !mayUse(two, "2025-06-09"))
        #expect(mayUse(one, "2025-06-11") && mayUse(two, "2025-06-11"))
        #expect(mayUse(one, "2025-06-13") && !mayUse(two, "2025-06-13"))
        #expect(holdings.verdicts(for: two, at: at("2025-06-11")).freshUntil == at("2025-06-12"))
    }

    @Test("keep their grants and merges through the form in which a projection keeps them")
    func state() throws {
        let customer = customer(
            grant(until: nil), .merge(Merge(into: two, at: at("2025-06-10"))),
            .unmerge(Merge(into: two, at: at("2025-06-12"))))
        let read = try Customer(one, position: customer.position, state: customer.state)
        #expect(read == customer)
    }
}
