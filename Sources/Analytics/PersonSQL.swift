import Domain
import Postgres

/// Statements about persons and cohorts over the projection `metrics`.
extension MetricSQL {
    /// How many customers have a paid line at each instant.
    ///
    /// - Shape: columns are the place of the instant, the count, and what groups are told apart by.
    func activeCustomers(_ columns: Columns, at thresholds: Thresholds) -> Statement {
        var filter = filter
        let all = filter.cover(thresholds.instants)
        let groups = columns.names.map { ", \($0)" }.joined()
        let selected = columns.selected.map { ", \($0)" }.joined()
        let bits = PlaceBits(count: thresholds.instants.count)
        let covered = """
            bucket, stream\(bits.range(
                "width_bucket(from_at - 1, \(all))", "width_bucket(until_at - 1, \(all))"))
            """
        let named = named(&filter)
        let reader = reader(&filter)
        return Statement(
            """
            with stood as (select number\(bits.each { "bit_or(paid.\($0) & named.\($0))" })\(groups) \
            from (select \(covered)\(selected) from projection.coverage \
            where \(filter.text) and kind = 'paid') as paid \
            join (select number, \(covered) from (\(named)) as named) as named using (bucket, stream) \
            group by number\(groups)), \
            moved as (select customer as number, reader\(bits.united) from (\
            select customer, reader\(bits.range("place", "place + 1")) from \(reader)) as moved \
            group by customer, reader), \
            stayed as (select number\(bits.each { "~bit_or(\($0))" }) from moved group by number), \
            person as (select person\(bits.united)\(groups) from (select number as person\
            \(bits.each { "stood.\($0) & coalesce(stayed.\($0), -1)" })\(groups) \
            from stood left join stayed using (number) union all select reader\
            \(bits.each { "stood.\($0) & moved.\($0)" })\(groups) \
            from stood join moved using (number)) as person group by person\(groups)) \
            select place::bigint, sum(people)::bigint\(groups) from (\
            select count(*) as people\(bits.columns)\(groups) from person \
            group by \((bits.names + columns.names).joined(separator: ", "))) as crowd \(bits.places) \
            group by place\(groups)
            """, filter.parameters)
    }

    /// Whose lines are while a condition holds, as far as their own words and links of tokens say it.
    ///
    /// - Parameter columns: what else is told of a line.
    func named(
        _ filter: inout Filter, _ condition: String = "customer is not null",
        with columns: String = "from_at, until_at"
    ) -> String {
        let links = readers.links
        guard !links.tokens.isEmpty else {
            return """
                select bucket, stream, customer as number, \(columns) from projection.tenure \
                where \(filter.text) and \(condition)
                """
        }
        let (tokens, customers) = (
            filter.place(.int8s(links.tokens)), filter.place(.int8s(links.customers))
        )
        return """
            select bucket, stream, coalesce(bound, customer) as number, \(columns) \
            from projection.tenure left join unnest(\(tokens)::bigint[], \(customers)::bigint[]) \
            as link (token, bound) on is_token and token = customer \
            where \(filter.text) and \(condition)
            """
    }

    /// Who has which line while a condition holds, by the first instant of readers.
    ///
    /// - Parameter columns: what else is told of a line, with a comma before each.
    func owner(_ filter: inout Filter, _ condition: String, with columns: String) -> String {
        let named = named(&filter, condition, with: "is_token\(columns)")
        let isPlain = readers.merges.customers.isEmpty
        return """
            select bucket, stream, \(isPlain ? "number" : "coalesce(reader, number)") as owner\
            \(columns) from (\(named)) as named\
            \(isPlain ? "" : " left join \(reader(&filter)) on customer = number")
            """
    }

    /// Whoever has several lines among owners; some may have one.
    func crowded(_ owner: String) -> String {
        guard readers.links.tokens.isEmpty, readers.merges.customers.isEmpty else {
            return "select owner from (\(owner)) as own group by owner having count(*) > 1"
        }
        // Nobody is read as somebody else: an index says it, in its order.
        return """
            select customer from projection.tenure where generation = $1 group by customer \
            having count(*) > 1 order by customer
            """
    }

    /// As whom customers are read, by the place of an instant.
    func reader(_ filter: inout Filter) -> String {
        let merges = readers.merges
        let places = [merges.places, merges.customers, merges.readers].map {
            "\(filter.place(.int8s($0)))::bigint[]"
        }
        return "unnest(\(places.joined(separator: ", "))) as reader (place, customer, reader)"
    }

    /// What persons count for, in cohorts by their beginning or in windows.
    ///
    /// - Shape: columns are the place of the threshold before, the member, its age if it has one, the
    ///   currency, what groups are told apart by, and the number, or of money hundred-thousandths.
    func persons(_ columns: Columns, between thresholds: Thresholds) -> Statement {
        var persons = PersonStatement(self, columns, thresholds)
        switch question.metric {
        case .conversionToPaying: persons.addConversions()
        case .trialConversionByFirstSeen: persons.addTrials()
        case .realisedLTV: persons.addLifetimes()
        case .cohortExplorer: persons.addAges()
        default: persons.addAverages()
        }
        return persons.statement
    }

    /// The plans that lines have whose retention is told.
    static func plans(_ generation: Int64) -> Statement {
        Statement(
            "select distinct plan from projection.retention where generation = $1",
            [.int8(generation)])
    }

    /// How many lines of a cohort are old enough for so many periods, and reached which.
    ///
    /// - Shape: columns are the place of the threshold before, the plan, how many periods the lines
    ///   are old enough for, the number of a period that they have reached or 0 for all of them, the
    ///   count, and what groups are told apart by.
    func retention(_ columns: Columns, between thresholds: Thresholds) -> Statement {
        var filter = filter
        let instants = thresholds.instants
        let all = filter.place(.int8s(instants))
        let most = MetricQuestion.mostPeriods
        let names = filter.place(.texts(plans))
        let latest = filter.place(
            .int8s(
                plans.flatMap { Plan(name: $0).latestStarts(reaching: most, by: question.knownAt) })
        )
        filter.conditions.append("first_at >= \(filter.place(.int8(instants[0])))")
        filter.conditions.append(
            "first_at < \(filter.place(.int8(instants[instants.count - 1])))")
        let groups = columns.names.map { ", \($0)" }.joined()
        return Statement(
            """
            with cohort as materialized (select width_bucket(first_at, \(all)) - 1 as place, \
            name as own_plan, \(most) - width_bucket(first_at - 1, latest) as age, periods\(groups) \
            from (select first_at, periods, plan as name\
            \(columns.selected.map { ", \($0)" }.joined()) \
            from projection.retention where \(filter.text)) as begun join (\
            select plan as name, (\(latest)::bigint[])\
            [(number - 1) * \(most) + 1 : number * \(most)] as latest \
            from unnest(\(names)::text[]) with ordinality as own (plan, number)) as own using (name)) \
            select place::bigint, own_plan, age::bigint, 0::bigint, count(*)\(groups) \
            from cohort group by place, own_plan, age\(groups) union all \
            select place::bigint, own_plan, age::bigint, number::bigint, count(*)\(groups) from cohort \
            cross join lateral unnest(string_to_array(periods, ',')::bigint[]) as number \
            group by place, own_plan, age, number\(groups)
            """, filter.parameters)
    }
}

extension Plan {
    /// The latest starts with which a line is old enough for a period of each number, the highest
    /// number first. Units: milliseconds since 1970.
    fileprivate func latestStarts(reaching last: Int64, by instant: Instant) -> [Int64] {
        stride(from: last, through: 1, by: -1).map { number in
            // Whoever starts later comes there later: half of what is left is out each time.
            var low: Int64 = -62_135_596_800_000
            var high = max(low, instant.stored)
            while low < high {
                let middle = high - (high - low) / 2
                if start(of: number, after: Instant(milliseconds: middle)) <= instant {
                    low = middle
                } else {
                    high = middle - 1
                }
            }
            return low
        }
    }
}
