import Crypto
import Domain
import Entitlements
import EventLoop
import HTTP
import Ledger
import Operation

/// Questions about customers and lines.
struct CustomerRoutes: Sendable {
    let questions: QuestionReader

    private var answers: AnswerReader { questions.answers }
    private var reader: LedgerReader { questions.reader }
    /// The most customers in one question.
    private static let bulkLimit = 1_000

    var routes: [Route] {
        [
            Route("GET", "/v1/customers/{customer}/entitlements", .read, entitlements),
            Route("GET", "/v1/customers/{customer}/entitlements/{name}", .read, entitlement),
            Route("GET", "/v1/customers/{customer}/lines", .read, lines),
            Route("GET", "/v1/customers/{customer}/timeline", .read, timeline),
            Route("POST", "/v1/entitlements", .read, bulk),
            Route("GET", "/v1/customers/{customer}/export", .operate, export),
        ]
    }

    @Sendable private func entitlements(_ request: Request, _ path: [String])
        async throws(Problem) -> Response
    {
        let (asked, view, verdicts) = try await questions.verdicts(request, path[0])
        let rendered = verdicts.entitlements.map { JSON.Member($0.name, $0.rendered) }
        return answer(request, asked, view, verdicts, [.init("entitlements", .object(rendered))])
    }

    @Sendable private func entitlement(_ request: Request, _ path: [String])
        async throws(Problem) -> Response
    {
        let (asked, view, verdicts) = try await questions.verdicts(request, path[0])
        let found = verdicts.entitlements.first { $0.name == path[1] } ?? .never(path[1])
        return answer(
            request, asked, view, verdicts,
            [.init("entitlement", .string(path[1]))] + (found.rendered.members ?? []))
    }

    @Sendable private func bulk(_ request: Request, _: [String]) async throws(Problem) -> Response {
        let json = try Reading.object(request, members: ["customers"])
        var customers: [String] = []
        for customer in try Reading.texts(json, "customers") {
            customers.append(try Reading.customer(customer))
        }
        guard !customers.isEmpty, customers.count <= CustomerRoutes.bulkLimit else {
            throw .badRequest("`customers` must name 1 to \(CustomerRoutes.bulkLimit) customers")
        }
        let query = try Reading.query(request, allowed: QuestionReader.parameters)
        var asked = try await questions.asked(query, customer: customers[0])
        // All of one post are answered as of one position.
        let head = try await questions.head()
        asked.question.knownAt = asked.question.knownAt ?? head
        var answers: [JSON] = []
        for customer in customers {
            asked.question.customer = customer
            let question = asked.question
            let view = try await reading { () throws(LedgerError) in
                try await self.answers.view(question)
            }
            let verdicts = view.verdicts(at: question.at)
            let rendered = verdicts.entitlements.map { JSON.Member($0.name, $0.rendered) }
            answers.append(
                .object(
                    frame(asked, view) + [
                        .init("entitlements", .object(rendered)),
                        .init("freshUntil", .moment(verdicts.freshUntil)),
                    ]))
        }
        let position = asked.question.knownAt ?? head
        return .json(
            .object([
                .init("entitlements", .array(answers)), .init("next", .null),
                .init("position", .integer(position.number)),
            ]))
    }

    @Sendable private func export(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let (asked, view) = try await questions.view(request, path[0])
        let (entries, names) = try await reading { () throws(LedgerError) in
            let tokens = Set(view.holdings.links.filter { $0.value == view.number }.keys)
            return (
                try await Timeline.entries(of: view, reader),
                try await answers.names(of: tokens.union(view.number.map { [$0] } ?? []))
            )
        }
        let tokens = names.filter { $0.key != view.number }.values.sorted()
        return .json(
            .object(
                frame(asked, view) + [
                    .init("number", .figure(view.number?.number)),
                    .init("tokens", .array(tokens.map(JSON.string))),
                    .init("entries", .array(entries.map(\.rendered))),
                ]))
    }

    @Sendable private func lines(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let page = try Page(request, beside: QuestionReader.parameters)
        let (asked, view) = try await questions.view(request, path[0], beside: Page.parameters)
        let at = asked.question.at
        let mine = view.holdings.lines.filter { line in
            view.owns(line, at: nil)
        }
        let owners = mine.flatMap { $0.tenures(view.holdings.links, view.holdings.settings) }
        let names = try await names(Set(owners.map(\.customer)))
        let rendered = mine.map { line in
            LineAnswer(
                line: line, links: view.holdings.links, settings: view.holdings.settings,
                position: view.position, names: names
            ).rendered(at: at)
        }
        return answer(
            request, asked, view, view.verdicts(at: at), page.members("lines", rendered),
            page)
    }

    @Sendable private func timeline(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let page = try Page(request, beside: QuestionReader.parameters)
        let (asked, view) = try await questions.view(request, path[0], beside: Page.parameters)
        let entries = try await reading { () throws(LedgerError) in
            try await Timeline.entries(of: view, reader)
        }
        let told = entries.map { entry in
            JSON.object([
                .init("happenedAt", .moment(entry.event.occurredAt)),
                .init("learnedAt", .moment(entry.recordedAt)),
                .init("position", .integer(entry.position.number)),
                .init("kind", .string(entry.event.kind.name)),
                .init("line", .word(entry.event.stream.line?.original)),
                .init("story", .string(entry.story)),
            ])
        }
        return answer(request, asked, view, .none, page.members("timeline", told), page)
    }

    private func names(_ numbers: Set<CustomerNumber>) async throws(Problem)
        -> [CustomerNumber: String]
    {
        try await reading { () throws(LedgerError) in try await answers.names(of: numbers) }
    }

    /// What every answer about a customer begins with.
    private func frame(_ asked: Asked, _ view: CustomerView) -> [JSON.Member] {
        var frame: [JSON.Member] = [
            .init("customer", .string(asked.question.customer)),
            .init("environment", .string(asked.question.environment.name)),
            .init("at", .moment(asked.question.at)),
            .init("position", .integer(view.position.number)),
        ]
        if asked.isPinned {
            frame.append(.init("asKnownPosition", .integer(view.position.number)))
        }
        if let isSettled = asked.isSettled { frame.append(.init("settled", .bool(isSettled))) }
        return frame
    }

    /// The whole answer around what was asked.
    private func answer(
        _ request: Request, _ asked: Asked, _ view: CustomerView, _ verdicts: Verdicts,
        _ members: [JSON.Member], _ page: Page? = nil
    ) -> Response {
        let question = asked.question
        var frame = frame(asked, view)
        frame += members
        frame.append(.init("freshUntil", .moment(verdicts.freshUntil)))
        let tag = CustomerRoutes.tag(
            [request.path, page?.tag ?? ""], question, view, verdicts)
        let cache = [Header("ETag", tag), Header("Cache-Control", "private, no-cache")]
        if request.header("if-none-match") == tag { return Response(status: 304, headers: cache) }
        return .json(.object(frame), headers: cache)
    }

    /// Names the customer's last entry and the interval between boundaries that contains the
    /// instant: while both are the same, so is all that the answer says of the customer.
    private static func tag(
        _ asked: [String], _ question: Question, _ view: CustomerView, _ verdicts: Verdicts
    ) -> String {
        let parts =
            asked + [
                question.environment.name, question.app ?? "",
                question.knownAt?.description ?? "", view.lastEntry.description,
                String(verdicts.freshSince?.milliseconds ?? 0),
            ]
        return "\"" + SHA256.digest(of: parts.joined(separator: "\n")).description.prefix(32) + "\""
    }
}
