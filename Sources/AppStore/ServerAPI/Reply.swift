import Domain
import HTTP

/// What one attempt at a call came to.
enum Reply: Sendable, Equatable {
    /// The answer; null when it has no body.
    case answer(JSON)
    /// Asking again is of no use.
    case final(ServerAPIError)
    /// The token was not accepted.
    case unauthorized
    /// The same call may be answered later, from an instant on if one is named, in so many
    /// attempts at most.
    case again(ServerAPIError, until: Instant?, attempts: Int)

    /// Errors after which Apple says to ask again.
    private static let passing: Set<Int64> = [4_040_002, 4_040_004, 4_040_006, 5_000_001]
    /// Errors that say that the environment lacks the transaction or its account.
    private static let unknowns: Set<Int64> = [4_040_001, 4_040_005, 4_040_010, 4_040_019]
    /// A general failure may be of the question's own making: it is not asked for long.
    private static let general: Int64 = 5_000_000
    private static let generalAttempts = 3

    /// Reads what a server answered.
    init(_ answer: Client.Answer, now: Instant) {
        if (200..<300).contains(answer.status) {
            guard !answer.body.isEmpty else {
                self = .answer(.null)
                return
            }
            do throws(JSONError) {
                self = .answer(try JSON.parse(answer.body))
            } catch {
                self = .final(.unreadable("it is no JSON"))
            }
            return
        }
        if answer.status == 401 {
            self = .unauthorized
            return
        }
        let code = (try? JSON.parse(answer.body))?["errorCode"]?.integer
        let until = RetryAfter.instant(answer.header("Retry-After"), now: now)
        switch (answer.status, code) {
        case (429, _): self = .again(.limited(until: until), until: until, attempts: .max)
        case (_, let code?) where Reply.passing.contains(code):
            self = .again(.failing(status: answer.status, code: code), until: until, attempts: .max)
        case (500..<600, let code):
            self = .again(
                .failing(status: answer.status, code: code), until: until,
                attempts: code == Reply.general ? Reply.generalAttempts : .max)
        case (_, let code?) where Reply.unknowns.contains(code): self = .final(.unknown(code: code))
        default: self = .final(.refused(status: answer.status, code: code))
        }
    }

    /// Reads why there is no answer.
    init(_ error: ClientError) {
        switch error {
        case .cancelled: self = .final(.cancelled)
        case .unusable: self = .final(.unreachable(error))
        case .tooLarge(let limit): self = .final(.unreadable("it has more than \(limit) bytes"))
        case .busy, .unreachable, .untrusted, .timedOut, .broken:
            self = .again(.unreachable(error), until: nil, attempts: .max)
        }
    }
}
