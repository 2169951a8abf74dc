import Delivery
import Domain
import Entitlements
import HTTP
import Ledger
import Operation

/// How deliveries go, and sending again.
struct WebhookRoutes: Sendable {
    let desk: WebhookDesk
    /// Those that are configured.
    let webhooks: [Webhook]
    let answers: AnswerReader

    var routes: [Route] {
        [
            Route("GET", "/v1/webhooks", .operate, list),
            Route("POST", "/v1/webhooks/replay", .operate, replay),
        ]
    }

    @Sendable private func list(_ request: Request, _: [String]) async throws(Problem) -> Response {
        let page = try Page(request)
        let (states, head) = try await reading { () throws(LedgerError) in
            (try await desk.states(), try await answers.head())
        }
        return .json(
            .object(
                page.members("webhooks", states.map(rendered))
                    + [.init("position", .integer(head.number))]))
    }

    @Sendable private func replay(_ request: Request, _: [String]) async throws(Problem)
        -> Response
    {
        let json = try Reading.object(request, members: ["webhook", "from", "to"])
        let name = try Reading.text(json, "webhook")
        guard let webhook = webhooks.first(where: { $0.name == name || $0.url == name }) else {
            throw Problem(
                status: 404, code: "SL094", title: "Not Found",
                detail: "no webhook of that name or address is configured")
        }
        let first = try position(json, "from")
        let last = try position(json, "to")
        guard first <= last else { throw .badRequest("`from` must not be after `to`") }
        let (queued, head) = try await reading { () throws(LedgerError) in
            (
                try await desk.replay(webhook, from: first, to: last, now: SystemClock.now),
                try await answers.head()
            )
        }
        return .json(
            .object([
                .init("webhook", .string(webhook.name)), .init("queued", .integer(queued)),
                .init("position", .integer(head.number)), .init("appended", .integer(0)),
            ]), status: 202)
    }

    private func position(_ json: JSON, _ name: String) throws(Problem) -> Position {
        guard let number = json[name]?.integer, number >= 0 else {
            throw .badRequest("`\(name)` must be a position")
        }
        return Position(number)
    }

    private func rendered(_ state: WebhookState) -> JSON {
        let webhook = webhooks.first { $0.name == state.name }
        let oldest: JSON =
            state.oldestNumber.map { number in
                .object([
                    .init("number", .integer(number)), .init("madeAt", .moment(state.oldestAt)),
                ])
            } ?? .null
        return .object([
            .init("name", .string(state.name)), .init("url", .string(state.url)),
            .init("configured", .bool(webhook != nil)),
            .init("format", .word(webhook?.format.rawValue)),
            .init("pending", .integer(state.pending)), .init("parked", .integer(state.parked)),
            .init("delivered", .integer(state.delivered)),
            .init("failures", .integer(state.failures)), .init("oldest", oldest),
            .init("nextAttemptAt", .moment(state.nextAt)),
            .init("deliveredAt", .moment(state.deliveredAt)),
            .init("failedAt", .moment(state.failedAt)),
            .init("lastError", .word(state.lastError)),
        ])
    }
}
