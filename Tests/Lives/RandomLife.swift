import Domain

/// A random but possible life of one line, as the observations that Apple and apps would send.
public struct RandomLife: Sendable {
    /// What was observed, in the order in which it was signed.
    public private(set) var observations: [Observation] = []
    private let line: Int64
    private var random: SplitMix64
    private var now: Instant
    /// The newest copy of each transaction, in order of purchase.
    private var bought: [TransactionStatement] = []
    private var willRenew = true
    private var grace: Instant?
    private var made = 0

    private static let products = ["pro.monthly", "plus.monthly", "basic.yearly", "pro.weekly"]
    private static let day = Instant.millisecondsPerDay

    /// The stream of the line that a life is about unless another one is named.
    public static let stream = StreamID.line(.production, "5001")

    /// The life of a seed, of a line with this number, from some day after this instant on.
    public init(seed: UInt64, line: Int64 = 5001, from: Instant = at("2025-01-01")) {
        self.line = line
        random = SplitMix64(seed: seed)
        now = from.adding(days: Int64(random.below(40)))
        if random.once(in: 20) {
            state(nil, renewal: info())
            return
        }
        first()
        for _ in 0..<random.below(10) { step() }
    }

    /// Things in a random order, some of them several times.
    public static func arrival<Thing>(_ observations: [Thing], _ random: inout SplitMix64)
        -> [Thing]
    {
        let repeated = observations.filter { _ in random.once(in: 3) }
        return (observations + repeated).shuffled(using: &random)
    }

    private mutating func step() {
        now = now.adding(milliseconds: Int64(random.below(9)) * RandomLife.day + 3)
        switch random.below(16) {
        case 0, 1, 2: renew(after: 0)
        case 3: fail()
        case 4: renew(after: Int64(random.below(70)) * RandomLife.day)
        case 5: upgrade()
        case 6: state(nil, renewal: info { $0.renewsProduct = "basic.yearly" }, "DID_CHANGE")
        case 7: refund()
        case 8: reverse()
        case 9: extend()
        case 10: cancel()
        case 11: sign(again: random.below(bought.count)) { _ in }
        case 12: alias()
        case 13: addSeats()
        case 14: takeSeatsBack()
        default: repeatSomething()
        }
    }

    private mutating func first() {
        var statement = transaction(String(line), from: now, days: random.once(in: 3) ? 7 : 30)
        statement.reason = "PURCHASE"
        if random.once(in: 3) {
            statement.offerType = 1
            statement.offerDiscountType = "FREE_TRIAL"
            statement.priceMilliunits = 0
        }
        if random.once(in: 6) {
            statement.signedAt = statement.purchasedAt.adding(milliseconds: -3_600_000)
        }
        if random.once(in: 8) { statement.ownership = "FAMILY_SHARED" }
        bought.append(statement)
        state(statement, renewal: random.once(in: 2) ? info() : nil, "SUBSCRIBED")
    }

    private mutating func renew(after gap: Int64) {
        guard let last = bought.last, let end = last.expiresAt else { return }
        var statement = transaction(nextID(), from: end.adding(milliseconds: gap), days: 30)
        statement.product = last.product
        statement.reason = gap > 0 && random.once(in: 2) ? "PURCHASE" : "RENEWAL"
        now = max(now, statement.purchasedAt)
        statement.signedAt = now
        if random.once(in: 4) {
            statement.signedAt = statement.purchasedAt.adding(milliseconds: -36_000_000)
        }
        grace = nil
        willRenew = true
        bought.append(statement)
        state(statement, renewal: random.once(in: 2) ? info() : nil, "DID_RENEW")
    }

    private mutating func fail() {
        guard let end = bought.last?.expiresAt else { return }
        now = max(now, end.adding(milliseconds: 300_000))
        let isGrace = random.once(in: 2)
        grace = isGrace && random.once(in: 2) ? end.adding(days: 16) : nil
        var info = info { $0.isInBillingRetry = true }
        info.graceExpiresAt = grace
        state(nil, renewal: info, "DID_FAIL_TO_RENEW", isGrace ? "GRACE_PERIOD" : nil)
        if random.once(in: 3) {
            now = now.adding(days: Int64(random.below(20)))
            state(nil, renewal: nil, "GRACE_PERIOD_EXPIRED")
        }
    }

    private mutating func upgrade() {
        guard let last = bought.last, let end = last.expiresAt else { return }
        let moment = min(now, end.adding(milliseconds: -1))
        var statement = transaction(
            nextID(), from: max(moment, last.purchasedAt.adding(milliseconds: 1)), days: 30)
        statement.product = RandomLife.products[random.below(RandomLife.products.count)]
        statement.reason = "PURCHASE"
        if random.once(in: 2) { sign(again: bought.count - 1) { $0.isUpgraded = true } }
        bought.append(statement)
        state(statement, renewal: nil, "DID_CHANGE_RENEWAL_PREF", "UPGRADE")
    }

    private mutating func refund() {
        let revokedAt = now
        let share: Int64? = random.once(in: 2) ? Int64(random.below(120_000)) : nil
        sign(again: random.below(bought.count)) {
            $0.revokedAt = revokedAt
            $0.revocationPercentage = share
        }
    }

    private mutating func reverse() {
        sign(again: random.below(bought.count)) {
            $0.revokedAt = nil
            $0.revocationPercentage = nil
        }
    }

    private mutating func extend() {
        guard let last = bought.last, let end = last.expiresAt else { return }
        let later = end.adding(days: Int64(random.below(20)))
        if random.once(in: 2) { sign(again: bought.count - 1) { $0.expiresAt = later } }
        let info = info { $0.renewsAt = later }
        state(random.once(in: 2) ? last : nil, renewal: info, "RENEWAL_EXTENDED")
    }

    private mutating func cancel() {
        willRenew = false
        let intent: Int64? = random.once(in: 2) ? Int64(1 + random.below(5)) : nil
        state(nil, renewal: info { $0.expirationIntent = intent }, "DID_CHANGE_RENEWAL_STATUS")
    }

    private mutating func alias() {
        var copy = bought[random.below(bought.count)]
        copy.transaction = nextID()
        copy.signedAt = now
        if random.once(in: 2) { copy.priceMilliunits = nil }
        bought.append(copy)
        bought.sort { ($0.purchasedAt, $0.transaction) < ($1.purchasedAt, $1.transaction) }
        state(copy, renewal: nil)
    }

    /// More seats for the rest of the last period.
    private mutating func addSeats() {
        guard var more = bought.last, let end = more.expiresAt, more.webOrderLineItem != nil,
            more.purchasedAt < min(now, end)
        else { return }
        more.transaction = nextID()
        more.purchasedAt = min(now, end.adding(milliseconds: -1))
        more.signedAt = now
        more.quantity = Int64(1 + random.below(3))
        more.reason = "PURCHASE"
        more.additionalReason = random.once(in: 4) ? nil : "SEAT_ADDITION"
        more.seats = SeatStatement(tiers: [
            SeatStatement.Tier(priceMilliunits: 4990, quantity: more.quantity ?? 1)
        ])
        more.revokedAt = nil
        bought.append(more)
        state(more, renewal: nil, "DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY")
    }

    private mutating func takeSeatsBack() {
        let revoked = Int64(1 + random.below(2))
        sign(again: random.below(bought.count)) { $0.seats?.revokedQuantity = revoked }
    }

    /// Something that was stated before, in a notification of its own or as it was.
    private mutating func repeatSomething() {
        let old = observations[random.below(observations.count)]
        var notice = notice("CONSUMPTION_REQUEST", nil)
        notice.transaction = old.transaction?.content.transaction
        observations.append(
            Observation(
                notice: notice, transaction: old.transaction, renewal: old.renewal,
                source: .notification, observedAt: now))
    }

    /// Another copy of a transaction, now and then of the same signing as the one before.
    private mutating func sign(
        again index: Int, change: (inout TransactionStatement) -> Void
    ) {
        var copy = bought[index]
        change(&copy)
        if !random.once(in: 4) { copy.signedAt = max(now, copy.signedAt) }
        if random.once(in: 6) { copy.priceMilliunits = nil }
        if random.once(in: 12) { copy.flags = ["clock_skew"] }
        bought[index] = copy
        state(copy, renewal: nil, random.once(in: 2) ? "REFUND" : nil)
    }

    private mutating func transaction(_ id: String, from: Instant, days: Int64)
        -> TransactionStatement
    {
        var statement = TransactionStatement(
            transaction: id, original: String(line), bundle: "com.example.app",
            product: RandomLife.products[random.below(RandomLife.products.count)],
            purchasedAt: from, signedAt: from.adding(milliseconds: 5000), environment: .production)
        statement.expiresAt = from.adding(days: days)
        statement.type = random.once(in: 5) ? nil : "Auto-Renewable Subscription"
        statement.webOrderLineItem = random.once(in: 5) ? nil : "w" + id
        statement.ownership = "PURCHASED"
        statement.priceMilliunits = 9990
        statement.currency = "USD"
        statement.token = random.once(in: 4) ? nil : CustomerNumber(1)
        return statement
    }

    private mutating func info(_ change: (inout RenewalStatement) -> Void = { _ in })
        -> RenewalStatement
    {
        var info = RenewalStatement(
            original: String(line), signedAt: now, environment: .production)
        info.willRenew = random.once(in: 6) ? nil : willRenew
        info.product = bought.last?.product
        info.graceExpiresAt = grace
        change(&info)
        return info
    }

    private mutating func notice(_ type: String, _ subtype: String?) -> Notice {
        made += 1
        var notice = Notice(
            uuid: "notice-\(line)-\(made)", type: type, signedAt: now, environment: .production,
            bundle: "com.example.app")
        notice.subtype = subtype
        notice.original = String(line)
        return notice
    }

    /// Sends statements: in a notification when it has a type and luck, else from elsewhere.
    private mutating func state(
        _ transaction: TransactionStatement?, renewal: RenewalStatement?, _ type: String? = nil,
        _ subtype: String? = nil
    ) {
        var heard: Notice?
        if let type, transaction == nil || !random.once(in: 3) {
            heard = notice(type, subtype)
            heard?.transaction = transaction?.transaction
            heard?.renewalSignedAt = renewal?.signedAt
            heard?.renewsAt = renewal?.renewsAt
        }
        let elsewhere: [Source] = [.serverAPI, .app, .importedAnswer]
        observations.append(
            Observation(
                notice: heard, transaction: transaction.map { Stated($0, fingerprint()) },
                renewal: renewal.map { Stated($0, fingerprint()) },
                source: heard == nil ? elsewhere[random.below(3)] : .notification, observedAt: now))
    }

    private mutating func nextID() -> String {
        made += 1
        return String(line + Int64(made))
    }

    private mutating func fingerprint() -> Fingerprint {
        var hex = ""
        for _ in 0..<4 {
            let digits = String(random.next(), radix: 16)
            hex += String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        return Fingerprint(hex: hex)
    }
}
