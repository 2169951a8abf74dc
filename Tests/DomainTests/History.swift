import Domain
import TestLives

/// A line's life told in a few words, for tests: each fact becomes an observation.
struct History {
    let line: String
    var environment = Environment.production
    var bundle = "com.example.app"
    private(set) var observations: [Observation] = []
    private var made = 0

    init(line: String = "1001") { self.line = line }

    /// A transaction as the app or a notification states it.
    mutating func transaction(
        _ id: String, _ product: String = "pro.monthly", from: String, until: String? = nil,
        signed: String? = nil, source: Source = .app,
        change: (inout TransactionStatement) -> Void = { _ in }
    ) {
        var statement = TransactionStatement(
            transaction: id, original: line, bundle: bundle, product: product,
            purchasedAt: at(from), signedAt: at(signed ?? from), environment: environment)
        statement.expiresAt = until.map(at)
        statement.type = until == nil ? "Non-Consumable" : "Auto-Renewable Subscription"
        statement.webOrderLineItem = until == nil ? nil : "w" + id
        statement.ownership = "PURCHASED"
        statement.priceMilliunits = 9990
        statement.currency = "USD"
        statement.reason = id == line ? "PURCHASE" : "RENEWAL"
        statement.token = CustomerNumber(1)
        if signed == nil { statement.signedAt = statement.purchasedAt.adding(milliseconds: 5000) }
        change(&statement)
        add(
            Observation(
                transaction: Stated(statement, fingerprint()), source: source,
                observedAt: statement.signedAt))
    }

    /// A renewal info.
    mutating func renewal(
        signed: String, willRenew: Bool? = true,
        change: (inout RenewalStatement) -> Void = { _ in }
    ) {
        var statement = RenewalStatement(
            original: line, signedAt: at(signed), environment: environment)
        statement.willRenew = willRenew
        change(&statement)
        add(
            Observation(
                renewal: Stated(statement, fingerprint()), source: .notification,
                observedAt: statement.signedAt))
    }

    /// A notification about a transaction, without statements of its own.
    mutating func notice(
        _ type: String, _ subtype: String? = nil, signed: String,
        change: (inout Notice) -> Void = { _ in }
    ) {
        var notice = Notice(
            uuid: fingerprint().hex, type: type, signedAt: at(signed), environment: environment,
            bundle: bundle)
        notice.subtype = subtype
        notice.original = line
        change(&notice)
        add(Observation(notice: notice, source: .notification, observedAt: notice.signedAt))
    }

    mutating func add(_ observation: Observation) { observations.append(observation) }

    private mutating func fingerprint() -> Fingerprint {
        made += 1
        let digits = String(made)
        return Fingerprint(hex: String(repeating: "0", count: 64 - digits.count) + digits)
    }
}

extension History {
    /// The line after the facts arrived as told.
    var told: Line { recorded(observations, stream: .line(environment, line)).line() }

    /// Verdicts of the customer with number 1 under the catalogue of these tests.
    func verdicts(at instant: String, customer: Int64 = 1) -> Verdicts {
        Holdings(lines: [told], links: [:], settings: testSettings)
            .verdicts(for: CustomerNumber(customer), at: at(instant))
    }

    func entitlement(_ name: String = "pro", at instant: String) -> Entitlement {
        verdicts(at: instant).entitlements.first { $0.name == name } ?? .never(name)
    }
}
