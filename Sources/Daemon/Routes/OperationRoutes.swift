import Diagnostics
import Domain
import Entitlements
import HTTP
import Ledger

/// What keepers of the daemon look at.
struct OperationRoutes: Sendable {
    let answers: AnswerReader
    let writer: Ledger.Writer
    let metrics: MetricRegistry

    var routes: [Route] {
        [
            Route("GET", "/healthz", nil, health), Route("GET", "/readyz", nil, ready),
            Route("GET", "/metrics", nil, scrape),
        ]
    }

    @Sendable private func health(_: Request, _: [String]) async throws(Problem) -> Response {
        .json(JSON(members: ["status": .string("alive")]))
    }

    @Sendable private func ready(_: Request, _: [String]) async throws(Problem) -> Response {
        let head = try await reading { () throws(LedgerError) in try await answers.head() }
        guard await writer.canStore() else {
            throw .unavailable("SL052", "the ledger cannot store now")
        }
        return .json(
            JSON(members: ["status": .string("ready"), "position": .integer(head.number)]))
    }

    @Sendable private func scrape(_: Request, _: [String]) async throws(Problem) -> Response {
        Response(
            status: 200, headers: [Header("Content-Type", MetricRegistry.contentType)],
            body: .bytes(Array(metrics.rendered().utf8)))
    }
}
