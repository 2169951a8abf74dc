import Domain
import HTTP

extension Webhook {
    /// The fields of one attempt.
    ///
    /// - Source: Standard Webhooks, "Webhook headers"; several keys sign beside each other.
    func headers(_ event: OutgoingEvent, _ body: [UInt8], at now: Instant) -> [Header] {
        let id = String(event.number)
        let timestamp = now.milliseconds / 1_000
        let signatures = keys.map { $0.signature(id: id, timestamp: timestamp, body: body) }
        return [
            Header("Content-Type", "application/json"), Header("User-Agent", "subledger"),
            Header("webhook-id", id), Header("webhook-timestamp", String(timestamp)),
            Header("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}

extension Webhook.Format {
    /// What is sent of an event; `nil` when the format has no word for it.
    func body(of event: OutgoingEvent) -> [UInt8]? {
        switch self {
        case .standard:
            let head = JSON(members: [
                "type": .string(event.kind.name),
                "timestamp": .string(event.occurredAt.description),
            ]).bytes()
            return head.dropLast() + Array(#","data":"#.utf8) + event.text
                + [UInt8(ascii: "}")]
        case .revenueCat:
            return RevenueCatEvent(event).map { event in
                JSON.object([
                    .init("api_version", .string("1.0")), .init("event", event.body),
                ]).bytes()
            }
        }
    }
}
