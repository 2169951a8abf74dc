import Domain
import TestLives
import Testing

@Suite("A commitment paid monthly")
struct CommitmentTests {
    /// So many of the twelve payments of 2026.
    private func paid(_ payments: ClosedRange<Int>) -> History {
        var history = History(line: "1")
        for number in payments {
            history.transaction(
                String(number), from: month(number), until: month(number + 1)
            ) { commit(&$0, number) }
        }
        return history
    }

    private func commit(_ statement: inout TransactionStatement, _ number: Int) {
        statement.billingPlan = "MONTHLY"
        statement.commitmentExpiresAt = at("2027-01-01")
        statement.billingPeriodNumber = Int64(number)
        statement.totalBillingPeriods = 12
    }

    private func month(_ number: Int) -> String {
        number > 12 ? "2027-01-01" : "2026-\(number < 10 ? "0" : "")\(number)-01"
    }

    private func giveUp(_ history: inout History, signed: String) {
        history.renewal(signed: signed) { $0.commitmentWillRenew = false }
    }

    private func commitment(_ history: History, at instant: String) -> Commitment? {
        let line = history.told
        return line.commitment(at: at(instant), spans: line.spans(testSettings))
    }

    @Test("that was given up is paid every month until it ends, and then nothing renews")
    func givenUp() {
        var history = paid(1...3)
        history.renewal(signed: "2026-01-01T00:00:05Z") { $0.commitmentWillRenew = true }
        giveUp(&history, signed: "2026-02-10")
        let before = Commitment(
            until: at("2027-01-01"), willRenew: true, payment: 2, payments: 12)
        #expect(commitment(history, at: "2026-02-09") == before)
        let after = Commitment(
            until: at("2027-01-01"), willRenew: false, payment: 2, payments: 12)
        #expect(commitment(history, at: "2026-02-11") == after)
        let answer = history.entitlement(at: "2026-02-11")
        #expect(answer.willRenew == true && answer.until == at("2026-04-01"))
        #expect(history.told.intent(at: at("2026-02-11"))?.willRenew == true)
        var whole = paid(1...12)
        giveUp(&whole, signed: "2026-02-10")
        #expect(whole.told.intent(at: at("2026-11-30"))?.willRenew == true)
        #expect(whole.told.intent(at: at("2026-12-01"))?.willRenew == false)
        #expect(whole.entitlement(at: "2026-12-02").willRenew == false)
        #expect(whole.entitlement(at: "2026-12-02").until == at("2027-01-01"))
        #expect(commitment(whole, at: "2026-12-31")?.payment == 12)
        #expect(commitment(whole, at: "2027-01-01") == nil)
    }

    @Test("renews as another product after its last payment")
    func downgrade() {
        var history = paid(1...12)
        history.renewal(signed: "2026-02-10") {
            $0.renewsProduct = "pro.monthly"
            $0.commitmentWillRenew = true
            $0.commitmentRenewsProduct = "basic.monthly"
        }
        #expect(history.told.intent(at: at("2026-02-11"))?.nextProduct == "pro.monthly")
        #expect(history.told.intent(at: at("2026-12-11"))?.nextProduct == "basic.monthly")
        #expect(history.told.intent(at: at("2026-12-11"))?.willRenew == true)
    }

    @Test("whose payments are not counted has its last one where it ends")
    func uncounted() {
        var history = History(line: "1")
        for number in 11...12 {
            history.transaction(
                String(number), from: month(number), until: month(number + 1)
            ) {
                commit(&$0, number)
                $0.totalBillingPeriods = nil
            }
        }
        giveUp(&history, signed: "2026-02-10")
        #expect(history.told.intent(at: at("2026-11-11"))?.willRenew == true)
        #expect(history.told.intent(at: at("2026-12-11"))?.willRenew == false)
    }

    @Test("that was switched off altogether does not renew, whatever is left to pay")
    func off() {
        var history = paid(1...3)
        history.renewal(signed: "2026-02-10", willRenew: false) { $0.commitmentWillRenew = false }
        #expect(history.told.intent(at: at("2026-02-11"))?.willRenew == false)
    }

    @Test("has no grace, is retried for 90 days, and ends later when collected late")
    func retried() {
        var history = paid(1...3)
        giveUp(&history, signed: "2026-02-10")
        history.notice("DID_FAIL_TO_RENEW", signed: "2026-04-01T00:05Z") { $0.status = 3 }
        history.renewal(signed: "2026-04-01T00:05Z") { $0.isInBillingRetry = true }
        #expect(!history.entitlement(at: "2026-04-01").mayUse)
        #expect(history.told.state(at: at("2026-06-29T23:59:59.999Z"), testSettings) == .retry)
        #expect(commitment(history, at: "2026-06-29")?.willRenew == false)
        #expect(history.told.state(at: at("2026-06-30"), testSettings) == .expired)
        #expect(commitment(history, at: "2026-06-30") == nil)
        history.transaction("4", from: "2026-04-20", until: "2026-05-20") {
            commit(&$0, 4)
            $0.commitmentExpiresAt = at("2027-01-20")
        }
        #expect(history.told.state(at: at("2026-04-19"), testSettings) == .retry)
        #expect(commitment(history, at: "2026-04-19")?.until == at("2027-01-01"))
        #expect(commitment(history, at: "2026-04-20")?.until == at("2027-01-20"))
    }

    @Test("is ended by the refund of its current payment, and not by that of an earlier one")
    func refunded() {
        for (number, isEnded) in [(2, false), (3, true)] {
            var history = paid(1...3)
            history.transaction(
                String(number), from: month(number), until: month(number + 1),
                signed: "2026-03-10"
            ) {
                commit(&$0, number)
                $0.revokedAt = at("2026-03-09")
            }
            #expect((commitment(history, at: "2026-03-11") == nil) == isEnded)
            #expect(history.entitlement(at: "2026-03-11").mayUse != isEnded)
        }
    }

    @Test("is known by its renewal info when the transaction does not say its end")
    func endByRenewal() {
        var history = History(line: "1")
        history.transaction("1", from: "2026-01-01", until: "2026-02-01") {
            $0.billingPlan = "MONTHLY"
        }
        history.renewal(signed: "2026-01-01T00:00:05Z") {
            $0.commitmentRenewsAt = at("2027-01-01")
        }
        #expect(
            commitment(history, at: "2026-01-02")
                == Commitment(
                    until: at("2027-01-01"), willRenew: nil, payment: nil, payments: nil))
    }

    @Test("that Apple sells upfront is none")
    func upfront() {
        var history = History(line: "1")
        history.transaction("1", "basic.yearly", from: "2026-01-01", until: "2027-01-01") {
            $0.billingPlan = "BILLED_UPFRONT"
        }
        #expect(commitment(history, at: "2026-01-02") == nil)
    }

    @Test("is kept by a projection as it is")
    func kept() throws {
        var history = paid(1...3)
        history.renewal(signed: "2026-02-10") {
            $0.commitmentWillRenew = false
            $0.commitmentRenewsProduct = "basic.monthly"
            $0.commitmentRenewsAt = at("2027-01-01")
        }
        history.transaction("4", from: "2026-04-01", until: "2026-05-01") {
            $0.previousOriginal = "900"
        }
        let line = history.told
        #expect(line.previousOriginal == "900")
        let json = try JSON.parse(line.state)
        #expect(try Line(stream: line.stream, position: line.position, state: json) == line)
    }
}
