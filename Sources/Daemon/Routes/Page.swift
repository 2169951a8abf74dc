import Domain
import HTTP

/// The part of a list that is asked for; its cursor says how many items come before it.
struct Page {
    /// What a request may say of it.
    static let parameters: Set<String> = ["limit", "after"]

    private let limit: Int
    private let after: Int

    /// The part that a request names: the first 1,000 items unless it says otherwise.
    ///
    /// - Parameter others: what else the request may say.
    init(_ request: Request, beside others: Set<String> = []) throws(Problem) {
        let query = try Reading.query(request, allowed: Page.parameters.union(others))
        limit = Int(try Reading.number(query, "limit", 1...1_000) ?? 1_000)
        after = Int(try Reading.number(query, "after", 0...Int64(Int32.max)) ?? 0)
    }

    /// A list's members in an answer: the part of all its items, and the cursor of what follows.
    func members(_ name: String, _ items: [JSON]) -> [JSON.Member] {
        let part = items.dropFirst(after).prefix(limit)
        let end = after + part.count
        return [
            .init(name, .array(Array(part))),
            .init("next", end < items.count ? .string(String(end)) : .null),
        ]
    }

    /// Names the part in an entity tag.
    var tag: String { "\(after)+\(limit)" }
}
