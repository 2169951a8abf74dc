import Domain
import TestLives
import Testing

@Suite("The order of arrival")
struct PermutationTests {
    @Test("changes nothing, nor does a repetition", arguments: ShortHistories.all)
    func permutations(_ told: ShortHistory) {
        let history = told.history
        let expected = Told(history.observations, history)
        for order in permutations(of: history.observations) {
            expect(order, of: history, equals: expected)
            expect(order + order.reversed(), of: history, equals: expected)
            if let first = order.first {
                expect(order + [first], of: history, equals: expected)
                expect([first] + order, of: history, equals: expected)
            }
        }
    }

    private func expect(_ order: [Observation], of history: History, equals expected: Told) {
        let found = Told(order, history)
        #expect(found.line == expected.line)
        #expect(found.verdicts == expected.verdicts)
    }

    private func permutations(of observations: [Observation]) -> [[Observation]] {
        guard observations.count > 1 else { return [observations] }
        return observations.indices.flatMap { index -> [[Observation]] in
            var rest = observations
            let chosen = rest.remove(at: index)
            return permutations(of: rest).map { [chosen] + $0 }
        }
    }
}

/// What a customer is told of a history, whatever the places of its entries.
struct Told {
    let line: Line
    let verdicts: [Verdicts]

    init(_ observations: [Observation], _ history: History) {
        var line = recorded(observations, stream: .line(history.environment, history.line)).line()
        line.position = .start
        self.line = line
        let holdings = Holdings(lines: [line], links: [:], settings: testSettings)
        verdicts = (0..<14).map { step in
            holdings.verdicts(for: CustomerNumber(1), at: at("2025-04-26").adding(days: step * 9))
        }
    }
}

/// A history of at most five observations with its name.
struct ShortHistory: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let history: History

    init(_ name: String, _ tell: (inout History) -> Void) {
        testDescription = name
        var history = History()
        tell(&history)
        self.history = history
    }
}

enum ShortHistories {
    static let all: [ShortHistory] = [
        ShortHistory("refund and reversal") {
            $0.may()
            $0.june()
            $0.june(signed: "2025-06-10T12:00Z") { $0.revokedAt = at("2025-06-10T11:58Z") }
            $0.june(signed: "2025-06-20T09:00Z")
        },
        ShortHistory("refunded twice, reversed once, of one signing") {
            $0.june(signed: "2025-06-10") { $0.revokedAt = at("2025-06-09") }
            $0.june(signed: "2025-06-10", source: .notification) { $0.revokedAt = at("2025-06-08") }
            $0.june(signed: "2025-06-10", source: .serverAPI)
            $0.june(signed: "2025-06-10") { $0.revokedAt = at("2025-06-07") }
        },
        ShortHistory("grace with a date, ended early") {
            $0.may()
            $0.renewal(signed: "2025-06-01T00:05Z") {
                $0.isInBillingRetry = true
                $0.graceExpiresAt = at("2025-06-17")
            }
            $0.renewal(signed: "2025-06-12") { $0.isInBillingRetry = true }
            $0.notice("GRACE_PERIOD_EXPIRED", signed: "2025-06-13")
        },
        ShortHistory("grace without a date") {
            $0.may()
            $0.renewal(signed: "2025-06-01T00:05Z") { $0.isInBillingRetry = true }
            $0.notice("DID_FAIL_TO_RENEW", "GRACE_PERIOD", signed: "2025-06-01T00:05Z") {
                $0.status = 4
                $0.renewalSignedAt = at("2025-06-01T00:05Z")
            }
            $0.notice("GRACE_PERIOD_EXPIRED", signed: "2025-06-09")
        },
        ShortHistory("recovery inside grace") {
            $0.may()
            $0.renewal(signed: "2025-06-01T00:05Z") {
                $0.isInBillingRetry = true
                $0.graceExpiresAt = at("2025-06-17")
            }
            $0.transaction("1002", from: "2025-06-05T10:00Z", until: "2025-07-01")
            $0.renewal(signed: "2025-06-05T10:00:05Z")
        },
        ShortHistory("recovery after a gap") {
            $0.may()
            $0.renewal(signed: "2025-06-01") { $0.isInBillingRetry = true }
            $0.notice("DID_FAIL_TO_RENEW", signed: "2025-06-01")
            $0.transaction("1002", from: "2025-06-20", until: "2025-07-20")
        },
        ShortHistory("an upgrade that shortens what was paid") {
            $0.transaction("1001", "basic.yearly", from: "2025-05-01", until: "2026-05-01")
            $0.transaction("1002", from: "2025-06-11", until: "2025-07-11") {
                $0.reason = "PURCHASE"
            }
            $0.transaction(
                "1001", "basic.yearly", from: "2025-05-01", until: "2026-05-01",
                signed: "2025-06-11T00:00:06Z"
            ) { $0.isUpgraded = true }
        },
        ShortHistory("an extension, by notice and by statement") {
            $0.june()
            $0.notice("RENEWAL_EXTENDED", signed: "2025-06-20") {
                $0.transaction = "1002"
                $0.renewsAt = at("2025-07-16")
            }
            $0.notice("RENEWAL_EXTENDED", signed: "2025-06-22") { $0.renewsAt = at("2025-07-09") }
            $0.transaction(
                "1002", from: "2025-06-01", until: "2025-07-16", signed: "2025-06-20T01:00Z")
        },
        ShortHistory("three transactions that stand for one period") {
            $0.alias("1001", signed: "2025-05-01") { $0.priceMilliunits = 1 }
            $0.alias("1002", signed: "2025-05-02") { $0.priceMilliunits = 2 }
            $0.alias("1003", signed: "2025-05-03") {
                $0.priceMilliunits = nil
                $0.currency = "EUR"
            }
            $0.alias("1001", signed: "2025-05-04") {
                $0.priceMilliunits = nil
                $0.currency = nil
            }
        },
        ShortHistory("seats added, one purchase of them revoked, another copied and revoked") {
            for (id, day, revoked) in [
                ("1001", 1, nil), ("1001", 9, "2025-05-08"), ("1002", 4, nil), ("1003", 12, nil),
                ("1002", 10, "2025-05-09"),
            ] as [(String, Int, String?)] {
                $0.alias(id, signed: "2025-05-\(day < 10 ? "0" : "")\(day)") {
                    if id != "1001" {
                        $0.purchasedAt = at("2025-05-04")
                        $0.additionalReason = "SEAT_ADDITION"
                    }
                    $0.quantity = id == "1001" ? 5 : 2
                    $0.revokedAt = revoked.map(at)
                }
            }
        },
        ShortHistory("a resubscription after a lapse, the expiry told late") {
            $0.june()
            $0.transaction("1003", from: "2025-07-02T08:00Z", until: "2025-08-02T08:00Z") {
                $0.reason = "PURCHASE"
            }
            $0.renewal(signed: "2025-07-02T08:00:02Z")
            $0.notice("EXPIRED", "VOLUNTARY", signed: "2025-07-01T00:00:10Z") { $0.status = 2 }
            $0.renewal(signed: "2025-07-01T00:00:10Z", willRenew: false) { $0.expirationIntent = 1 }
        },
        ShortHistory("a price that is stated, gone and restated") {
            $0.june()
            $0.june(signed: "2025-06-03") { $0.priceMilliunits = nil }
            $0.june(signed: "2025-06-04") { $0.priceMilliunits = 10_990 }
            $0.june(signed: "2025-06-05") { $0.priceMilliunits = nil }
        },
        ShortHistory("a renewal charged early") {
            $0.june()
            $0.transaction(
                "1003", from: "2025-07-01", until: "2025-08-01", signed: "2025-06-30T14:00Z")
            $0.renewal(signed: "2025-06-30T14:00Z")
        },
        ShortHistory("a first purchase dated ahead") {
            $0.transaction(
                "1001", from: "2025-05-01T09:36Z", until: "2025-06-01T09:36Z",
                signed: "2025-05-01T08:36Z")
            $0.transaction(
                "1001", from: "2025-05-01T09:36Z", until: "2025-06-01T09:36Z",
                signed: "2025-05-01T10:00Z", source: .serverAPI)
            $0.renewal(signed: "2025-05-01T08:36Z")
        },
        ShortHistory("renewal infos alone") {
            $0.renewal(signed: "2025-06-01", willRenew: false) { $0.product = "pro.monthly" }
            $0.renewal(signed: "2025-06-01", willRenew: true)
            $0.renewal(signed: "2025-06-02", willRenew: nil) { $0.expirationIntent = 2 }
        },
        ShortHistory("a family member's line, revoked") {
            $0.june { $0.ownership = "FAMILY_SHARED" }
            $0.june(signed: "2025-06-10T00:40Z") {
                $0.ownership = "FAMILY_SHARED"
                $0.revokedAt = at("2025-06-10T00:40Z")
                $0.revocationType = "FAMILY_REVOKE"
            }
            $0.june(signed: "2025-06-11") { $0.ownership = "FAMILY_SHARED" }
        },
        ShortHistory("one payload from an app and from a notification, another of its signing") {
            $0.june(signed: "2025-06-10") { $0.product = "plus.monthly" }
            $0.repeatLast(in: "DID_RENEW", signed: "2025-06-10")
            $0.june(signed: "2025-06-10", source: .serverAPI) { $0.product = "pro.monthly" }
        },
    ]
}

extension History {
    fileprivate mutating func may() {
        transaction("1001", from: "2025-05-01", until: "2025-06-01")
    }

    fileprivate mutating func june(
        signed: String? = nil, source: Source = .app,
        change: (inout TransactionStatement) -> Void = { _ in }
    ) {
        transaction(
            "1002", from: "2025-06-01", until: "2025-07-01", signed: signed, source: source,
            change: change)
    }

    fileprivate mutating func alias(
        _ id: String, signed: String, change: (inout TransactionStatement) -> Void
    ) {
        transaction(id, from: "2025-05-01", until: "2025-06-01", signed: signed) {
            $0.webOrderLineItem = "77"
            change(&$0)
        }
    }

    /// The last statement again, within a notification.
    fileprivate mutating func repeatLast(in type: String, signed: String) {
        guard let last = observations.last else { return }
        var notice = Notice(
            uuid: "uuid-" + type, type: type, signedAt: at(signed), environment: environment,
            bundle: bundle)
        notice.original = line
        notice.transaction = last.transaction?.content.transaction
        add(
            Observation(
                notice: notice, transaction: last.transaction, renewal: last.renewal,
                source: .notification, observedAt: notice.signedAt))
    }
}
