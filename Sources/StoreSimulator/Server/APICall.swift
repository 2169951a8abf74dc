import Domain
import HTTP

/// One call of the server API.
struct APICall: Sendable {
    let environment: Environment
    let method: String
    /// The path after the environment's prefix, in parts.
    let path: [String]
    let query: [QueryItem]
    let body: [UInt8]

    /// The value of a query item that may be given once.
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// All values of a query item.
    func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    /// The body as an object.
    func object() throws(APIError) -> JSON {
        guard let json = try? JSON.parse(body), json.members != nil else { throw .badRequest }
        return json
    }

    /// What the call is limited as; `nil` for a path that there is not.
    var kind: RateLimits.Kind? {
        switch path.dropFirst(2).first {
        case "history": .reading
        case "subscriptions": path.contains("mass") ? .mass : method == "PUT" ? .changing : .reading
        case "refund": .refunds
        case "lookup": .lookUp
        case "notifications": path.last == "history" ? .notificationHistory : .test
        case "transactions":
            path.contains("consumption")
                ? .consumption : path.last == "appAccountToken" ? .changing : .reading
        default: nil
        }
    }
}
