import Domain
import Entitlements
import HTTP
import Ledger
import Operation

/// Questions about lines, by their own id or by a transaction's.
struct LineRoutes: Sendable {
    let questions: QuestionReader

    private var answers: AnswerReader { questions.answers }

    var routes: [Route] {
        [
            Route("GET", "/v1/lines/{environment}/{id}", .read, line),
            Route("GET", "/v1/transactions/{environment}/{id}", .read, transaction),
        ]
    }

    @Sendable private func line(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let environment = try Reading.environment(path[0])
        let original = try Reading.original(path[1])
        let (answer, at) = try await found(request, environment, original)
        guard let answer else { throw .unknown("the line \(environment.name)/\(original)") }
        return .json(answer.rendered(at: at))
    }

    @Sendable private func transaction(_ request: Request, _ path: [String])
        async throws(Problem) -> Response
    {
        let environment = try Reading.environment(path[0])
        let id = try Reading.original(path[1])
        let what = "the transaction \(environment.name)/\(id)"
        let original = try await reading { () throws(LedgerError) in
            try await answers.original(of: id, in: environment)
        }
        guard let original else { throw .unknown(what) }
        let (answer, _) = try await found(request, environment, original)
        guard let answer, let period = answer.line.periods.first(where: { $0.aliases.contains(id) })
        else { throw .unknown(what) }
        return .json(
            .object([
                .init("environment", .string(environment.name)),
                .init("transactionId", .string(id)),
                .init("originalTransactionId", .string(original)),
                .init("period", answer.rendered(period)),
                .init("position", .integer(answer.position.number)),
            ]))
    }

    /// A line as the parameters ask for it, and the instant asked about.
    private func found(_ request: Request, _ environment: Environment, _ original: String)
        async throws(Problem) -> (LineAnswer?, Instant)
    {
        let query = try Reading.query(
            request, allowed: QuestionReader.parameters.subtracting(["environment", "app"]))
        let asked = try await questions.asked(query, customer: "")
        let known = asked.question.knownAt
        let answer = try await reading { () throws(LedgerError) -> LineAnswer? in
            guard let found = try await answers.line(environment, original, knownAt: known) else {
                return nil
            }
            let owners = found.line.tenures(found.links, found.settings).map(\.customer)
            return LineAnswer(
                line: found.line, links: found.links, settings: found.settings,
                position: found.position, names: try await answers.names(of: Set(owners)))
        }
        return (answer, asked.question.at)
    }
}
