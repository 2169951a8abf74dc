import AppStore
import Domain
import Entitlements
import HTTP
import Ledger
import Operation

/// The door for receipts.
struct ReceiptRoutes: Sendable {
    let desk: ReceiptDesk
    let answers: AnswerReader

    /// Where receipts, which may be long, are taken.
    static let path = "/v1/apple/receipts"

    var routes: [Route] { [Route("POST", ReceiptRoutes.path, .ingest, receipt)] }

    @Sendable private func receipt(_ request: Request, _: [String]) async throws(Problem)
        -> Response
    {
        // A receipt is its own key: what it teaches again is known.
        _ = try Reading.idempotencyKey(request)
        let json = try Reading.object(
            request, members: ["bundleId", "receiptData", "customer", "excludeOldTransactions"])
        let bundle = try Reading.text(json, "bundleId")
        let receipt = try Reading.text(json, "receiptData")
        let presenter =
            json["customer"] == nil
            ? nil : try Reading.customer(Reading.text(json, "customer"))
        let excludesOld = try Reading.truth(json, "excludeOldTransactions") ?? false
        let learnt: ReceiptDesk.Learnt
        do throws(ReceiptDesk.Failure) {
            learnt = try await desk.ask(
                receipt, of: bundle, excludesOld: excludesOld, presenter: presenter)
        } catch {
            throw Problem(error)
        }
        let position: Position
        if let known = learnt.position {
            position = known
        } else {
            position = try await reading { () throws(LedgerError) in try await answers.head() }
        }
        return .json(
            .object([
                .init("position", .integer(position.number)),
                .init("appended", .integer(Int64(learnt.appended))),
                .init("duplicate", .bool(learnt.position != nil && learnt.appended == 0)),
                .init("status", .integer(learnt.status)),
                .init("environment", .string(learnt.environment.name)),
                .init("unreadable", .array(learnt.unreadable.map(JSON.string))),
            ]))
    }
}

extension Problem {
    /// What it means to a client that a receipt taught nothing.
    init(_ failure: ReceiptDesk.Failure) {
        switch failure {
        case .unknownApp: self = .receipt("wrong_app", "`bundleId` names no configured app")
        case .append(let error): self.init(error)
        case .apple(let error): self.init(error)
        case .history(.store(.unknown)):
            self = .receipt("unknown_transaction", "Apple knows no transaction of the receipt")
        case .history(let error): self = .unavailable(error.code, "\(error)")
        case .answer(.held(let reason, let detail)): self = .receipt(reason.rawValue, detail)
        case .answer(.forged(let forgery, let detail)):
            self = .receipt(forgery.rawValue, detail)
        case .answer(.malformed(let detail)): self = .apple("Apple's answer is no JSON: \(detail)")
        case .answer(.status(let status, _)): self = .apple("Apple answered \(status)")
        }
    }

    private init(_ error: ReceiptError) {
        switch error {
        case .noReceipt: self = .badRequest("`receiptData` is no base64")
        case .unavailable(let why): self = .apple("Apple cannot say now: \(why)")
        case .conflict(let status):
            self = .apple("each environment says that the receipt is of the other one")
            more = [.init("appleStatus", .integer(status))]
        case .misconfigured(let status):
            self = .unavailable(
                "SL131", "Apple answered \(status): the app's shared secret is not the right one")
            more = [.init("appleStatus", .integer(status))]
        case .unreadable(let status):
            self = .receipt("unreadable", "Apple cannot read the receipt", status)
        case .refused(let status):
            self = .receipt("refused", "Apple refuses the receipt", status)
        case .environmentNotAllowed(let status):
            self = .receipt(
                "environment_not_allowed",
                "the receipt is of an environment that the app does not list", status)
        }
    }

    /// 503: Apple does not answer as it should.
    private static func apple(_ detail: String) -> Problem { .unavailable("SL132", detail) }

    /// 422: final, for this receipt as configured now.
    private static func receipt(_ reason: String, _ detail: String, _ status: Int64? = nil)
        -> Problem
    {
        Problem(
            status: 422, code: "SL133", title: "Unprocessable Content", detail: detail,
            more: [.init("reason", .string(reason))]
                + (status.map { [.init("appleStatus", .integer($0))] } ?? []))
    }
}
