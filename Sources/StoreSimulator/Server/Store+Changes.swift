import Domain
import Foundation
import HTTP

// What an app's server changes or says through the server API.
extension Store {
    /// The latest extensions that a customer may have within a year.
    private static let extensionsAYear = 2

    /// Moves the end of a period.
    func extend(_ call: APICall, _ id: String) throws(APIError) -> Response {
        let chain = try subscription(id, in: call.environment)
        let body = try call.object()
        guard let days = body["extendByDays"]?.integer, (1...90).contains(days) else {
            throw .badDays
        }
        guard let reason = body["extendReasonCode"]?.integer, (0...3).contains(reason) else {
            throw .badReason
        }
        guard let request = body["requestIdentifier"]?.text, (1...128).contains(request.count)
        else { throw .badIdentifier }
        let key = id + "/" + request
        if let answer = extensions[key] { return .api(answer) }
        guard world.chains[chain].sharedFrom == nil else { throw .familyExtension }
        let year = world.now.adding(days: -365)
        guard world.chains[chain].extensions.filter({ $0 > year }).count < Self.extensionsAYear
        else { throw .extendedOften }
        guard world.chains[chain].group != nil, world.extend(chain, days: days) else {
            throw .notEligible
        }
        let latest = world.transactions[world.latest(chain)]
        let answer = JSON(members: [
            "originalTransactionId": .string(id),
            "webOrderLineItemId": .text(latest.webOrderLineItem), "success": .bool(true),
            "effectiveDate": .instant(latest.expiresAt),
        ])
        extensions[key] = answer
        return .api(answer)
    }

    /// Takes what an app knows of a purchase for which money is asked back.
    func consumption(_ call: APICall, _ id: String, isSecond: Bool) throws(APIError) -> Response {
        let place = try transaction(id, in: call.environment)
        let body = try call.object()
        guard body["customerConsented"]?.bool == true else { throw .badConsent }
        guard body["sampleContentProvided"]?.bool != nil else { throw .badSample }
        if isSecond {
            let delivery = [
                "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM",
                "UNDELIVERED_SERVER_OUTAGE", "UNDELIVERED_OTHER",
            ]
            guard let said = body["deliveryStatus"]?.text, delivery.contains(said) else {
                throw .badDelivery
            }
            let preference = body["refundPreference"]?.text
            guard
                preference.map({ ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"].contains($0) })
                    != false
            else { throw .badPreference }
            let isSubscription = world.transactions[place].product.kind == .autoRenewable
            if isSubscription, body["consumptionPercentage"] != nil {
                throw .percentageOfSubscription
            }
        } else {
            guard let said = body["deliveryStatus"]?.integer, (0...5).contains(said) else {
                throw .badDelivery
            }
        }
        return Response(status: 202)
    }

    /// Gives the latest transaction of a chain, and those that follow, a token.
    func setToken(_ call: APICall, _ id: String) throws(APIError) -> Response {
        let chain = try subscription(id, in: call.environment)
        guard let token = try call.object()["appAccountToken"]?.text, UUID(uuidString: token) != nil
        else { throw .badToken }
        guard world.chains[chain].sharedFrom == nil else { throw .familyUnsupported }
        world.setToken(token.lowercased(), on: chain)
        return Response(status: 200)
    }
}

extension World {
    /// Gives the latest transaction of a chain, and those that follow, a token.
    mutating func setToken(_ token: String, on chain: Int) {
        let place = latest(chain)
        transactions[place].token = token
        chains[chain].token = token
        touch(place)
    }
}
