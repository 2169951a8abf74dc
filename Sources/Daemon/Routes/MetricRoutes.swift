import Analytics
import Domain
import Entitlements
import HTTP
import Ledger
import Operation

/// Numbers for analysts.
struct MetricRoutes: Sendable {
    let questions: QuestionReader
    let desk: MetricDesk

    var routes: [Route] {
        [
            Route("GET", "/v1/metrics", .analyst, list),
            Route("GET", "/v1/metrics/{name}", .analyst, metric),
            Route("GET", "/v1/metrics/{name}/restatements", .analyst, restatements),
        ]
    }

    @Sendable private func list(_ request: Request, _: [String]) async throws(Problem) -> Response {
        let page = try Page(request)
        let found = Metric.allCases.map { metric in
            JSON(members: [
                "name": .string(metric.rawValue), "definition": .string(metric.definition),
                "takes": .array(metric.takes.map(JSON.string)),
                "options": .array(metric.options.map(JSON.string)),
                "members": .array(metric.members.map(JSON.string)),
            ])
        }
        return .json(
            .object(
                page.members("metrics", found)
                    + [.init("position", .integer(try await questions.head().number))]))
    }

    @Sendable private func metric(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let query = try Reading.query(
            request,
            allowed: MetricParameters.names.union(MetricRoutes.knowing)
                .union(["explain", "after", "limit"]))
        let parameters = try MetricParameters(path[0], query, now: SystemClock.now)
        let explanation = try explanation(query, parameters.metric)
        let known = try await known(query, pinned: explanation?.position)
        let measured = try await reading { () throws(LedgerError) in
            try await desk.measure(
                parameters.question(knownAt: known.at, position: known.position),
                explanation?.page)
        }
        var answer = try MetricAnswer(
            parameters, measured, knownAt: known.at, isSettled: known.isSettled)
        if explanation != nil {
            let explained = try await reading { () throws(LedgerError) in
                try await MetricExplanation.rendered(measured, desk.reader)
            }
            answer.more.append(.init("explanation", explained))
        }
        if request.header("Accept")?.contains("text/csv") == true {
            return Response(
                status: 200, headers: [Header("Content-Type", "text/csv; charset=utf-8")],
                body: .bytes(Array(answer.csv.utf8)))
        }
        return .json(answer.json)
    }

    /// Which page of what is behind the cells is asked for, and the position that it is of.
    private func explanation(_ query: [String: String], _ metric: Metric) throws(Problem)
        -> (page: MetricDesk.Explanation, position: Position?)?
    {
        let text = query["explain"] ?? "false"
        guard ["true", "false"].contains(text) else {
            throw .badRequest("`explain` is true or false, found \"\(text.prefix(60))\"")
        }
        guard text == "true" else {
            guard query["after"] == nil, query["limit"] == nil else {
                throw .badRequest("`after` and `limit` go with `explain=true`")
            }
            return nil
        }
        guard !metric.isOfQuality else {
            throw .badRequest("\(metric.rawValue) has no periods to explain it")
        }
        let limit = try Reading.number(query, "limit", 1...1_000) ?? 100
        let cursor = try query["after"].map(MetricExplanation.cursor)
        return (
            MetricDesk.Explanation(after: cursor?.after ?? "", limit: Int(limit)),
            cursor?.position
        )
    }

    /// The cells of a metric that are not what they were at an earlier position.
    @Sendable private func restatements(_ request: Request, _ path: [String])
        async throws(Problem) -> Response
    {
        let query = try Reading.query(
            request,
            allowed: MetricParameters.names.union(MetricRoutes.knowing)
                .union(["sincePosition", "after", "limit"]))
        let parameters = try MetricParameters(path[0], query, now: SystemClock.now)
        guard !parameters.metric.isOfQuality else {
            throw .badRequest("\(parameters.metric.rawValue) is not known as it was")
        }
        let known = try await known(query)
        guard let since = try Reading.number(query, "sincePosition", 0...known.position.number)
        else { throw .badRequest("`sincePosition` is missing") }
        let after = try Reading.number(query, "after", 0...Int64.max) ?? 0
        let limit = try Reading.number(query, "limit", 1...1_000) ?? 100
        let recordedAt = try await reading { () throws(LedgerError) in
            try await desk.reader.recordedAt(Position(since))
        }
        let found = try await reading { () throws(LedgerError) in
            try await desk.metrics.restatements(
                of: parameters.question(knownAt: known.at, position: known.position),
                since: parameters.question(
                    knownAt: recordedAt ?? .distantPast, position: Position(since)))
        }
        guard let found else {
            throw .badRequest(
                "more than \(Restatement.mostEntries) entries were recorded since position "
                    + "\(since); ask from a later one")
        }
        for measured in [found.now, found.then] where !measured.missingRates.isEmpty {
            throw .ratesMissing(measured.missingRates)
        }
        let page = found.cells.dropFirst(Int(clamping: after)).prefix(Int(limit))
        let end = after + Int64(page.count)
        return .json(
            JSON(members: [
                "metric": .string(parameters.metric.rawValue),
                "parameters": parameters.rendered(knownAt: known.at),
                "sincePosition": .integer(since), "position": .integer(known.position.number),
                "restatements": .array(page.map(\.rendered)),
                "next": end < Int64(found.cells.count) ? .string(String(end)) : .null,
                "settled": .truth(known.isSettled),
            ]))
    }

    private static let knowing: Set = ["asKnownAt", "asKnownPosition", "atLeast"]

    /// The position that an answer rests on, and when that much was known.
    ///
    /// - Parameter pinned: the position that a page before it rests on.
    private func known(_ query: [String: String], pinned: Position? = nil) async throws(Problem)
        -> (position: Position, at: Instant, isSettled: Bool?)
    {
        var query = query.filter { MetricRoutes.knowing.contains($0.key) }
        if let pinned, query["asKnownAt"] == nil, query["asKnownPosition"] == nil {
            query["asKnownPosition"] = String(pinned.number)
        }
        let asked = try await questions.asked(query, customer: "")
        guard let position = asked.question.knownAt else {
            return (try await questions.head(), SystemClock.now, asked.isSettled)
        }
        if let text = query["asKnownAt"] {
            return (position, try Reading.instant(text, "asKnownAt"), asked.isSettled)
        }
        let recordedAt = try await reading { () throws(LedgerError) in
            try await questions.reader.recordedAt(position)
        }
        return (position, recordedAt ?? SystemClock.now, asked.isSettled)
    }
}
