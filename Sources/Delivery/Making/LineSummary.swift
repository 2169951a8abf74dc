import Domain

/// What a line is at an instant, in a few words.
struct LineSummary {
    private let line: Line
    private let members: [JSON.Member]

    init(_ line: Line, _ settings: Settings, at instant: Instant) {
        self.line = line
        let spans = line.spans(settings)
        let run = line.run(at: instant, spans: spans)
        let intent = line.intent(at: instant)
        members = [
            .init("state", .string(line.state(at: instant, spans: spans).rawValue)),
            .init("product", line.period(at: instant).map { .string($0.product) } ?? .null),
            .init("until", .moment(run?.until)),
            .init("willRenew", intent?.willRenew.map(JSON.bool) ?? .null),
            .init("nextProduct", intent?.nextProduct.map(JSON.string) ?? .null),
            .init("expirationIntent", intent?.expirationIntent.map(JSON.integer) ?? .null),
        ]
    }

    /// As the interface writes it.
    var rendered: JSON {
        .object(
            [
                .init("environment", .string(line.environment.name)),
                .init("originalTransactionId", .string(line.original)),
                .init("bundleId", line.bundle.map(JSON.string) ?? .null),
            ] + members)
    }

    /// What is not as it was, as it was; null for what was not there.
    func before(_ before: LineSummary?) -> JSON {
        let old = before?.members ?? members.map { .init($0.name, .null) }
        return .object(zip(members, old).filter { $0.value != $1.value }.map(\.1))
    }
}

extension Period {
    /// The period as outgoing events name it.
    var facts: [JSON.Member] {
        let end = until ?? .distantFuture
        return [
            .init("transaction", .string(transaction)), .init("product", .string(product)),
            .init("priceMilliunits", priceMilliunits.map(JSON.integer) ?? .null),
            .init("currency", currency.map(JSON.string) ?? .null),
            .init(
                "period",
                JSON(members: [
                    "from": .moment(from), "until": .moment(end),
                    "purchasedAt": .moment(purchasedAt), "class": .string(periodClass.rawValue),
                    "shape": .string(shape.rawValue), "reason": .text(reason),
                    "ownership": .text(ownership),
                    "graceUntil": graceEnd.map { .moment($0) },
                ])),
        ]
    }

    private var graceEnd: Instant? {
        if case .named(let until) = grace { until } else { nil }
    }
}

extension JSON {
    /// An instant as the interface writes it; null for none.
    static func moment(_ instant: Instant?) -> JSON {
        guard let instant, instant != .distantFuture, instant != .distantPast else { return .null }
        return .string(instant.description)
    }
}

extension Entry {
    /// Notifications that do nothing but hand over a statement.
    private static let deliveries: Set<String> = [
        "SUBSCRIBED", "DID_RENEW", "ONE_TIME_CHARGE", "OFFER_REDEEMED",
    ]

    /// Whether it teaches nothing: the same statement signed again, or the notification of a
    /// transaction that was known already, as when an app was faster.
    func onlyRepeats(_ before: Line?, _ after: Line?) -> Bool {
        guard var before, var after else { return false }
        before.position = .start
        after.position = .start
        guard before == after else { return false }
        switch event.content {
        case .confirmation: return true
        case .notice(let notice):
            guard Entry.deliveries.contains(notice.type), let transaction = notice.transaction
            else { return false }
            return before.periods.contains { $0.aliases.contains(transaction) }
        default: return false
        }
    }
}
