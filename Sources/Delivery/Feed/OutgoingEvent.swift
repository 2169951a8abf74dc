public import Domain

/// An event as it leaves the ledger.
public struct OutgoingEvent: Sendable {
    /// Its place among all outgoing events, from 1, without gaps.
    public let number: Int64
    /// An entry's kind, or `expired` or `graceEnded`.
    public let kind: Kind
    /// The stream of the line, token or customer.
    public let stream: StreamID
    /// When it happened.
    public let occurredAt: Instant
    /// The whole event as the interface writes it: a JSON object.
    public let text: [UInt8]
    /// Its world; `nil` when it is of all of them.
    public let environment: Environment?
    /// The backend's id of the customer, or a token; `nil` for nobody, or for an erased one.
    public let customer: String?
    /// Whom something went to, or came from.
    public let counterpart: String?

    init(
        number: Int64, kind: Kind, stream: StreamID, occurredAt: Instant,
        environment: Environment?, customer: String?, counterpart: String?, isGain: Bool,
        body: [UInt8]
    ) {
        self.number = number
        self.kind = kind
        self.stream = stream
        self.occurredAt = occurredAt
        self.environment = environment
        self.customer = customer
        self.counterpart = counterpart
        var head: [JSON.Member] = [
            .init("number", .integer(number)),
            .init("customer", customer.map(JSON.string) ?? .null),
        ]
        if let counterpart { head.append(.init(isGain ? "from" : "to", .string(counterpart))) }
        // The rest was written when the event was made; its text goes on behind the head's.
        var text = JSON.object(head).bytes()
        if body.count > 2 {
            text[text.count - 1] = UInt8(ascii: ",")
            text += body.dropFirst()
        }
        self.text = text
    }
}
