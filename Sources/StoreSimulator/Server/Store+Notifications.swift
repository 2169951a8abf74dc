import Crypto
import Domain
import HTTP

// What was told, and how it was delivered.
extension Store {
    /// The notifications between two instants.
    func notificationHistory(_ call: APICall) throws(APIError) -> Response {
        let body = try call.object()
        let filter = try NotificationFilter(body, in: call.environment, at: world.now)
        let mark =
            "notifications/\(call.environment.name)"
            + String(decoding: body.canonicalBytes(), as: UTF8.self)
        var skip = 0
        if let token = call.value("paginationToken") {
            guard let place = try? PagePlace(token, filter: mark) else { throw .badPage }
            skip = Int(place.change ?? 0)
        }
        let places = world.notices.indices.dropFirst(skip).filter {
            filter.takes(world.notices[$0])
        }
        let page = places.prefix(Store.pageSize)
        let items = page.map { item($0) }
        let hasMore = places.count > page.count
        let next = PagePlace(change: Int64((page.last ?? 0) + 1), filter: mark).text
        return .api(
            JSON(members: [
                "paginationToken": hasMore ? .string(next) : nil, "hasMore": .bool(hasMore),
                "notificationHistory": .array(items),
            ]))
    }

    private func item(_ place: Int) -> JSON {
        let text = world.signed(place, by: authority)
        let attempts = world.notices[place].attempts.prefix(6).map { attempt in
            JSON(members: [
                "attemptDate": .instant(attempt.at), "sendAttemptResult": .string(attempt.result),
            ])
        }
        return JSON(members: [
            "signedPayload": .string(text), "sendAttempts": .array(Array(attempts)),
        ])
    }

    /// Sends a test.
    func test(_ environment: Environment) throws(APIError) -> Response {
        guard notifyURL != nil else { throw .noNotificationURL }
        let place = world.tellTest(environment, uuid: chance.uuid())
        let token = "\(chance.uuid())_\(world.now.milliseconds)"
        tests[token] = place
        return .api(JSON(members: ["testNotificationToken": .string(token)]))
    }

    /// How a test went.
    func testStatus(_ token: String) throws(APIError) -> Response {
        guard let place = tests[token] else {
            throw token.contains("_") ? .noTest : .badTestToken
        }
        return .api(item(place))
    }
}

/// Which notifications are asked for.
struct NotificationFilter {
    private let environment: Environment
    private let from: Int64
    private let until: Int64
    private let type: String?
    private let subtype: String?
    private let transaction: String?
    private let onlyFailures: Bool

    init(_ body: JSON, in environment: Environment, at now: Instant) throws(APIError) {
        self.environment = environment
        guard let from = body["startDate"]?.integer, from >= 0 else { throw .badStart }
        guard let until = body["endDate"]?.integer, until >= 0 else { throw .badEnd }
        guard from < until else { throw .startAfterEnd }
        let days: Int64 = environment == .production ? 180 : 30
        guard from >= now.adding(days: -days - 1).milliseconds else { throw .startTooFar }
        type = body["notificationType"]?.text
        subtype = body["notificationSubtype"]?.text
        transaction = body["transactionId"]?.text
        guard type == nil || transaction == nil else { throw .tooManyFilters }
        guard type?.isEmpty != true, subtype == nil || type != nil else { throw .badType }
        onlyFailures = body["onlyFailures"]?.bool ?? false
        self.from = from
        self.until = until
    }

    func takes(_ notice: Notice) -> Bool {
        let signed = notice.signedAt.milliseconds
        return notice.environment == environment && from <= signed && signed < until
            && (type == nil || notice.type == type)
            && (subtype == nil || notice.subtype == subtype)
            && (transaction == nil || notice.transaction == transaction
                || notice.original == transaction)
            && (!onlyFailures || !notice.isDelivered)
    }
}
