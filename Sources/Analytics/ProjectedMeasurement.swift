import Domain
import Postgres

/// What a question comes down to over the projection, and how answers go into a measurement.
struct ProjectedMeasurement {
    /// A statement, and what takes its rows in.
    struct Part {
        let statement: Statement
        let take: (inout Measurement, Rows) throws(PostgresError) -> Void
    }

    let parts: [Part]

    /// `nil` when the projection cannot answer the question.
    init?(_ question: MetricQuestion, _ sql: MetricSQL) {
        let metric = question.metric
        // What is converted, or counted by line within a window, is measured line by line.
        guard !metric.isOfQuality, question.currency == nil, !question.isGross else { return nil }
        let thresholds =
            metric.taking == .at
            ? Thresholds(statesOf: question.buckets) : Thresholds(windowsOf: question.buckets)
        guard let thresholds else { return nil }
        let dimensions = question.dimensions.filter(\.isTrait)
        var parts: [Part] = []
        if let condition = metric.coverageCondition {
            parts.append(Self.crowds(metric, condition, dimensions, thresholds, sql))
        }
        if metric.isTurn {
            parts.append(
                Self.turns(
                    metric, dimensions, question.dimensions.contains(.reason), thresholds, sql))
        }
        let mask = metric.countings(question.basis).reduce(0) { $0 | $1.fact.mark }
        if mask != 0 { parts.append(Self.happenings(mask, dimensions, thresholds, sql)) }
        if metric == .activeCustomers {
            parts.append(Self.activeCustomers(dimensions, thresholds, sql))
        }
        if metric.isOfPersons { parts.append(Self.persons(dimensions, thresholds, sql)) }
        if metric == .subscriptionRetention {
            parts.append(Self.retention(dimensions, thresholds, sql))
        }
        parts += Self.balances(metric, thresholds, sql)
        parts.append(
            Part(statement: sql.doubts()) { measurement, rows throws(PostgresError) in
                for row in rows {
                    measurement.noteDoubts(marks: try row.int8(0), count: try row.int8(1))
                }
            })
        self.parts = parts
    }

    private static func crowds(
        _ metric: Metric, _ condition: String, _ dimensions: [Dimension],
        _ thresholds: Thresholds, _ sql: MetricSQL
    ) -> Part {
        var columns = MetricSQL.Columns(dimensions: dimensions)
        if metric.isMoney, !dimensions.contains(.plan) { columns.dimensions.append(.plan) }
        if metric == .subscriptionStatus { columns.others.append("outlook") }
        let table =
            metric == .unattributedLines
            ? "(select *, null::bigint as price from projection.tenure) as tenure"
            : "projection.coverage"
        let statement = sql.crowds(condition, columns, at: thresholds, of: table)
        return Part(statement: statement) { measurement, rows throws(PostgresError) in
            for (standing, changes) in try Crowd.changes(rows, metric.standing, columns) {
                var standing = standing
                standing.isInGrace = metric == .inGrace
                for (place, crowd) in changes.running(measurement.question.buckets.count) {
                    var crowd = crowd
                    crowd.standing = standing
                    measurement.take(crowd, measurement.question.buckets[place])
                }
            }
        }
    }

    private static func turns(
        _ metric: Metric, _ dimensions: [Dimension], _ byReason: Bool, _ thresholds: Thresholds,
        _ sql: MetricSQL
    ) -> Part {
        var before = MetricSQL.Columns(dimensions: [])
        var after = MetricSQL.Columns(dimensions: [])
        let condition: String
        switch metric {
        case .reactivated:
            condition = MetricSQL.isNew
            after.dimensions = dimensions
        case .mrrMovement:
            condition = """
                \(MetricSQL.isNew) or \(MetricSQL.isGone) or (old.price, old.plan, old.currency) \
                is distinct from (new.price, new.plan, new.currency)
                """
            before = MetricSQL.Columns(
                dimensions: dimensions.contains(.plan) ? dimensions : dimensions + [.plan],
                others: ["price"])
            after = before
        default:
            condition = "\(MetricSQL.isGone) and coalesce(old.is_ended, false)"
            before = MetricSQL.Columns(
                dimensions: dimensions, others: byReason ? ["reason"] : [])
        }
        let statement = sql.turns(condition, before: before, after: after, between: thresholds)
        let isFull = metric == .mrrMovement
        return Part(statement: statement) { measurement, rows throws(PostgresError) in
            for row in rows {
                var turn = Turn(
                    before: nil, after: nil, wasPaid: try row.bool(1), count: try row.int8(2))
                if try row.bool(3) {
                    var standing = Standing(kind: .paid)
                    try standing.read(row, 5, before)
                    turn.before = standing
                }
                if try row.bool(4) {
                    var standing = Standing(kind: .paid)
                    try standing.read(row, 5 + (isFull ? before.names.count : 0), after)
                    turn.after = standing
                }
                measurement.take(turn, measurement.question.buckets[Int(try row.int8(0))])
            }
        }
    }

    private static func happenings(
        _ mask: Int64, _ dimensions: [Dimension], _ thresholds: Thresholds, _ sql: MetricSQL
    ) -> Part {
        let columns = MetricSQL.Columns(dimensions: dimensions)
        let statement = sql.happenings(mask, columns, between: thresholds)
        return Part(statement: statement) { measurement, rows throws(PostgresError) in
            for row in rows {
                let sum = HappeningSum(
                    marks: try row.int8(1), count: try row.int8(2), amounts: try row.int8(3),
                    amount: try row.int128(4), shares: try row.int128(5))
                var standing = Standing(kind: .paid)
                try standing.read(row, 6, columns)
                measurement.take(
                    sum, standing.traits, measurement.question.buckets[Int(try row.int8(0))])
            }
        }
    }
}

extension Measurement {
    /// Notes what so many periods lack.
    fileprivate mutating func noteDoubts(marks: Int64, count: Int64) {
        completeness.note(marks: marks, count: count)
    }
}

/// How a crowd grows and shrinks from one threshold to the next.
struct CrowdChanges {
    var found: [(place: Int, change: Crowd)] = []

    /// The crowd at each of so many thresholds at which there is anybody.
    func running(_ count: Int) -> [(place: Int, crowd: Crowd)] {
        var all: [(place: Int, crowd: Crowd)] = []
        var next = found.sorted { $0.place < $1.place }[...]
        guard var crowd = next.first?.change else { return [] }
        crowd = Crowd(count: 0, unpriced: 0, price: 0, crowd.standing)
        for place in 0..<count {
            while let first = next.first, first.place <= place {
                crowd.add(first.change)
                next.removeFirst()
            }
            if crowd.count > 0 { all.append((place, crowd)) }
        }
        return all
    }
}

extension Crowd {
    /// The changes that rows of `MetricSQL.crowds` tell, by standing.
    static func changes(_ rows: Rows, _ kind: Standing.Kind, _ columns: MetricSQL.Columns)
        throws(PostgresError) -> [Standing: CrowdChanges]
    {
        var changes: [Standing: CrowdChanges] = [:]
        for row in rows {
            var standing = Standing(kind: kind)
            try standing.read(row, 4, columns)
            let crowd = Crowd(
                count: try row.int8(1), unpriced: try row.int8(2), price: try row.int128(3),
                standing)
            changes[standing, default: CrowdChanges()].found.append((Int(try row.int8(0)), crowd))
        }
        return changes
    }

    fileprivate mutating func add(_ change: Crowd) {
        count += change.count
        unpriced += change.unpriced
        price += change.price
    }
}

extension Standing {
    /// Reads what groups are told apart by, from a column on.
    fileprivate mutating func read(_ row: Row, _ first: Int, _ columns: MetricSQL.Columns)
        throws(PostgresError)
    {
        traits = try row.traits(first, columns.dimensions)
        var place = first + columns.dimensions.count
        for name in columns.others {
            switch name {
            case "price": price = try row.int8IfAny(place)
            case "reason": reason = try row.textIfAny(place)
            default: outlook = try row.textIfAny(place).flatMap(Outlook.init(rawValue:))
            }
            place += 1
        }
    }
}

extension Row {
    /// What groups are told apart by, from a column on.
    func traits(_ first: Int, _ dimensions: [Dimension]) throws(PostgresError) -> Traits {
        var traits = Traits()
        for (place, dimension) in dimensions.enumerated() {
            traits[dimension] = try textIfAny(first + place)
        }
        return traits
    }

    /// A sum as digits.
    func int128(_ column: Int) throws(PostgresError) -> Int128 {
        let text = try text(column)
        guard let number = Int128(text) else {
            throw .unexpectedAnswer("a sum is no whole number")
        }
        return number
    }
}

extension Metric {
    /// Whether it compares lines at both ends of a window.
    fileprivate var isTurn: Bool {
        switch self {
        case .reactivated, .churned, .churnRate, .mrrMovement: true
        default: false
        }
    }

    /// As what lines count that it counts.
    fileprivate var standing: Standing.Kind {
        switch self {
        case .activeTrials: .trial
        case .activeFree: .free
        case .activeFamily: .family
        case .inBillingRetry: .retry
        default: .paid
        }
    }

    /// Which coverage it is about; `nil` when it is not about states.
    fileprivate var coverageCondition: String? {
        switch self {
        case .inGrace: "kind in ('paid', 'trial') and is_in_grace"
        case .activePaid, .activeTrials, .activeFree, .activeFamily, .inBillingRetry, .mrr, .arr,
            .subscriptionStatus, .churnRate:
            "kind = '\(standing.rawValue)'"
        case .unattributedLines: "customer is null"
        default: nil
        }
    }
}
