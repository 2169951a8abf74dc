import Domain
import HTTP

/// Why the server API gave no answer that can be used.
public enum ServerAPIError: Error, Equatable, Sendable {
    /// The token was not accepted: a wrong key, or an app without a release in that environment.
    case unauthorized
    /// The environment knows no such transaction or account; the number is Apple's.
    case unknown(code: Int64)
    /// The question will never be answered as it was asked.
    case refused(status: Int, code: Int64?)
    /// Too much was asked, and the wait for more is too long.
    case limited(until: Instant?)
    /// The servers failed each time, or said that the same question may succeed later.
    case failing(status: Int, code: Int64?)
    /// No answer arrived.
    case unreachable(ClientError)
    /// The answer is not what Apple documents; the text says in what.
    case unreadable(String)
    /// Pages go round: the cursor is the one that was asked with, though there is more.
    case stuck
    /// The asking task was cancelled.
    case cancelled

    /// Stable across releases; each has a section in the runbook.
    public var code: String {
        switch self {
        case .unauthorized: "SL070"
        case .unknown: "SL071"
        case .refused: "SL072"
        case .limited: "SL073"
        case .failing: "SL074"
        case .unreachable: "SL075"
        case .unreadable: "SL076"
        case .stuck: "SL077"
        case .cancelled: "SL078"
        }
    }

    /// Whether the same question may be answered later.
    public var isRetryable: Bool {
        switch self {
        case .limited, .failing, .unreachable, .cancelled: true
        case .unauthorized, .unknown, .refused, .unreadable, .stuck: false
        }
    }
}

extension ServerAPIError: CustomStringConvertible {
    /// The error in words.
    public var description: String {
        switch self {
        case .unauthorized: "the server API accepts no token of this key for this app"
        case .unknown(let code): "the server API knows no such transaction (\(code))"
        case .refused(let status, let code):
            "the server API refuses the question: \(ServerAPIError.words(status, code))"
        case .limited(let until):
            "the server API answers no more for now" + (until.map { ", until \($0)" } ?? "")
        case .failing(let status, let code):
            "the server API fails: \(ServerAPIError.words(status, code))"
        case .unreachable(let error): "the server API does not answer: \(error)"
        case .unreadable(let what): "the server API's answer cannot be read: \(what)"
        case .stuck: "stuck_revision: the server API answers the same page again and again"
        case .cancelled: "the server API was not asked to the end"
        }
    }

    private static func words(_ status: Int, _ code: Int64?) -> String {
        "status \(status)" + (code.map { ", error \($0)" } ?? "")
    }
}
