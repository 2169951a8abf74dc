import Analytics
import Domain

/// A metric's rows with all that decided them.
struct MetricAnswer {
    let parameters: MetricParameters
    let question: MetricQuestion
    let knownAt: Instant
    let isSettled: Bool?
    let rows: [MetricRow]
    let completeness: Completeness
    let ratesPosition: Position?
    let identities: [Identity]
    let blips: Int64?
    /// What is told beside the rows, such as what is behind them.
    var more: [JSON.Member] = []

    /// The answer that a finished measurement is.
    ///
    /// - Throws: `Problem` naming the rates that are missing.
    init(
        _ parameters: MetricParameters, _ measured: Measurement, knownAt: Instant,
        isSettled: Bool?
    ) throws(Problem) {
        let missing = measured.missingRates
        guard missing.isEmpty else { throw .ratesMissing(missing) }
        self.parameters = parameters
        self.knownAt = knownAt
        self.isSettled = isSettled
        question = measured.question
        rows = measured.finished()
        completeness = measured.completeness
        ratesPosition = measured.ratesPosition
        identities = measured.identities
        blips = measured.blips
    }

    var json: JSON {
        .object(
            [
                .init("metric", .string(parameters.metric.rawValue)),
                .init("parameters", parameters.rendered(knownAt: knownAt)),
                .init("position", .integer(question.position.number)),
                .init("rows", .array(rows.map(\.rendered))),
                .init("completeness", lacking),
            ] + (isSettled.map { [.init("settled", .bool($0))] } ?? []) + more)
    }

    private var lacking: JSON {
        JSON(members: [
            "position": .integer(question.position.number),
            "ratesPosition": .whole(ratesPosition?.number),
            "unpriced": .integer(completeness.unpriced),
            "inferred": .integer(completeness.inferred),
            "unknownGaps": .integer(completeness.unknownGaps),
            "blips": .whole(blips),
            "identities": identities.isEmpty ? nil : .array(identities.map(\.rendered)),
        ])
    }

    /// The rows as RFC 4180 writes them, key columns first.
    var csv: String {
        let names = rows.first?.key.members.map(\.name) ?? []
        var lines = [(names + question.members).joined(separator: ",")]
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
        .object([.init("key", key.rendered)] + values.map { .init($0.name, $0.number.rendered) })
    }
}

extension RowKey {
    var rendered: JSON {
        .object(members.map { .init($0.name, $0.value.map(JSON.string) ?? .null) })
    }
}

extension Identity {
    var rendered: JSON {
        .object(
            (JSON(members: [
                "of": .string(name), "part": .text(label), "currency": .text(currency),
            ]).members ?? []) + terms.map { .init($0.name, .integer($0.number)) }
                + [.init("holds", .bool(holds))])
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
    static func ratesMissing(_ missing: [MissingRate]) -> Problem {
        let currencies = Set(missing.map(\.currency)).sorted()
        let days = missing.map(\.day)
        let span = Set(days).count == 1 ? "on \(days[0])" : "from \(days[0]) on"
        return Problem(
            status: 422, code: "SL140", title: "Unprocessable Content",
            detail: "no rate is recorded for \(currencies.joined(separator: ", ")) \(span), or "
                + "within \(ExchangeRates.oldest) days before",
            more: [
                .init("currencies", .array(currencies.map(JSON.string))),
                .init(
                    "missing",
                    .array(
                        missing.map { rate in
                            JSON(members: [
                                "currency": .string(rate.currency),
                                "day": .string(rate.day.description),
                            ])
                        })),
            ])
    }
}
