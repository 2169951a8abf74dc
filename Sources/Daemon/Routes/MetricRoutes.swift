import Analytics
import Domain
import Entitlements
import HTTP
import Ledger
import Operation

/// Numbers for analysts.
struct MetricRoutes: Sendable {
    let questions: QuestionReader
    let metrics: MetricReader

    var routes: [Route] {
        [
            Route("GET", "/v1/metrics", .analyst, list),
            Route("GET", "/v1/metrics/{name}", .analyst, metric),
        ]
    }

    @Sendable private func list(_ request: Request, _: [String]) async throws(Problem) -> Response {
        let page = try Page(request)
        let found = Metric.allCases.map { metric in
            JSON(members: [
                "name": .string(metric.rawValue), "definition": .string(metric.definition),
                "takes": .array(
                    (metric.taking == .at ? ["at"] : ["from", "to"]).map(JSON.string)),
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
        let known: Set = ["asKnownAt", "asKnownPosition", "atLeast"]
        let query = try Reading.query(request, allowed: MetricParameters.names.union(known))
        let parameters = try MetricParameters(path[0], query, now: SystemClock.now)
        let asked = try await questions.asked(
            query.filter { known.contains($0.key) }, customer: "")
        let (position, knownAt) = try await knowledge(asked, query["asKnownAt"])
        let measured = try await reading { () throws(LedgerError) in
            try await metrics.measure(
                parameters.question(knownAt: knownAt, position: position))
        }
        let answer = MetricAnswer(
            parameters: parameters, position: position, knownAt: knownAt,
            isSettled: asked.isSettled, rows: measured.finished(),
            completeness: measured.completeness)
        if let missing = answer.missingRates { throw .ratesMissing(missing) }
        if request.header("Accept")?.contains("text/csv") == true {
            return Response(
                status: 200, headers: [Header("Content-Type", "text/csv; charset=utf-8")],
                body: .bytes(Array(answer.csv.utf8)))
        }
        return .json(answer.json)
    }

    /// The position that the answer rests on, and when that much was known.
    private func knowledge(_ asked: Asked, _ text: String?) async throws(Problem)
        -> (Position, Instant)
    {
        guard let position = asked.question.knownAt else {
            return (try await questions.head(), SystemClock.now)
        }
        if let text { return (position, try Reading.instant(text, "asKnownAt")) }
        let recordedAt = try await reading { () throws(LedgerError) in
            try await questions.reader.recordedAt(position)
        }
        return (position, recordedAt ?? SystemClock.now)
    }
}

/// A metric's rows with all that decided them.
struct MetricAnswer {
    let parameters: MetricParameters
    let position: Position
    let knownAt: Instant
    let isSettled: Bool?
    let rows: [MetricRow]
    let completeness: Completeness

    /// The currencies that no rate leads from to the one asked for; `nil` when all are there.
    var missingRates: [String]? {
        guard let wanted = parameters.currency, parameters.metric.isMoney else { return nil }
        let others = Set(
            rows.flatMap { row in
                row.key.members.filter { $0.name == "currency" }.compactMap(\.value)
            }
        ).subtracting([wanted])
        return others.isEmpty ? nil : others.sorted()
    }

    var json: JSON {
        .object(
            [
                .init("metric", .string(parameters.metric.rawValue)),
                .init("parameters", parameters.rendered(knownAt: knownAt)),
                .init("position", .integer(position.number)),
                .init("rows", .array(rows.map(\.rendered))),
                .init(
                    "completeness",
                    JSON(members: [
                        "position": .integer(position.number),
                        "unpriced": .integer(completeness.unpriced),
                        "inferred": .integer(completeness.inferred),
                        "unknownGaps": .integer(completeness.unknownGaps),
                    ])),
            ] + (isSettled.map { [.init("settled", .bool($0))] } ?? []))
    }

    /// The rows as RFC 4180 writes them, key columns first.
    var csv: String {
        let names = rows.first?.key.members.map(\.name) ?? []
        var lines = [(names + parameters.metric.members).joined(separator: ",")]
        for row in rows {
            let keys = row.key.members.map { MetricAnswer.quoted($0.value ?? "") }
            lines.append((keys + row.values.map(\.number.text)).joined(separator: ","))
        }
        return lines.map { $0 + "\r\n" }.joined()
    }

    private static func quoted(_ text: String) -> String {
        guard text.contains(where: { ",\"\r\n".contains($0) }) else { return text }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}

extension MetricRow {
    var rendered: JSON {
        .object(
            [
                .init(
                    "key",
                    .object(key.members.map { .init($0.name, $0.value.map(JSON.string) ?? .null) }))
            ]
                + values.map { .init($0.name, $0.number.rendered) })
    }
}

extension MetricRow.Number {
    var rendered: JSON {
        switch self {
        case .whole(let number): .integer(number)
        case .millionths: .number(text)
        case .null: .null
        }
    }

    /// As digits; nothing when there is no number.
    var text: String {
        switch self {
        case .whole(let number): return String(number)
        case .null: return ""
        case .millionths(let millionths):
            let digits = String(millionths.magnitude)
            let padded = String(repeating: "0", count: max(0, 7 - digits.count)) + digits
            let sign = millionths < 0 ? "-" : ""
            return "\(sign)\(padded.dropLast(6)).\(padded.suffix(6))"
        }
    }
}

extension Problem {
    /// 422: money cannot be told in the currency asked for.
    static func ratesMissing(_ currencies: [String]) -> Problem {
        Problem(
            status: 422, code: "SL140", title: "Unprocessable Content",
            detail: "no rate is recorded for \(currencies.joined(separator: ", "))",
            more: [.init("currencies", .array(currencies.map(JSON.string)))])
    }
}
