import Domain

/// A notification as its history holds it.
public struct SentNotification: Sendable, Hashable {
    /// One attempt to deliver it.
    public struct Attempt: Sendable, Hashable {
        /// When it was made.
        public var at: Instant
        /// `SUCCESS`, `TIMED_OUT`, …, raw.
        public var result: String
    }

    /// The notification as it was signed then.
    public var signedPayload: String
    /// The attempts, the first one first.
    public var attempts: [Attempt]

    init(_ json: JSON) throws(ServerAPIError) {
        let reading = try AnswerReading(json)
        signedPayload = try reading.text("signedPayload")
        attempts = []
        for item in try reading.list("sendAttempts") {
            let attempt = try AnswerReading(item)
            attempts.append(
                Attempt(
                    at: Instant(milliseconds: try attempt.whole("attemptDate")),
                    result: try attempt.text("sendAttemptResult")))
        }
    }
}

// What is asked about notifications.
extension ServerAPI {
    /// The error of a page's cursor that is too old; the pages have to be asked for anew.
    public static let cursorExpired: Int64 = 4_000_017

    /// How far back the history of notifications goes. Units: days.
    public static func notificationDays(in environment: Environment) -> Int64 {
        environment == .production ? 180 : 30
    }

    /// The notifications that were made from an instant up to another.
    ///
    /// - Parameter onlyFailures: those alone that did not arrive.
    public func notifications(from: Instant, to: Instant, onlyFailures: Bool = false) -> Pages<
        SentNotification
    > {
        let body = JSON(members: [
            "startDate": .integer(from.milliseconds), "endDate": .integer(to.milliseconds),
            "onlyFailures": onlyFailures ? .bool(true) : nil,
        ])
        return Pages(after: nil) { (token) async throws(ServerAPIError) in
            let call = Call(
                "notifications", ["v1", "notifications", "history"], [("paginationToken", token)],
                method: .post, body: body)
            let reading = try AnswerReading(try await self.answer(to: call))
            var items: [SentNotification] = []
            for item in try reading.list("notificationHistory") {
                items.append(try SentNotification(item))
            }
            return Page(
                items: items, cursor: try reading.textIfAny("paginationToken"),
                hasMore: try reading.truth("hasMore"), environment: reading.environment)
        }
    }

    /// Asks for a notification of type TEST; the token to ask about it with.
    public func requestTest() async throws(ServerAPIError) -> String {
        let call = Call("test", ["v1", "notifications", "test"], method: .post, rate: .tests)
        return try AnswerReading(try await answer(to: call)).text("testNotificationToken")
    }

    /// What became of a notification of type TEST.
    public func test(_ token: String) async throws(ServerAPIError) -> SentNotification {
        let call = Call("testStatus", ["v1", "notifications", "test", token], rate: .tests)
        return try SentNotification(try await answer(to: call))
    }
}
