import Domain
import HTTP

/// Reads the parts of requests, naming what is wrong.
enum Reading {
    /// The object that a body is.
    ///
    /// - Parameter members: the names that it may have; `nil`: any.
    static func object(_ request: Request, members: Set<String>? = nil) throws(Problem) -> JSON {
        if request.body.isEmpty, members != nil { return .object([]) }
        let json: JSON
        do throws(JSONError) {
            json = try JSON.parse(request.body)
        } catch {
            throw .badRequest("the body is no JSON: \(error.message)")
        }
        guard let found = json.members else {
            throw .badRequest("the body must be an object, found \(json.kindName)")
        }
        if let members, let stranger = found.first(where: { !members.contains($0.name) }) {
            throw .badRequest(
                "unknown member `\(stranger.name.prefix(60))`; allowed: "
                    + members.sorted().joined(separator: ", "))
        }
        return json
    }

    /// A text member.
    static func text(_ json: JSON, _ name: String) throws(Problem) -> String {
        guard let value = json[name] else { throw .badRequest("the member `\(name)` is missing") }
        guard let text = value.text else {
            throw .badRequest("`\(name)` must be a text, found \(value.kindName)")
        }
        return text
    }

    /// A list of texts; empty when absent.
    static func texts(_ json: JSON, _ name: String) throws(Problem) -> [String] {
        guard let value = json[name] else { return [] }
        guard let elements = value.elements else {
            throw .badRequest("`\(name)` must be a list, found \(value.kindName)")
        }
        var texts: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.text else {
                throw .badRequest("`\(name)[\(index)]` must be a text, found \(element.kindName)")
            }
            texts.append(text)
        }
        return texts
    }

    /// A truth value; `nil` when absent.
    static func truth(_ json: JSON, _ name: String) throws(Problem) -> Bool? {
        guard let value = json[name] else { return nil }
        guard let truth = value.bool else {
            throw .badRequest("`\(name)` must be true or false, found \(value.kindName)")
        }
        return truth
    }

    /// An instant member; `nil` when absent.
    static func instant(_ json: JSON, _ name: String) throws(Problem) -> Instant? {
        guard json[name] != nil else { return nil }
        return try instant(text(json, name), name)
    }

    /// An instant written as RFC 3339 or a date.
    static func instant(_ text: String, _ name: String) throws(Problem) -> Instant {
        guard let instant = Instant(text) else {
            throw .badRequest(
                "`\(name)` must be an instant such as 2025-06-11T00:00:00.000Z, found "
                    + "\"\(text.prefix(60))\"")
        }
        return instant
    }

    /// The key by which a sender names a request, so that its repeat is known.
    ///
    /// - Shape: 1 to 200 bytes; `nil` without the header.
    static func idempotencyKey(_ request: Request) throws(Problem) -> String? {
        guard let key = request.header("idempotency-key") else { return nil }
        guard (1...200).contains(key.utf8.count) else {
            throw .badRequest("`Idempotency-Key` must have 1 to 200 bytes")
        }
        return key
    }

    /// The query's parameters by name, each once and known.
    static func query(_ request: Request, allowed: Set<String>) throws(Problem) -> [String: String]
    {
        var found: [String: String] = [:]
        for item in request.query {
            guard allowed.contains(item.name) else {
                throw .badRequest(
                    "unknown parameter `\(item.name.prefix(60))`; allowed: "
                        + allowed.sorted().joined(separator: ", "))
            }
            guard found.updateValue(item.value, forKey: item.name) == nil else {
                throw .badRequest("the parameter `\(item.name)` is given twice")
            }
        }
        return found
    }

    /// A whole number among the parameters.
    static func number(_ query: [String: String], _ name: String, _ range: ClosedRange<Int64>)
        throws(Problem) -> Int64?
    {
        guard let text = query[name] else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw .badRequest(
                "`\(name)` must be a whole number from \(range.lowerBound) to \(range.upperBound), "
                    + "found \"\(text.prefix(60))\"")
        }
        return number
    }

    private static let nobodies: Set<String> = [
        "null", "undefined", "guest", "anonymous", "nil", "none", "unknown", "0", "-1",
    ]

    /// A customer's id, unless it is one that programs use for nobody.
    static func customer(_ id: String) throws(Problem) -> String {
        let isBlank = id.allSatisfy(\.isWhitespace)
        let isControlled = id.unicodeScalars.contains {
            $0.properties.generalCategory == .control || $0 == "/"
        }
        guard !isBlank, id.count <= 100, !isControlled, !nobodies.contains(id.lowercased()) else {
            throw Problem(
                status: 400, code: "SL050", title: "Bad Request",
                detail: "\"\(id.prefix(60))\" is no customer's id: 1 to 100 characters without "
                    + "slashes or control characters, and none of the words for nobody")
        }
        return id
    }

    /// An environment's name.
    static func environment(_ name: String) throws(Problem) -> Environment {
        guard ["Production", "Sandbox", "Xcode", "LocalTesting"].contains(name) else {
            throw .badRequest(
                "`environment` must be Production, Sandbox, Xcode or LocalTesting, found "
                    + "\"\(name.prefix(60))\"")
        }
        return Environment(name)
    }

    /// A currency's code.
    static func currency(_ code: String) throws(Problem) -> String {
        guard code.utf8.count == 3, code.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
            throw .badRequest(
                "`currency` must be an ISO 4217 code such as USD, found \"\(code.prefix(60))\"")
        }
        return code
    }

    /// An original transaction id.
    static func original(_ id: String) throws(Problem) -> String {
        guard (1...64).contains(id.utf8.count), id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            !id.contains("/")
        else { throw .badRequest("\"\(id.prefix(64))\" is no transaction id") }
        return id
    }

    /// An account token, in lower case.
    static func token(_ text: String) throws(Problem) -> String {
        let lower = text.lowercased()
        let parts = lower.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.count) == [8, 4, 4, 4, 12],
            parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isHexDigit } })
        else { throw .badRequest("\"\(text.prefix(60))\" is no UUID") }
        return lower
    }
}

extension Response {
    /// An answer in JSON.
    static func json(_ json: JSON, status: Int = 200, headers: [Header] = []) -> Response {
        Response(
            status: status, headers: [Header("Content-Type", "application/json")] + headers,
            body: .bytes(json.bytes()))
    }
}
