import Domain
import Postgres

/// Persons and cohorts, from the projection.
extension ProjectedMeasurement {
    static func activeCustomers(
        _ dimensions: [Dimension], _ thresholds: Thresholds, _ sql: MetricSQL
    ) -> Part {
        let columns = MetricSQL.Columns(dimensions: dimensions)
        let statement = sql.activeCustomers(columns, at: thresholds)
        return Part(statement: statement) { measurement, rows throws(PostgresError) in
            for row in rows {
                measurement.add(
                    try row.traits(2, columns.dimensions),
                    measurement.question.buckets[Int(try row.int8(0))],
                    sum: ExactSum(try row.int8(1)))
            }
        }
    }

    static func persons(
        _ dimensions: [Dimension], _ thresholds: Thresholds, _ sql: MetricSQL
    ) -> Part {
        let columns = MetricSQL.Columns(dimensions: dimensions.filter { $0 != .currency })
        let statement = sql.persons(columns, between: thresholds)
        return Part(statement: statement) { measurement, rows throws(PostgresError) in
            for row in rows {
                var traits = try row.traits(4, columns.dimensions)
                traits.currency = try row.textIfAny(3)
                measurement.take(
                    PersonSum(
                        member: try row.text(1), age: try row.int8IfAny(2),
                        number: try row.int128(4 + columns.dimensions.count)),
                    traits, measurement.question.buckets[Int(try row.int8(0))])
            }
        }
    }

    static func retention(
        _ dimensions: [Dimension], _ thresholds: Thresholds, _ sql: MetricSQL
    ) -> Part {
        let columns = MetricSQL.Columns(dimensions: dimensions)
        let statement = sql.retention(columns, between: thresholds)
        return Part(statement: statement) { measurement, rows throws(PostgresError) in
            for row in rows {
                measurement.take(
                    Reached(
                        plan: try row.text(1), age: try row.int8(2), number: try row.int8(3),
                        count: try row.int8(4)),
                    try row.traits(5, columns.dimensions),
                    measurement.question.buckets[Int(try row.int8(0))])
            }
        }
    }
}

/// What many persons count for.
struct PersonSum {
    let member: String
    /// Of the member, in steps; of what has reached an age all ages up to it are meant.
    let age: Int64?
    /// A count, or money in hundred-thousandths.
    let number: Int128
}

/// So many lines that are old enough for so many periods.
struct Reached {
    let plan: String
    let age: Int64
    /// The period that they have reached; 0: all lines of the age.
    let number: Int64
    let count: Int64
}

extension Measurement {
    fileprivate mutating func take(
        _ persons: PersonSum, _ traits: Traits, _ bucket: MetricQuestion.Bucket
    ) {
        let isMoney = question.metric.moneyMembers.contains(persons.member)
        var sum = ExactSum()
        sum.add(
            persons.member == "refunds" ? -persons.number : persons.number,
            times: isMoney ? Fraction(Int64(1), 100_000) : .one)
        var key = key(traits, bucket)
        guard let age = persons.age else { return add(sum, to: persons.member, of: key) }
        let last = ages(of: bucket)
        let isReached =
            persons.member == "mature"
            || question.metric == .cohortExplorer && persons.member == "customers"
        guard isReached || age <= last else { return }
        for step in (isReached ? 0 : age)...min(age, last) {
            key.parts[.age] = .some(String(step * question.days))
            add(sum, to: persons.member, of: key)
        }
    }

    fileprivate mutating func take(
        _ reached: Reached, _ traits: Traits, _ bucket: MetricQuestion.Bucket
    ) {
        var key = key(traits, bucket)
        key.parts[.plan] = .some(reached.plan)
        func add(_ member: String, _ number: Int64) {
            key.parts[.period] = .some(String(number))
            self.add(ExactSum(reached.count), to: member, of: key)
        }
        guard reached.number > 0 else {
            for number in stride(from: 1, through: reached.age, by: 1) { add("lines", number) }
            return
        }
        // A renewal may be some hours early.
        if reached.number > reached.age { add("lines", reached.number) }
        add("retained", reached.number)
    }
}
