import Analytics
import Crypto
import Domain
import Ledger

/// What is behind the cells of an answer: periods, and the entries that say them.
struct MetricExplanation {
    /// The most entries that are told of one period; the newest ones.
    private static let mostFacts = 20

    /// The page of a finished measurement, and the cursor of the next one.
    static func rendered(_ measured: Measurement, _ reader: LedgerReader)
        async throws(LedgerError) -> JSON
    {
        let (traces, hasMore) = measured.traced
        let position = measured.question.position
        let streams = Set(traces.map(\.id.stream)).sorted()
        let entries = Dictionary(
            grouping: try await reader.entries(of: streams, upTo: position),
            by: \.event.stream)
        var lines: [StreamID: Line] = [:]
        for (stream, entries) in entries {
            lines[stream] = Subscription(stream, entries: entries).line()
        }
        let periods = traces.map { trace in
            let stream = trace.id.stream
            let period = lines[stream]?.periods.first { $0.transaction == trace.id.transaction }
            return rendered(trace, period, facts(of: period, entries[stream] ?? []))
        }
        var next: JSON = .null
        if hasMore, let last = traces.last {
            next = .string("\(position)." + Hex.encode(Array(last.id.text.utf8)))
        }
        return JSON(members: ["periods": .array(periods), "next": next])
    }

    /// The entries that state a period's transactions.
    private static func facts(of period: Period?, _ entries: [Entry]) -> [Entry] {
        guard let period else { return [] }
        let stating = entries.filter { entry in
            guard case .transaction(let statement) = entry.event.content else { return false }
            return period.aliases.contains(statement.transaction)
        }
        return stating.suffix(mostFacts)
    }

    private static func rendered(_ trace: Trace, _ period: Period?, _ facts: [Entry]) -> JSON {
        JSON(members: [
            "key": trace.id.key.rendered, "member": .string(trace.id.member),
            "amount": .integer(trace.amount),
            "line": .text(trace.id.stream.line?.original),
            "transaction": trace.id.transaction.isEmpty ? .null : .string(trace.id.transaction),
            "product": .text(period?.product), "from": period.map { .moment($0.from) },
            "until": period.map { .moment($0.until) },
            "priceMilliunits": .whole(period?.priceMilliunits),
            "currency": .text(period?.currency),
            "facts": .array(
                facts.map { entry in
                    JSON(members: [
                        "position": .integer(entry.position.number),
                        "kind": .string(entry.event.kind.name),
                        "evidence": .text(entry.event.evidence?.hex),
                    ])
                }),
        ])
    }

    /// A cursor that an answer gave: the position it is of, and the place in it.
    static func cursor(_ text: String) throws(Problem) -> (position: Position, after: String) {
        let parts = text.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let number = Int64(parts[0]), number >= 0,
            let bytes = Hex.decode(String(parts[1]))
        else {
            throw .badRequest("`after` is what `next` of the page before said")
        }
        return (Position(number), String(decoding: bytes, as: UTF8.self))
    }
}
