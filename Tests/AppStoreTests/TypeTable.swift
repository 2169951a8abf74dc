import AppStore
import Domain
import TestLives
import TestSigner
import Testing

/// One notification of a line's life, in the members that Apple gives it.
struct Message: Sendable {
    let type: String
    let subtype: String?
    let signedAt: Instant
    var transaction: [String: JSON]?
    var renewal: [String: JSON]?
    var status: Int64?
    /// What stands in the place of `data`.
    var instead: (name: String, members: [String: JSON])?

    init(
        _ type: String, _ subtype: String? = nil, _ signed: String,
        _ transaction: [String: JSON]? = nil, _ renewal: [String: JSON]? = nil,
        status: Int64? = nil, instead: (String, [String: JSON])? = nil
    ) {
        self.type = type
        self.subtype = subtype
        signedAt = at(signed)
        self.transaction = transaction
        self.renewal = renewal
        self.status = status
        self.instead = instead
    }

    /// The message as Apple would send it; its place among the others makes its identity.
    func signed(by store: TestStore, _ place: Int) throws -> String {
        let signedDate: JSON = .integer(signedAt.milliseconds)
        func sign(_ members: [String: JSON]?) throws -> JSON? {
            guard var members else { return nil }
            members["signedDate"] = signedDate
            members["environment"] = .string("Production")
            return .string(try store.sign(Message.text(members)))
        }
        var body: [String: JSON] = ["appAppleId": .integer(1001)]
        body["bundleId"] = .string("com.example.app")
        body["environment"] = .string("Production")
        if let instead {
            body.merge(instead.members) { _, new in new }
            if instead.name == "appData" {
                body["signedAppTransactionInfo"] = .string(
                    try store.sign(
                        Message.text([
                            "bundleId": .string("com.example.app"),
                            "receiptType": .string("Production"),
                            "receiptCreationDate": signedDate,
                        ])))
            }
        } else {
            body["signedTransactionInfo"] = try sign(transaction)
            body["signedRenewalInfo"] = try sign(renewal)
            body["status"] = .whole(status)
        }
        var members: [String: JSON] = [
            "notificationType": .string(type), "version": .string("2.0"),
            "notificationUUID": .string("00000000-0000-4000-8000-00000000000\(place)"),
            "signedDate": signedDate, instead?.name ?? "data": Message.object(body),
        ]
        members["subtype"] = .text(subtype)
        return try store.sign(Message.text(members))
    }

    private static func object(_ members: [String: JSON]) -> JSON {
        .object(members.map { JSON.Member($0.key, $0.value) })
    }

    private static func text(_ members: [String: JSON]) -> String {
        String(decoding: object(members).canonicalBytes(), as: UTF8.self)
    }
}

/// What a notification does to a line with a history, by Apple's documentation.
struct TypeRow: Sendable, CustomTestStringConvertible {
    /// What was heard before.
    let before: [Message]
    /// What is heard now.
    let message: Message
    /// What tells it from the other rows of its type and subtype.
    let note: String?
    /// The line that is looked at.
    var line = "1001"
    /// When it is looked at.
    let instant: String
    /// The entries that are made of it.
    let kinds: [Kind]
    /// State, product, unbroken access, what the customer intends, money.
    let effect: String

    init(
        _ note: String? = nil, after before: [Message], _ message: Message, at instant: String,
        line: String = "1001", _ kinds: [Kind], _ effect: String
    ) {
        self.before = before
        self.message = message
        self.note = note
        self.instant = instant
        self.line = line
        self.kinds = kinds
        self.effect = effect
    }

    var testDescription: String {
        [message.type, message.subtype, note].compactMap { $0 }.joined(separator: " / ")
    }
}

extension Line {
    /// What the line says at an instant, in a few words.
    func summary(at text: String) -> String {
        let instant = at(text)
        let spans = spans(testSettings)
        var words = state(at: instant, spans: spans).rawValue
        if let product = period(at: instant)?.product { words += " " + product }
        if let run = run(at: instant, spans: spans) {
            words += " from \(run.since.brief)"
            if run.until != .distantFuture { words += " until \(run.until.brief)" }
        }
        if let intent = intent(at: instant), let willRenew = intent.willRenew {
            words += willRenew ? ", renews as \(intent.nextProduct ?? "?")" : ", ends"
        }
        if let commitment = commitment(at: instant, spans: spans), let end = commitment.until {
            words += ", bound until \(end.brief)"
            words += commitment.willRenew == true ? " and on" : " only"
        }
        if let seats = period(at: instant)?.seats { words += ", \(seats) seats" }
        let own = periods.filter { $0.periodClass != .family && $0.periodClass != .other }
        words += ", paid \(own.compactMap(\.priceMilliunits).reduce(0, +))"
        let returned = periods.compactMap(\.refund?.priceMilliunits).reduce(0, +)
        if returned != 0 { words += ", returned \(returned)" }
        return words
    }
}

extension Instant {
    /// Without the hours of midnight.
    fileprivate var brief: String {
        description.replacing("T00:00:00.000Z", with: "").replacing(":00.000Z", with: "Z")
    }
}
