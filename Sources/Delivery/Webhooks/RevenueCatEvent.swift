import Domain

/// An outgoing event in the words of RevenueCat's webhooks, for those who move from there.
///
/// Some of our events have no counterpart there: nothing is sent of them.
/// - Source: RevenueCat, "Webhook event types and fields".
struct RevenueCatEvent {
    private let event: OutgoingEvent
    private let json: JSON
    private let type: String
    private var more: [JSON.Member] = []

    init?(_ event: OutgoingEvent) {
        guard let json = try? JSON.parse(event.text) else { return nil }
        self.event = event
        self.json = json
        guard let (type, more) = RevenueCatEvent.meaning(event, json) else { return nil }
        self.type = type
        self.more = more
    }

    /// The event as an object.
    var body: JSON {
        let customer = event.customer.map(JSON.string) ?? .null
        let entitlements = (json["entitlementsAfter"]?.members ?? []).filter {
            $0.value["product"] == json["product"]
        }.map { JSON.string($0.name) }
        let statement = json["body"]?["transaction"]
        var members: [JSON.Member] = [
            .init("id", .string(String(event.number))), .init("type", .string(type)),
            .init("event_timestamp_ms", .integer(event.occurredAt.milliseconds)),
            .init("app_user_id", customer), .init("original_app_user_id", customer),
            .init("aliases", event.customer.map { .array([.string($0)]) } ?? .array([])),
            .init("product_id", json["product"] ?? .null),
            .init("entitlement_ids", entitlements.isEmpty ? .null : .array(entitlements)),
            .init("period_type", .string(periodType)),
            .init("purchased_at_ms", milliseconds(json["period"]?["purchasedAt"])),
            .init("expiration_at_ms", milliseconds(json["period"]?["until"])),
            .init("store", .string("APP_STORE")),
            .init("environment", .string(environment)),
            .init("transaction_id", json["transaction"] ?? .null),
            .init(
                "original_transaction_id", json["line"]?["originalTransactionId"] ?? .null),
            .init("app_id", json["line"]?["bundleId"] ?? .null),
            .init(
                "is_family_share",
                .bool(json["period"]?["ownership"]?.text == "FAMILY_SHARED")),
            .init("country_code", statement?["storefront"] ?? .null),
            .init("currency", json["currency"] ?? .null),
            .init("price_in_purchased_currency", price),
        ]
        members += more
        return .object(members)
    }

    /// Which of RevenueCat's events it is, with the members that this one has of its own.
    private static func meaning(_ event: OutgoingEvent, _ json: JSON)
        -> (String, [JSON.Member])?
    {
        let line = json["line"]
        let shape = json["period"]?["shape"]?.text
        switch event.kind {
        case .purchased:
            if shape != "subscription" { return ("NON_RENEWING_PURCHASE", []) }
            let isFirst = json["transaction"] == line?["originalTransactionId"]
            return (isFirst ? "INITIAL_PURCHASE" : "RENEWAL", [])
        case .renewed, .recovered: return ("RENEWAL", [])
        case .upgraded:
            // The old period's mark repeats what the new period's purchase says.
            if json["body"]?["transaction"]?["isUpgraded"]?.bool == true { return nil }
            return ("PRODUCT_CHANGE", [.init("new_product_id", line?["product"] ?? .null)])
        case .revoked: return ("CANCELLATION", [.init("cancel_reason", .string(refund(json)))])
        case .reversed: return ("REFUND_REVERSED", [])
        case .extended: return ("SUBSCRIPTION_EXTENDED", [])
        case .renewalChanged: return intention(json)
        case .billingFailed:
            return (
                "BILLING_ISSUE",
                [
                    .init(
                        "grace_period_expiration_at_ms",
                        milliseconds(json["period"]?["graceUntil"]))
                ]
            )
        case .lapsed:
            // What time ended has been told when it did.
            let hadAccess = ["trial", "active", "grace"].contains(
                json["before"]?["state"]?.text ?? "")
            return hadAccess ? ("EXPIRATION", [expiration(line)]) : nil
        case .expired, .graceEnded: return ("EXPIRATION", [expiration(line)])
        case .transferred:
            guard let from = json["from"], let to = event.customer else { return nil }
            return (
                "TRANSFER",
                [
                    .init("transferred_from", .array([from])),
                    .init("transferred_to", .array([.string(to)])),
                ]
            )
        default: return nil
        }
    }

    private static func intention(_ json: JSON) -> (String, [JSON.Member])? {
        guard let before = json["before"]?.members, let line = json["line"] else { return nil }
        let old = Dictionary(before.map { ($0.name, $0.value) }) { first, _ in first }
        if line["willRenew"] == .bool(false), old["willRenew"] != nil {
            return ("CANCELLATION", [.init("cancel_reason", .string("UNSUBSCRIBE"))])
        }
        if line["willRenew"] == .bool(true), old["willRenew"] == .bool(false) {
            return ("UNCANCELLATION", [])
        }
        if let next = line["nextProduct"], old["nextProduct"] != nil, next != line["product"] {
            return ("PRODUCT_CHANGE", [.init("new_product_id", next)])
        }
        return nil
    }

    private static func refund(_ json: JSON) -> String {
        json["period"]?["ownership"]?.text == "FAMILY_SHARED" ? "UNKNOWN" : "CUSTOMER_SUPPORT"
    }

    private static func expiration(_ line: JSON?) -> JSON.Member {
        let reasons: [Int64: String] = [
            1: "UNSUBSCRIBE", 2: "BILLING_ERROR", 3: "PRICE_INCREASE",
        ]
        let intent = line?["expirationIntent"]?.integer
        return .init("expiration_reason", .string(intent.flatMap { reasons[$0] } ?? "UNKNOWN"))
    }

    private var periodType: String {
        switch json["period"]?["class"]?.text {
        case "trial": "TRIAL"
        case "intro": "INTRO"
        default: "NORMAL"
        }
    }

    private var environment: String {
        event.environment == .sandbox ? "SANDBOX" : "PRODUCTION"
    }

    /// The price as a decimal number, exact.
    private var price: JSON {
        guard let milliunits = json["priceMilliunits"]?.integer else { return .null }
        let digits = String(milliunits.magnitude % 1_000)
        let padded = String(repeating: "0", count: 3 - digits.count) + digits
        return .number("\(milliunits < 0 ? "-" : "")\(milliunits.magnitude / 1_000).\(padded)")
    }

    private static func milliseconds(_ text: JSON?) -> JSON {
        text?.text.flatMap { Instant($0) }.map { .integer($0.milliseconds) } ?? .null
    }

    private func milliseconds(_ text: JSON?) -> JSON { RevenueCatEvent.milliseconds(text) }
}
