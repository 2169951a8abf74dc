import Domain
import TestLives
import Testing

@Suite("A line")
struct LineTests {
    private func twoMonths() -> History {
        var history = History()
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01")
        history.transaction("1002", from: "2025-06-01", until: "2025-07-01")
        return history
    }

    @Test("is active from the first purchase to the last expiry, to the millisecond")
    func edges() {
        let history = twoMonths()
        #expect(!history.entitlement(at: "2025-04-30T23:59:59.999Z").mayUse)
        let may = history.entitlement(at: "2025-05-01")
        #expect(may.mayUse && may.until == at("2025-07-01") && may.since == at("2025-05-01"))
        #expect(history.entitlement(at: "2025-06-30T23:59:59.999Z").mayUse)
        let over = history.entitlement(at: "2025-07-01")
        #expect(!over.mayUse && over.state == .expired && over.until == at("2025-07-01"))
    }

    @Test("keeps access when an older period is refunded")
    func olderRefund() {
        var history = twoMonths()
        history.transaction(
            "1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-06-10T12:00Z"
        ) { $0.revokedAt = at("2025-06-10T11:58Z") }
        let answer = history.entitlement(at: "2025-06-11")
        #expect(answer.mayUse && answer.state == .active && answer.until == at("2025-07-01"))
        #expect(history.told.periods[0].isRefunded)
    }

    @Test("ends at the refund of its current period and is restored by the reversal")
    func currentRefund() {
        var history = twoMonths()
        history.transaction(
            "1002", from: "2025-06-01", until: "2025-07-01", signed: "2025-06-10T12:00Z"
        ) { $0.revokedAt = at("2025-06-10T11:58Z") }
        #expect(history.entitlement(at: "2025-06-10T11:57:59.999Z").mayUse)
        let revoked = history.entitlement(at: "2025-06-10T11:58Z")
        #expect(!revoked.mayUse && revoked.state == .revoked)
        history.transaction(
            "1002", from: "2025-06-01", until: "2025-07-01", signed: "2025-06-20T09:00Z")
        #expect(history.entitlement(at: "2025-06-15").mayUse)
        let after = history.entitlement(at: "2025-07-16")
        #expect(!after.mayUse && after.state == .expired)
    }

    @Test("follows an upgrade at once, even one that moves the paid-up date back")
    func upgrade() {
        var history = History()
        history.transaction("1001", "basic.yearly", from: "2025-06-01", until: "2026-06-01")
        history.transaction("1002", from: "2025-06-11", until: "2025-07-11") {
            $0.reason = "PURCHASE"
        }
        #expect(history.entitlement("basic", at: "2025-06-10T23:59:59.999Z").mayUse)
        #expect(!history.entitlement("basic", at: "2025-06-11").mayUse)
        #expect(history.entitlement(at: "2025-06-11").until == at("2025-07-11"))
        #expect(history.told.periods[0].ending == .succession)
    }

    @Test("stays active when it is marked upgraded and no successor is known")
    func successorMissing() {
        var history = History()
        history.transaction(
            "1001", from: "2025-06-01", until: "2025-07-01", signed: "2025-06-11"
        ) { $0.isUpgraded = true }
        let answer = history.entitlement(at: "2025-06-12")
        #expect(answer.mayUse && answer.flags == ["successor_missing"])
    }

    @Test("is in grace until the date that Apple names, then in retry, then expired")
    func grace() {
        var history = History()
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01")
        history.renewal(signed: "2025-06-01T00:05Z") {
            $0.isInBillingRetry = true
            $0.graceExpiresAt = at("2025-06-17")
        }
        #expect(history.entitlement(at: "2025-06-16T23:59:59.999Z").state == .grace)
        let after = history.entitlement(at: "2025-06-17")
        #expect(!after.mayUse && after.state == .retry)
        #expect(history.entitlement(at: "2025-07-30T23:59:59.999Z").state == .retry)
        #expect(history.entitlement(at: "2025-07-31").state == .expired)
    }

    @Test("is given the configured days of grace when Apple names no date")
    func inferredGrace() {
        var history = History()
        history.transaction("1001", "pro.weekly", from: "2025-06-01", until: "2025-06-08")
        history.notice("DID_FAIL_TO_RENEW", "GRACE_PERIOD", signed: "2025-06-08T00:05Z") {
            $0.status = 4
        }
        let weekly = history.entitlement(at: "2025-06-10")
        #expect(weekly.until == at("2025-06-14") && weekly.flags == ["grace_inferred"])
        history.notice("GRACE_PERIOD_EXPIRED", signed: "2025-06-12")
        #expect(history.entitlement(at: "2025-06-10").until == at("2025-06-12"))
    }

    @Test("ignores a grace date left over from an earlier episode")
    func staleGrace() {
        var history = twoMonths()
        history.renewal(signed: "2025-06-20") { $0.graceExpiresAt = at("2025-06-17") }
        #expect(!history.entitlement(at: "2025-07-01").mayUse)
    }

    @Test("begins at the first signing of a first purchase that is dated ahead")
    func startInFuture() {
        var history = History()
        history.transaction(
            "1001", from: "2024-11-03T09:36:02Z", until: "2024-12-03T09:36:02Z",
            signed: "2024-11-03T08:36:33Z")
        let answer = history.entitlement(at: "2024-11-03T08:36:33Z")
        #expect(answer.mayUse && answer.flags == ["start_in_future"])
        #expect(!history.entitlement(at: "2024-11-03T08:36:32.999Z").mayUse)
        #expect(history.told.periods[0].purchasedAt == at("2024-11-03T09:36:02Z"))
    }

    @Test("joins a renewal that was charged early to its end at once")
    func earlyRenewal() {
        var history = twoMonths()
        history.transaction(
            "1003", from: "2025-07-01", until: "2025-08-01", signed: "2025-06-30T14:00Z")
        #expect(history.entitlement(at: "2025-06-30T15:00Z").until == at("2025-08-01"))
        #expect(!history.told.periods[2].flags.contains("start_in_future"))
    }

    @Test("counts one period under two transaction ids once")
    func aliases() {
        var history = History()
        history.transaction("1001", from: "2025-05-01", until: "2025-06-01") {
            $0.webOrderLineItem = "77"
        }
        history.transaction("1000", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-02") {
            $0.webOrderLineItem = "77"
        }
        #expect(history.told.periods.map(\.aliases) == [["1000", "1001"]])
    }

    @Test("gives nothing when the expiry is not after the purchase")
    func inverted() {
        var history = History()
        history.transaction("1001", from: "2025-06-01T00:00:10Z", until: "2025-06-01")
        #expect(!history.entitlement(at: "2025-06-01T00:00:05Z").mayUse)
        #expect(!history.entitlement(at: "2025-06-02").mayUse)
    }

    @Test("says what the customer intended at any instant")
    func intent() {
        var history = twoMonths()
        history.renewal(signed: "2025-06-10", willRenew: false)
        history.renewal(signed: "2025-06-12", willRenew: true)
        #expect(history.entitlement(at: "2025-06-09").willRenew == nil)
        #expect(history.entitlement(at: "2025-06-11").willRenew == false)
        #expect(history.entitlement(at: "2025-06-13").willRenew == true)
    }

    @Test("ends at the later date of an extension")
    func extended() {
        var history = twoMonths()
        history.notice("RENEWAL_EXTENDED", signed: "2025-06-20") {
            $0.transaction = "1002"
            $0.renewsAt = at("2025-07-16")
        }
        #expect(history.entitlement(at: "2025-06-19").until == at("2025-07-16"))
    }

    @Test("has no retry when the customer left")
    func leftCustomer() {
        var history = twoMonths()
        history.renewal(signed: "2025-07-01T00:01Z", willRenew: false) {
            $0.isInBillingRetry = true
            $0.expirationIntent = 1
        }
        #expect(history.entitlement(at: "2025-07-02").state == .expired)
    }
}
