import Domain
import TestLives
import Testing

@Suite("A doubt about a line")
struct DoubtTests {
    private func overdue(_ from: String) -> Doubt { Doubt(kind: .overdue, from: at(from)) }

    /// A month that was paid, from 2025-05-01.
    private func month(_ change: (inout History) -> Void = { _ in }) -> Doubt? {
        var history = History()
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01")
        change(&history)
        return history.told.doubt
    }

    @Test("begins when the paid time ends, until something is heard that was signed later")
    func paidTime() {
        #expect(month() == overdue("2025-06-01"))
        #expect(
            month { $0.renewal(signed: "2025-05-31", willRenew: false) } == overdue("2025-06-01"))
        #expect(month { $0.renewal(signed: "2025-06-01", willRenew: false) } == nil)
        let renewed = month {
            $0.transaction("1002", from: "2025-06-01", until: "2025-07-01")
            $0.renewal(signed: "2025-06-01T00:00:05Z")
        }
        #expect(renewed == overdue("2025-07-01"))
    }

    @Test("begins when grace ends, and again when Apple tries no more to collect")
    func grace() {
        let graceful = month {
            $0.renewal(signed: "2025-06-01T00:01Z") {
                $0.isInBillingRetry = true
                $0.graceExpiresAt = at("2025-06-17")
            }
        }
        #expect(graceful == overdue("2025-06-17"))
        let trying = month {
            $0.renewal(signed: "2025-06-01T00:01Z") { $0.isInBillingRetry = true }
        }
        #expect(trying == overdue("2025-07-31"))
        let ended = month {
            $0.renewal(signed: "2025-06-01T00:01Z") { $0.isInBillingRetry = true }
            $0.renewal(signed: "2025-07-31T00:05Z") {
                $0.isInBillingRetry = false
                $0.expirationIntent = 2
            }
        }
        #expect(ended == nil)
    }

    @Test("is there at once when it is not known what a line was upgraded to")
    func successor() {
        let upgraded = month {
            $0.transaction(
                "1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-09"
            ) { $0.isUpgraded = true }
        }
        #expect(upgraded == Doubt(kind: .successorMissing, from: at("2025-05-01")))
        let followed = month {
            $0.transaction(
                "1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-09"
            ) { $0.isUpgraded = true }
            $0.transaction("1002", "pro.yearly", from: "2025-05-09", until: "2026-05-09")
        }
        #expect(followed == overdue("2026-05-09"))
    }

    @Test("is none about what was taken back, or has no end that could be heard of")
    func none() {
        let revoked = month {
            $0.transaction(
                "1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-09"
            ) { $0.revokedAt = at("2025-05-08") }
        }
        #expect(revoked == nil)
        var lifetime = History(line: "8001")
        lifetime.transaction("8001", "pro.lifetime", from: "2025-05-01")
        #expect(lifetime.told.doubt == nil)
        var unknown = History()
        unknown.renewal(signed: "2025-05-01")
        #expect(unknown.told.doubt == nil)
    }
}
