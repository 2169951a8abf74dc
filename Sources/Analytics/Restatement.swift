public import Domain
public import Ledger

/// A cell of a report that is not what it was when less was known.
public struct Restatement: Sendable {
    /// The row.
    public var key: RowKey
    /// Its members that changed.
    public var changes: [Change]
    /// What was recorded since on the lines that changed it, and on what decides all lines.
    ///
    /// - Shape: by position, the first fifty; empty when time alone changed it.
    public var facts: [Fact]
    /// How many facts there are.
    public var factCount: Int

    /// A member and its two numbers.
    public struct Change: Sendable {
        /// The member's name.
        public var member: String
        /// The number then.
        public var was: MetricRow.Number
        /// The number now.
        public var `is`: MetricRow.Number
    }

    /// An entry of the record.
    public struct Fact: Sendable, Hashable {
        /// Its place.
        public var position: Position
        /// What it taught.
        public var kind: Kind
        /// The line, or what else it belongs to.
        public var stream: StreamID
    }

    /// The most facts that are told of a cell.
    public static let mostFacts = 50
    /// The most entries between the two positions.
    public static let mostEntries = 200_000
}

/// What was recorded between two positions, as far as it may have changed a metric.
struct News {
    /// Entries of the metric's lines, by line.
    var lines: [StreamID: [Restatement.Fact]] = [:]
    /// Entries that may have changed any line.
    var general: [Restatement.Fact] = []
    var isWhole = true
}

extension MetricReader {
    /// What became different in a metric's cells since a position; `nil` when more was recorded since
    /// than is looked through.
    ///
    /// - Parameters:
    ///   - question: as it is asked now.
    ///   - earlier: the same at the earlier position.
    /// - Returns: the cells in the order of rows, and both measurements.
    public func restatements(of question: MetricQuestion, since earlier: MetricQuestion)
        async throws(LedgerError) -> (cells: [Restatement], now: Measurement, then: Measurement)?
    {
        let news = try await news(question, since: earlier.position)
        guard news.isWhole else { return nil }
        let streams = Set(news.lines.keys)
        // Only what lines with news add can differ, unless something decides all of them.
        let isPartial =
            news.general.isEmpty && !question.metric.needsPeople
            && !question.metric.dependsOnKnowledge
        let lines = isPartial ? streams.sorted() : nil
        let mine = try await measureRecord(question, only: lines) {
            $0.contributions = Contributions(of: streams)
        }
        var then = try await measureRecord(earlier, only: lines) {
            $0.contributions = Contributions(of: streams)
        }
        let now = isPartial ? try await measure(question) : mine
        if isPartial { then.merge(now.rows(without: mine)) }
        let facts = Changes(
            now: mine.contributions?.found ?? [:], then: then.contributions?.found ?? [:],
            news: news, isCumulated: question.metric == .realisedLTV)
        return (Restatement.between(then, now, facts), now, then)
    }

    private func news(_ question: MetricQuestion, since then: Position)
        async throws(LedgerError) -> News
    {
        var news = News()
        var after = then
        var count = 0
        let prefix = "apple/\(question.environment.name)/"
        while after < question.position {
            let page = try await reader.entries(
                after: after, upTo: question.position, atMost: MetricReader.pageSize)
            guard let last = page.last else { break }
            after = last.position
            count += page.count
            guard count <= Restatement.mostEntries else {
                news.isWhole = false
                return news
            }
            for entry in page {
                let stream = entry.event.stream
                let fact = Restatement.Fact(
                    position: entry.position, kind: entry.event.kind, stream: stream)
                if stream.name.hasPrefix(prefix), stream.line != nil {
                    news.lines[stream, default: []].append(fact)
                } else if question.isDecided(by: stream) {
                    news.general.append(fact)
                }
            }
        }
        return news
    }
}

extension MetricQuestion {
    /// Whether what is recorded in a stream may change every line's part.
    fileprivate func isDecided(by stream: StreamID) -> Bool {
        if stream == .settings { return true }
        if stream.name.hasPrefix("rates/") { return currency != nil }
        let isOfPeople = ["token/", "customer/"].contains { stream.name.hasPrefix($0) }
        return isOfPeople && metric.needsPeople
    }
}

extension Measurement {
    /// The sums of all lines but those whose contributions another measurement knows.
    fileprivate func rows(without others: Measurement) -> [RowKey: [String: ExactSum]] {
        var rest = rows
        for cells in (others.contributions?.found ?? [:]).values {
            for (key, members) in cells {
                for (member, sum) in members { rest[key]?[member]?.add(sum, sign: -1) }
            }
        }
        return rest
    }
}

/// What lines with news add to each cell, now and then.
private struct Changes {
    let now: [StreamID: [RowKey: [String: ExactSum]]]
    let then: [StreamID: [RowKey: [String: ExactSum]]]
    let news: News

    /// Whether a row has also what was added to those of lower ages.
    let isCumulated: Bool

    private func sums(_ cells: [RowKey: [String: ExactSum]]?, of key: RowKey)
        -> [RowKey: [String: ExactSum]]
    {
        (cells ?? [:]).filter { $0.key == key || (isCumulated && $0.key.isYounger(than: key)) }
    }

    /// What was recorded on lines that add something else to a row than before, and on all lines.
    func facts(of key: RowKey) -> [Restatement.Fact] {
        let changed = news.lines.keys.filter { line in
            sums(now[line], of: key) != sums(then[line], of: key)
        }
        return (changed.flatMap { news.lines[$0] ?? [] } + news.general)
            .sorted { $0.position < $1.position }
    }
}

extension RowKey {
    /// Whether it is the same row at a lower age.
    fileprivate func isYounger(than other: RowKey) -> Bool {
        var (mine, others) = (self, other)
        let age = mine.parts.removeValue(forKey: .age).flatMap { $0 }.flatMap { Int64($0) }
        let limit = others.parts.removeValue(forKey: .age).flatMap { $0 }.flatMap { Int64($0) }
        guard let age, let limit else { return false }
        return mine == others && age < limit
    }
}

extension Restatement {
    fileprivate static func between(
        _ then: Measurement, _ now: Measurement, _ changed: Changes
    ) -> [Restatement] {
        let was = Dictionary(uniqueKeysWithValues: then.finished().map { ($0.key, $0) })
        let rows = Dictionary(uniqueKeysWithValues: now.finished().map { ($0.key, $0) })
        var cells: [Restatement] = []
        for key in Set(was.keys).union(rows.keys).sorted() {
            let nothing = MetricRow(key: key, values: now.question.values([:]))
            let (old, new) = (was[key] ?? nothing, rows[key] ?? nothing)
            let changes = zip(old.values, new.values).filter { $0.number != $1.number }.map {
                Change(member: $0.name, was: $0.number, is: $1.number)
            }
            guard !changes.isEmpty else { continue }
            let facts = changed.facts(of: key)
            cells.append(
                Restatement(
                    key: key, changes: changes, facts: Array(facts.prefix(mostFacts)),
                    factCount: facts.count))
        }
        return cells
    }
}
