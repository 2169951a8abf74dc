import Crypto
import Domain
import Entitlements
import EventLoop
import HTTP
import Ledger
import Operation

/// Questions about customers and lines.
struct CustomerRoutes: Sendable {
    let answers: AnswerReader
    let reader: LedgerReader
    let loop: EventLoop

    var routes: [Route] {
        [
            Route("GET", "/v1/customers/{customer}/entitlements", .read, entitlements),
            Route("GET", "/v1/customers/{customer}/entitlements/{name}", .read, entitlement),
            Route("GET", "/v1/customers/{customer}/lines", .read, lines),
            Route("GET", "/v1/customers/{customer}/timeline", .read, timeline),
            Route("GET", "/v1/lines/{environment}/{id}", .read, line),
        ]
    }

    /// What the parameters of a read say.
    struct Asked {
        var question: Question
        /// Whether as-known answers can still grow; `nil` when it was not asked by an instant.
        var isSettled: Bool?
        var isPinned: Bool
    }

    static let parameters: Set<String> = [
        "environment", "at", "asKnownAt", "asKnownPosition", "app", "atLeast",
    ]

    @Sendable private func entitlements(_ request: Request, _ path: [String])
        async throws(Problem) -> Response
    {
        let (asked, view, verdicts) = try await verdicts(request, path[0])
        let rendered = verdicts.entitlements.map { JSON.Member($0.name, $0.rendered) }
        return answer(request, asked, view, verdicts, [.init("entitlements", .object(rendered))])
    }

    @Sendable private func entitlement(_ request: Request, _ path: [String])
        async throws(Problem) -> Response
    {
        let (asked, view, verdicts) = try await verdicts(request, path[0])
        let found = verdicts.entitlements.first { $0.name == path[1] } ?? .never(path[1])
        return answer(
            request, asked, view, verdicts,
            [.init("entitlement", .string(path[1]))] + (found.rendered.members ?? []))
    }

    @Sendable private func lines(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let (asked, view) = try await view(request, path[0])
        let at = asked.question.at
        let mine = view.holdings.lines.filter { line in
            line.tenures(view.holdings.links, view.holdings.settings)
                .contains { $0.customer == view.number }
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
            request, asked, view, view.verdicts(at: at),
            [.init("lines", .array(rendered)), .init("next", .null)])
    }

    @Sendable private func timeline(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let (asked, view) = try await view(request, path[0])
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
        return answer(
            request, asked, view, .none, [.init("timeline", .array(told)), .init("next", .null)])
    }

    @Sendable private func line(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let environment = try Reading.environment(path[0])
        let original = try Reading.original(path[1])
        let query = try Reading.query(
            request, allowed: CustomerRoutes.parameters.subtracting(["environment", "app"]))
        var asked = try await asked(query, customer: "")
        asked.question.environment = environment
        let known = asked.question.knownAt
        let found = try await reading { () throws(LedgerError) in
            try await answers.line(environment, original, knownAt: known)
        }
        guard let found else { throw .unknown("the line \(environment.name)/\(original)") }
        let owners = found.line.tenures(found.links, found.settings).map(\.customer)
        let answer = LineAnswer(
            line: found.line, links: found.links, settings: found.settings,
            position: found.position, names: try await names(Set(owners)))
        return .json(answer.rendered(at: asked.question.at))
    }

    private func names(_ numbers: Set<CustomerNumber>) async throws(Problem)
        -> [CustomerNumber: String]
    {
        try await reading { () throws(LedgerError) in try await answers.names(of: numbers) }
    }

    private func verdicts(_ request: Request, _ customer: String) async throws(Problem)
        -> (Asked, CustomerView, Verdicts)
    {
        let query = try Reading.query(request, allowed: CustomerRoutes.parameters)
        let asked = try await asked(query, customer: Reading.customer(customer))
        let answer = try await reading { () throws(LedgerError) in
            try await answers.answer(asked.question)
        }
        return (asked, answer.view, answer.verdicts)
    }

    private func view(_ request: Request, _ customer: String) async throws(Problem)
        -> (Asked, CustomerView)
    {
        let query = try Reading.query(request, allowed: CustomerRoutes.parameters)
        let asked = try await asked(query, customer: Reading.customer(customer))
        let view = try await reading { () throws(LedgerError) in
            try await answers.view(asked.question)
        }
        return (asked, view)
    }

    /// Reads the parameters, and waits for the position that the read must be level with.
    private func asked(_ query: [String: String], customer: String) async throws(Problem) -> Asked {
        var question = Question(customer: customer, at: SystemClock.now)
        if let name = query["environment"] { question.environment = try Reading.environment(name) }
        if let text = query["at"] { question.at = try Reading.instant(text, "at") }
        question.app = query["app"]
        if let least = try Reading.number(query, "atLeast", 0...Int64.max) {
            try await wait(for: Position(least))
        }
        guard query["asKnownAt"] == nil || query["asKnownPosition"] == nil else {
            throw .badRequest("`asKnownAt` and `asKnownPosition` exclude each other")
        }
        if let number = try Reading.number(query, "asKnownPosition", 0...Int64.max) {
            let head = try await head()
            guard number <= head.number else {
                throw .badRequest("`asKnownPosition` is beyond the head, which is at \(head)")
            }
            question.knownAt = Position(number)
            return Asked(question: question, isSettled: nil, isPinned: true)
        }
        if let text = query["asKnownAt"] {
            let instant = try Reading.instant(text, "asKnownAt")
            let known = try await reading { () throws(LedgerError) in
                try await reader.position(knownAt: instant)
            }
            question.knownAt = known.position
            return Asked(question: question, isSettled: known.isSettled, isPinned: true)
        }
        return Asked(question: question, isSettled: nil, isPinned: false)
    }

    private func head() async throws(Problem) -> Position {
        try await reading { () throws(LedgerError) in try await answers.head() }
    }

    private func wait(for position: Position) async throws(Problem) {
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            let head = try await head()
            if head >= position { return }
            guard ContinuousClock.now < deadline else { throw .notReached(head) }
            try? await loop.sleep(for: .milliseconds(50))
        }
    }

    /// The frame around what was asked.
    private func answer(
        _ request: Request, _ asked: Asked, _ view: CustomerView, _ verdicts: Verdicts,
        _ members: [JSON.Member]
    ) -> Response {
        let question = asked.question
        var frame: [JSON.Member] = [
            .init("customer", .string(question.customer)),
            .init("environment", .string(question.environment.name)),
            .init("at", .moment(question.at)),
            .init("position", .integer(view.position.number)),
        ]
        if asked.isPinned {
            frame.append(.init("asKnownPosition", .integer(view.position.number)))
        }
        if let isSettled = asked.isSettled { frame.append(.init("settled", .bool(isSettled))) }
        frame += members
        frame.append(.init("freshUntil", .moment(verdicts.freshUntil)))
        let tag = CustomerRoutes.tag(request.path, question, view, verdicts)
        let cache = [Header("ETag", tag), Header("Cache-Control", "private, no-cache")]
        if request.header("if-none-match") == tag { return Response(status: 304, headers: cache) }
        return .json(.object(frame), headers: cache)
    }

    /// Names the customer's last entry and the interval between boundaries that contains the
    /// instant: while both are the same, so is all that the answer says of the customer.
    private static func tag(
        _ path: String, _ question: Question, _ view: CustomerView, _ verdicts: Verdicts
    ) -> String {
        let parts = [
            path, question.environment.name, question.app ?? "",
            question.knownAt?.description ?? "", view.lastEntry.description,
            String(verdicts.freshSince?.milliseconds ?? 0),
        ]
        return "\"" + SHA256.digest(of: parts.joined(separator: "\n")).description.prefix(32) + "\""
    }
}

/// A customer's entries, in the order in which they happened.
enum Timeline {
    static func entries(
        of view: CustomerView, _ reader: LedgerReader
    ) async throws(LedgerError) -> [Entry] {
        let mine = view.holdings.lines.filter { line in
            line.tenures(view.holdings.links, view.holdings.settings)
                .contains { $0.customer == view.number }
        }
        let tokens = view.holdings.links.filter { $0.value == view.number }.keys
        let streams = mine.map(\.stream) + tokens.map(StreamID.token)
        let entries = try await reader.entries(of: streams.sorted(), upTo: view.position)
        return entries.sorted {
            ($0.event.occurredAt, $0.position) < ($1.event.occurredAt, $1.position)
        }
    }
}
