import Domain
import Postgres

/// Both sides of the identities that an answer must keep, from the projection.
extension ProjectedMeasurement {
    static func balances(_ metric: Metric, _ thresholds: Thresholds, _ sql: MetricSQL) -> [Part] {
        if metric == .mrrMovement { return [money(thresholds, sql)] }
        return metric.hasBlips
            ? [ends(thresholds, sql), changes(thresholds, sql), blips(thresholds, sql)] : []
    }

    /// The mrr at each threshold, which one window ends and the next one begins with.
    private static func money(_ thresholds: Thresholds, _ sql: MetricSQL) -> Part {
        let columns = MetricSQL.Columns(dimensions: [.plan, .currency])
        let statement = sql.crowds("kind = 'paid'", columns, at: thresholds)
        return Part(statement: statement) { measurement, rows throws(PostgresError) in
            for (standing, changes) in try Crowd.changes(rows, .paid, columns) {
                let multiplier = standing.multiplier(measurement.question.profile)
                let currency = standing.traits.currency
                for (place, crowd) in changes.running(thresholds.instants.count)
                where crowd.count > crowd.unpriced {
                    var sum = ExactSum()
                    sum.add(crowd.price, times: multiplier)
                    measurement.balance(at: place, currency) {
                        $0.after.add(sum)
                    } before: {
                        $0.before.add(sum)
                    }
                }
            }
        }
    }

    private static func ends(_ thresholds: Thresholds, _ sql: MetricSQL) -> Part {
        let columns = MetricSQL.Columns(dimensions: [])
        let statement = sql.crowds("kind = 'paid'", columns, at: thresholds)
        return Part(statement: statement) { measurement, rows throws(PostgresError) in
            for (_, changes) in try Crowd.changes(rows, .paid, columns) {
                for (place, crowd) in changes.running(thresholds.instants.count) {
                    measurement.balance(at: place, nil) {
                        $0.after.add(crowd.count)
                    } before: {
                        $0.before.add(crowd.count)
                    }
                }
            }
        }
    }

    private static func changes(_ thresholds: Thresholds, _ sql: MetricSQL) -> Part {
        let statement = sql.turns(
            "\(MetricSQL.isNew) or \(MetricSQL.isGone)",
            before: MetricSQL.Columns(dimensions: [], others: ["is_ended"]),
            after: MetricSQL.Columns(dimensions: []), between: thresholds)
        return Part(statement: statement) { measurement, rows throws(PostgresError) in
            for row in rows {
                let (wasPaid, count) = (try row.bool(1), try row.int8(2))
                let isEnded = try row.bool(3) ? try row.bool(5) : false
                let hasNew = try row.bool(4)
                measurement.balance(of: Int(try row.int8(0)), nil) { balance in
                    switch (hasNew, wasPaid, isEnded) {
                    case (true, true, _): balance.reactivated += count
                    case (true, false, _): balance.new += count
                    case (false, _, true): balance.churned += count
                    case (false, _, false): balance.unknown += count
                    }
                }
            }
        }
    }

    private static func blips(_ thresholds: Thresholds, _ sql: MetricSQL) -> Part {
        Part(statement: sql.blips(between: thresholds)) {
            measurement, rows throws(PostgresError) in
            for row in rows {
                let count = try row.int8(1)
                measurement.balance(of: Int(try row.int8(0)), nil) { $0.blips += count }
            }
        }
    }
}

extension Measurement {
    /// Changes the balance of the window of a place, when there is one.
    fileprivate mutating func balance(
        of place: Int, _ currency: String?, _ change: (inout Balance) -> Void
    ) {
        guard question.buckets.indices.contains(place) else { return }
        let key = Balance.Key(label: question.buckets[place].label, currency: currency)
        change(&balances[key, default: Balance()])
    }

    /// Changes the balances of the window that ends at a threshold, and of that which begins there.
    fileprivate mutating func balance(
        at place: Int, _ currency: String?, after: (inout Balance) -> Void,
        before: (inout Balance) -> Void
    ) {
        balance(of: place - 1, currency, after)
        balance(of: place, currency, before)
    }
}
