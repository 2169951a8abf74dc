import Domain
import HTTP
import Ledger

/// Why a request is not answered as it hoped: a problem document of RFC 9457.
struct Problem: Error, Sendable {
    var status: Int
    /// Stable across releases; each has a section in the runbook.
    var code: String
    var title: String
    var detail: String
    var isRetryable = false
    /// Further members, such as `reason`.
    var more: [JSON.Member] = []
    var headers: [Header] = []

    /// The answer.
    var response: Response {
        let body = JSON.object(
            [
                .init("type", .string("about:blank")), .init("title", .string(title)),
                .init("status", .integer(Int64(status))), .init("detail", .string(detail)),
                .init("code", .string(code)), .init("retryable", .bool(isRetryable)),
            ] + more)
        return Response(
            status: status,
            headers: [Header("Content-Type", "application/problem+json")] + headers,
            body: .bytes(body.bytes()))
    }
}

extension Problem {
    /// 400: the request cannot be understood.
    static func badRequest(_ detail: String) -> Problem {
        Problem(status: 400, code: "SL040", title: "Bad Request", detail: detail)
    }

    /// 401: no valid key.
    static let unauthorized = Problem(
        status: 401, code: "SL041", title: "Unauthorized",
        detail: "a valid API key is needed: Authorization: Bearer KEY",
        headers: [Header("WWW-Authenticate", "Bearer")])

    /// 403: the key lacks the role.
    static func forbidden(_ role: String) -> Problem {
        Problem(
            status: 403, code: "SL042", title: "Forbidden",
            detail: "the API key lacks the role `\(role)`")
    }

    /// 404: no such path.
    static let noPath = Problem(
        status: 404, code: "SL043", title: "Not Found", detail: "there is no such path")

    /// 404: nothing is known of what was named.
    static func unknown(_ what: String) -> Problem {
        Problem(
            status: 404, code: "SL044", title: "Not Found", detail: "\(what) is not on the record")
    }

    /// 405: the path has other methods.
    static func method(allowed: [String]) -> Problem {
        Problem(
            status: 405, code: "SL045", title: "Method Not Allowed",
            detail: "this path takes \(allowed.joined(separator: ", "))",
            headers: [Header("Allow", allowed.joined(separator: ", "))])
    }

    /// 404 or 409: the record stands against it.
    static func conflict(_ objection: Objection) -> Problem {
        let detail =
            switch objection {
            case .tokenBoundToOther:
                "the token is bound to another customer; {\"transfer\": true} moves it"
            case .grantUnknown: "the customer has no such grant"
            case .mergeCircular:
                "the other customer is the same, or is itself merged into somebody by then"
            case .mergedElsewhere: "the customer is merged into somebody else by then"
            case .notMerged: "the customer was never merged into the other"
            }
        let isAbsent = objection == .grantUnknown
        return Problem(
            status: isAbsent ? 404 : 409, code: objection.code,
            title: isAbsent ? "Not Found" : "Conflict", detail: detail)
    }

    /// 422: signed by somebody else, or damaged.
    static func forged(_ reason: String, _ detail: String) -> Problem {
        Problem(
            status: 422, code: "SL046", title: "Unprocessable Content",
            detail: "the signed text is refused: \(detail)",
            more: [.init("reason", .string(reason))])
    }

    /// 429: too many refused requests from one address.
    static let tooMany = Problem(
        status: 429, code: "SL047", title: "Too Many Requests",
        detail: "too many refused requests from this address", isRetryable: true,
        headers: [Header("Retry-After", "1")])

    /// 503: the ledger cannot store or answer now.
    static func unavailable(_ code: String, _ detail: String) -> Problem {
        Problem(
            status: 503, code: code, title: "Service Unavailable", detail: detail,
            isRetryable: true, headers: [Header("Retry-After", "1")])
    }

    /// 503: a position was not reached in time.
    static func notReached(_ position: Position) -> Problem {
        var problem = unavailable("SL048", "the position asked for was not reached in time")
        problem.more = [.init("position", .integer(position.number))]
        return problem
    }

    /// What an append's error means to a client.
    init(_ error: AppendError) {
        if case .refused(let objection) = error {
            self = .conflict(objection)
        } else {
            self = .unavailable(error.code, "nothing was recorded: \(error)")
        }
    }

    /// What a reading error means to a client.
    init(_ error: LedgerError) {
        self = .unavailable(error.code, "the ledger cannot be read now")
    }
}

/// Runs a reading of the ledger; its errors become problems.
func reading<T>(_ body: () async throws(LedgerError) -> T) async throws(Problem) -> T {
    do throws(LedgerError) {
        return try await body()
    } catch {
        throw Problem(error)
    }
}
