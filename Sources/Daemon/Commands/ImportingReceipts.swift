import AppStore
import Diagnostics
import Domain
import Ledger
import Operation

/// One line of `import receipts` or `import responses`.
struct ReceiptLine {
    let bundle: String
    let presenter: String?
    /// The receipt, or the answer that the operator vouches for.
    let content: Content

    enum Content {
        case receipt(String)
        case answer([UInt8], AnswerOrigin)
    }

    /// Reads a line.
    ///
    /// - Throws: `Problem` naming the member that is wrong.
    init(_ json: JSON, presenter: String?, isAnswer: Bool, now: Instant) throws(Problem) {
        bundle = try Reading.text(json, "bundleId")
        self.presenter = presenter
        guard isAnswer else {
            content = .receipt(try Reading.text(json, "receiptData"))
            return
        }
        guard let response = json["response"] else {
            throw .badRequest("the member `response` is missing")
        }
        let environment =
            json["environment"] == nil
            ? nil : try Reading.environment(Reading.text(json, "environment"))
        content = .answer(
            response.bytes(),
            AnswerOrigin(
                bundle: bundle, environment: environment,
                askedAt: try Reading.instant(json, "askedAt"), receivedAt: now,
                source: .importedAnswer))
    }

    /// What became of it: how many entries it added, or why it was not believed.
    enum Fate {
        case appended(Int)
        case quarantined(String)
    }

    /// Records what it says.
    ///
    /// - Throws: why the import has to end here.
    func take(_ desk: ReceiptDesk) async throws(ReceiptDesk.Failure) -> Fate {
        do throws(ReceiptDesk.Failure) {
            let learnt: ReceiptDesk.Learnt
            switch content {
            case .receipt(let receipt):
                learnt = try await desk.ask(
                    receipt, of: bundle, excludesOld: false, presenter: presenter)
            case .answer(let text, let origin):
                learnt = try await desk.record(text, from: origin, presenter: presenter)
            }
            return .appended(learnt.appended)
        } catch {
            guard let reason = error.finalReason else { throw error }
            return .quarantined(reason)
        }
    }
}

extension ReceiptDesk.Failure {
    /// Why the same line will not be believed later either; `nil` when it may be.
    fileprivate var finalReason: String? {
        switch self {
        case .unknownApp: "wrong_app"
        case .answer(.malformed): "malformed"
        case .answer(.forged(let forgery, _)): forgery.rawValue
        case .answer(.status(let status, _)): "status_\(status)"
        case .answer(.held(let reason, _)): reason.rawValue
        case .apple(.noReceipt): "malformed"
        case .apple(.unreadable(let status)), .apple(.refused(let status)): "status_\(status)"
        case .apple(.environmentNotAllowed): "environment_not_allowed"
        case .history(.store(.unknown)): "unknown_transaction"
        case .apple(.unavailable), .apple(.conflict), .apple(.misconfigured), .append, .history: nil
        }
    }

    /// The failure in words.
    var words: String { Problem(self).detail }
}
