import Domain

/// One notification: what it says, and how it was delivered.
struct Notice: Sendable {
    /// One attempt to deliver.
    struct Attempt: Sendable {
        var at: Instant
        /// As the store spells it: `SUCCESS`, `NO_RESPONSE`, …
        var result: String
    }

    let uuid: String
    let type: String
    let subtype: String?
    let environment: Environment
    let signedAt: Instant
    /// Whom it is about; `nil` for a test.
    let person: Int?
    /// The transaction that it carries.
    let transaction: String?
    let original: String?
    /// What is signed inside it.
    let transactionPayload: JSON?
    let renewalPayload: JSON?
    let status: Int64?
    var consumptionReason: String?
    /// The signed text, from its first signing on.
    var signedPayload: String?
    var attempts: [Attempt] = []
    /// Whether the schedule of attempts has come to its end.
    var isSettled = false

    /// Whether an attempt succeeded.
    var isDelivered: Bool { attempts.contains { $0.result == "SUCCESS" } }
}

extension World {
    /// Tells about a chain's latest transaction.
    mutating func tell(_ type: String, _ subtype: String?, on chain: Int) {
        tell(type, subtype, about: latest(chain))
    }

    /// Tells the purchaser, and each member by a notification of their own.
    mutating func tellFamily(_ type: String, _ subtype: String?, on chain: Int) {
        tell(type, subtype, on: chain)
        for member in chains[chain].members where chains[member].sharedFrom == chain {
            let isFollower = !chains[member].isOver || type == "EXPIRED"
            if isFollower { tell(type, subtype, on: member) }
        }
    }

    /// Tells about a transaction.
    mutating func tell(
        _ type: String, _ subtype: String?, about place: Int, consumptionReason: String? = nil
    ) {
        let transaction = transactions[place]
        let chain = chains[transaction.chain]
        let isSubscription = chain.group != nil
        let signedAt = stamp(transaction.chain)
        notices.append(
            Notice(
                uuid: chance.uuid(), type: type, subtype: subtype,
                environment: people[transaction.person].environment, signedAt: signedAt,
                person: transaction.person, transaction: transaction.id, original: chain.id,
                transactionPayload: payload(of: transaction, signedAt: signedAt),
                renewalPayload: isSubscription
                    ? renewalPayload(of: transaction.chain, signedAt: signedAt) : nil,
                status: isSubscription ? status(transaction.chain, at: signedAt) : nil,
                consumptionReason: consumptionReason))
    }

    /// A notification that says nothing but that notifications arrive; its place.
    mutating func tellTest(_ environment: Environment, uuid: String) -> Int {
        notices.append(
            Notice(
                uuid: uuid, type: "TEST", subtype: nil, environment: environment,
                signedAt: now, person: nil, transaction: nil, original: nil,
                transactionPayload: nil, renewalPayload: nil, status: nil))
        return notices.count - 1
    }

    /// A notification's signed text; the same every time.
    mutating func signed(_ place: Int, by authority: Authority) -> String {
        if let text = notices[place].signedPayload { return text }
        let notice = notices[place]
        let data = JSON(members: [
            "appAppleId": .integer(app.appAppleId), "bundleId": .string(app.bundleId),
            "bundleVersion": .string("1"), "environment": .string(notice.environment.name),
            "signedTransactionInfo": .text(notice.transactionPayload.map(authority.sign)),
            "signedRenewalInfo": .text(notice.renewalPayload.map(authority.sign)),
            "status": .whole(notice.status),
            "consumptionRequestReason": .text(notice.consumptionReason),
        ])
        let payload = JSON(members: [
            "notificationType": .string(notice.type), "subtype": .text(notice.subtype),
            "notificationUUID": .string(notice.uuid), "data": data, "version": .string("2.0"),
            "signedDate": .instant(notice.signedAt),
        ])
        let text = authority.sign(payload)
        notices[place].signedPayload = text
        return text
    }
}
