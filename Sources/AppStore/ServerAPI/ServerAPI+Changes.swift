import Domain

/// Days that are given to a customer of a line.
public struct Extension: Sendable, Hashable {
    /// Why they are given.
    public enum Reason: Int64, Sendable, Hashable {
        case undeclared = 0
        case satisfaction = 1
        case other = 2
        case outage = 3
    }

    /// From 1 to 90. Units: days.
    public var days: Int64
    /// Why.
    public var reason: Reason
    /// Names the request: the same one extends once. Shape: 1 to 128 characters.
    public var request: String

    /// So many days for a reason.
    public init(days: Int64, reason: Reason, request: String) {
        self.days = days
        self.reason = reason
        self.request = request
    }
}

/// What a customer had of a purchase that Apple is asked to refund.
///
/// - Source: Apple, consumption information, version 2. Sent only with the customer's consent.
public struct Consumption: Sendable, Hashable {
    /// `DELIVERED`, `UNDELIVERED_QUALITY_ISSUE`, …
    public var delivery: String
    /// Whether the customer could try it first.
    public var hadSample: Bool
    /// How much was used; not for subscriptions. Units: thousandths of a percent.
    public var percentage: Int64?
    /// `DECLINE`, `GRANT_FULL` or `GRANT_PRORATED`.
    public var preference: String?

    /// Consumption that says what it must.
    public init(
        delivery: String, hadSample: Bool, percentage: Int64? = nil, preference: String? = nil
    ) {
        self.delivery = delivery
        self.hadSample = hadSample
        self.percentage = percentage
        self.preference = preference
    }
}

// What changes something at Apple.
extension ServerAPI {
    /// Extends a line's paid time; its new end.
    public func extend(_ original: String, by given: Extension) async throws(ServerAPIError)
        -> Instant
    {
        let call = Call(
            "extend", ["v1", "subscriptions", "extend", original], method: .put, rate: .changes,
            body: JSON(members: [
                "extendByDays": .integer(given.days),
                "extendReasonCode": .integer(given.reason.rawValue),
                "requestIdentifier": .string(given.request),
            ]))
        let reading = try AnswerReading(try await answer(to: call))
        guard try reading.truth("success") else {
            throw .unreadable("`success` is not true, though the status is")
        }
        return Instant(milliseconds: try reading.whole("effectiveDate"))
    }

    /// Tells how much of a transaction was used; the customer has consented.
    public func send(_ consumption: Consumption, for transaction: String)
        async throws(ServerAPIError)
    {
        let call = Call(
            "consumption", ["v2", "transactions", "consumption", transaction], method: .put,
            body: JSON(members: [
                "customerConsented": .bool(true),
                "deliveryStatus": .string(consumption.delivery),
                "sampleContentProvided": .bool(consumption.hadSample),
                "consumptionPercentage": .whole(consumption.percentage),
                "refundPreference": .text(consumption.preference),
            ]))
        _ = try await answer(to: call)
    }

    /// Puts an account token on a line's latest and later transactions.
    public func setToken(_ token: String, on original: String) async throws(ServerAPIError) {
        let call = Call(
            "setToken", ["v1", "transactions", original, "appAccountToken"], method: .put,
            rate: .changes, body: JSON(members: ["appAccountToken": .string(token)]))
        _ = try await answer(to: call)
    }
}
