import Domain
import Postgres

/// A statement about persons: what they count for is gathered part by part.
///
/// Most persons have one line, whose rows say all that is asked of them: such lines are summed as they
/// are, by several workers at once. Only lines of those who have several are joined. They are counted
/// twice, and taken out once as what they would be alone: rows have a `sign`.
struct PersonStatement {
    private let question: MetricQuestion
    private let columns: MetricSQL.Columns
    private let groups: String
    private let instants: [Int64]
    /// The places of the thresholds and of the instant of knowledge.
    private let all: String
    private let knownAt: String
    private var filter: MetricSQL.Filter
    private var tables: [String] = []
    private var parts: [String] = []

    /// Who the persons are, and how they began.
    init(_ sql: MetricSQL, _ columns: MetricSQL.Columns, _ thresholds: Thresholds) {
        question = sql.question
        self.columns = columns
        groups = columns.names.map { ", \($0)" }.joined()
        instants = thresholds.instants
        filter = sql.filter
        all = filter.place(.int8s(instants))
        knownAt = filter.place(.int8(question.knownAt.stored))
        let named = sql.named(
            &filter, "from_at <= \(knownAt) and until_at > \(knownAt)")
        let reader = sql.reader(&filter)
        let selected = columns.selected.map { ", \($0)" }.joined()
        let first = ["first_at", "first_currency"] + columns.names
        let firsts = first.map { "first_value(\($0)) over whole as \($0)" }
        // What rows of lines alone are told apart by is their own, not that of how the line began.
        hasAlone = columns.names.isEmpty
        let join = hasAlone ? "join" : "left join"
        tables = [
            """
            owner as materialized (select bucket, stream, coalesce(reader, number) as customer \
            from (\(named)) as named left join \(reader) on customer = number)
            """,
            """
            begun as materialized (select bucket, stream, \(MetricSQL.origins)\(groups), \
            transaction, several.customer from (\
            select bucket, stream, \(MetricSQL.origins), transaction\(selected) \
            from projection.beginning where \(filter.text)) as own \
            \(join) owner using (bucket, stream) \(join) (select customer from owner \
            group by customer having count(*) > 1) as several using (customer))
            """,
            // Whoever has one line is what it is, and has a number below zero; several lines have in
            // common what the first of them is.
            """
            line as materialized (select bucket, stream, first_at as own_first_at, \
            paid_at as own_paid_at, -row_number() over () as person, true as is_first, \
            \(first.joined(separator: ", ")), paid_at, has_tried, has_converted \
            from begun where customer is null union all select bucket, stream, first_at, paid_at, \
            customer, row_number() over whole = 1, \(firsts.joined(separator: ", ")), \
            min(paid_at) over whole, bool_or(has_tried) over whole, bool_or(has_converted) over whole \
            from begun where customer is not null window whole as (partition by customer \
            order by first_at, transaction collate "C" \
            rows between unbounded preceding and unbounded following))
            """,
        ]
    }

    /// Whether lines of persons with one line are left out of what is joined.
    private let hasAlone: Bool

    var statement: Statement {
        Statement(
            "with \(tables.joined(separator: ", ")) \(parts.joined(separator: " union all "))",
            filter.parameters)
    }

    // MARK: Cohorts

    /// Persons by how many days passed after they began until they paid.
    mutating func addConversions() {
        addCohort("first_at")
        let isInTime = "coalesce(\(days("first_at", "paid_at")) <= \(question.days), false)"
        let isYoung = "\(days("first_at", knownAt)) <= \(question.days)"
        addCounts([
            ("customers", "true"), ("converted", isInTime),
            ("pending", "not \(isInTime) and \(isYoung)"),
        ])
    }

    /// Persons who tried and who converted.
    mutating func addTrials() {
        addCohort("first_at")
        addCounts([
            ("customers", "true"), ("trials", "has_tried"), ("converted", "has_converted"),
        ])
    }

    /// Persons by the age that they have reached and at which they paid first, and their money.
    mutating func addLifetimes() {
        addCohort("first_at")
        addCounts([("customers", "true")], age: "0")
        addReached("mature")
        func age(_ instant: String) -> String {
            "(greatest(\(days("first_at", instant)), 0) + \(question.days - 1)) / \(question.days)"
        }
        addCounts([("payers", "paid_at is not null")], age: age("paid_at"))
        addCohortMoney("'net'", age: age("at"))
    }

    /// Persons by the ages that they have reached and at which they were paid for, and their money.
    mutating func addAges() {
        addCohort("paid_at")
        addReached("customers")
        addRetained()
        addCohortMoney(
            "case when \(isPaid) then 'revenue' else 'refunds' end",
            age: "\(days("paid_at", "at")) / \(question.days)",
            where: " and \(days("paid_at", "at")) >= 0")
    }

    /// Persons by the ages at which they were paid for.
    private mutating func addRetained() {
        let step = question.days * 86_400_000
        let youngest = "(greatest(from_at - paid_at, 0) + \(step - 1)) / \(step)"
        let oldest = """
            least((until_at - 1 - paid_at) / \(step), (\(knownAt) - paid_at) / \(step), \
            \(MetricQuestion.mostAges))
            """
        let isReached = "until_at > paid_at and paid_at <= \(knownAt)"
        let paid = "projection.coverage where \(filter.text) and kind = 'paid'"
        let stretch = "(select bucket, stream, from_at, until_at from \(paid)) as stretch"
        let ages = "cross join lateral generate_series(\(youngest), \(oldest)) as age"
        var counted = [
            """
            select place, age, \(currency) as currency\(groups), count(distinct person) as people \
            from \(stretch) join cohort using (bucket, stream) \(ages) where \(isReached) \
            group by place, age, \(named(3))
            """
        ]
        if hasAlone {
            // A line has one stretch at a time.
            counted += [
                """
                select place, age, currency, people from (\
                select \(place) as place, \(youngest) as youngest, \(oldest) as oldest, \
                \(currency) as currency, count(*) as people from \(paid) and \(isReached) \
                and \(isWithin) group by 1, 2, 3, 4) as crowd \
                cross join lateral generate_series(youngest, oldest) as age
                """,
                """
                select \(place), age, \(currency), -1 from \(stretch) join begun \
                using (bucket, stream) \(ages) where \(isReached) and \(isWithin)
                """,
            ]
        }
        parts.append(
            """
            select place::bigint, 'retained', age, currency\(groups), sum(people)::text \
            from (\(counted.joined(separator: " union all "))) as counted \
            group by \(keys) having sum(people) <> 0
            """)
    }

    // MARK: Windows

    /// Persons who paid in each window, or whose lines were covered then too, and their money.
    mutating func addAverages() {
        let (first, last) = (instants[0], instants[instants.count - 1])
        let bits = PlaceBits(count: instants.count - 1)
        window = "at >= \(first) and at < \(last)"
        let place = "width_bucket(at, \(all)) - 1"
        // What is known of each line, by workers; of two tables together only once there is less of it.
        func united(_ rows: String) -> String {
            """
            select bucket, stream, min(first_currency collate "C") as first_currency\(bits.united) \
            from (\(rows)) as own group by bucket, stream
            """
        }
        var active = united(
            """
            select bucket, stream, first_currency\(bits.range("place", "place + 1")) \
            from (select bucket, stream, first_currency, \(place) as place \
            from \(movements(", first_currency")) where \(isPaid)) as paid
            """)
        if question.metric == .arpu {
            active = united(
                """
                \(active) union all select bucket, stream, first_currency\(bits.range("first", "last")) \
                from (select bucket, stream, first_currency, \
                greatest(width_bucket(from_at, \(all)) - 1, 0) as first, \
                least(width_bucket(until_at - 1, \(all)), \(instants.count - 1)) as last \
                from projection.coverage where \(filter.text) \
                and kind in ('paid', 'trial', 'free') \
                and from_at < \(last) and until_at > \(first)) as stretch
                """)
        }
        tables.append(
            """
            active as materialized (select bucket, stream, \(currency) as currency\(bits.columns) \
            from (\(active)) as active)
            """)
        var counted = [
            """
            select \(currency) as currency\(groups)\(bits.united), 1 as sign from line join \
            (select bucket, stream\(bits.columns) from active) as own using (bucket, stream) \
            group by person, \(named(1))
            """
        ]
        if hasAlone {
            counted += [
                "select currency\(bits.columns), 1 from active",
                """
                select currency\(bits.columns), -1 from active where exists (select from begun \
                where (begun.bucket, begun.stream) = (active.bucket, active.stream))
                """,
            ]
        }
        parts.append(
            """
            select place::bigint, '\(question.metric == .arpu ? "customers" : "payers")', \
            null::bigint, currency\(groups), sum(people)::text from (\
            select currency\(groups)\(bits.columns), sum(sign) as people \
            from (\(counted.joined(separator: " union all "))) as counted \
            group by currency\(groups)\(bits.columns)) as crowd \(bits.places) \
            group by \(keys) having sum(people) <> 0
            """)
        let source = hasAlone ? movements() : "\(movements()) join line using (bucket, stream)"
        addMoney([money("'net'", from: source, place, age: "null")])
    }

    // MARK: Parts

    /// The lines of persons who began something within the thresholds, and each such person once.
    private mutating func addCohort(_ start: String) {
        self.start = start
        tables.append(
            "cohort as materialized (select *, \(place) as place from line where \(isWithin))")
        let origins = MetricSQL.origins
        var heads = ["select place, \(origins)\(groups), 1 as sign from cohort where is_first"]
        if hasAlone {
            heads += [
                """
                select \(place), \(origins), 1 from projection.beginning \
                where \(filter.text) and \(isWithin)
                """,
                "select \(place), \(origins), -1 from begun where \(isWithin)",
            ]
        }
        tables.append("head as (\(heads.joined(separator: " union all ")))")
    }

    /// Counts those of the cohort for whom conditions hold.
    private mutating func addCounts(
        _ members: [(name: String, condition: String)], age: String = "null"
    ) {
        let conditions = members.map { "('\($0.name)', \($0.condition))" }
        parts.append(
            """
            select place::bigint, member, (\(age))::bigint as age, \(currency)\(groups), \
            sum(sign)::text from head cross join lateral \
            (values \(conditions.joined(separator: ", "))) as told (member, holds) \
            where holds group by \(keys) having sum(sign) <> 0
            """)
    }

    /// Counts the cohort by the age that it has reached by the instant of knowledge.
    private mutating func addReached(_ member: String) {
        let passed = days(start, knownAt)
        addCounts([(member, "\(passed) >= 0")], age: "\(passed) / \(question.days)")
    }

    /// Sums the money of the cohort.
    private mutating func addCohortMoney(
        _ member: String, age: String, where condition: String = ""
    ) {
        guard hasAlone else {
            let source = "\(movements()) join cohort using (bucket, stream)"
            return addMoney([money(member, from: source, "place", age: age, where: condition)])
        }
        // Each of them by the index, since most movements are of others, and only those whose person
        // began at another time than they did.
        let own = movements("", of: " and (bucket, stream) = (line.bucket, line.stream) offset 0")
        let source = """
            (select movement.*, sign, told.start as \(start) from (select * from line \
            where \(start) is distinct from own_\(start) and (\(isWithin) or \(isWithin("own_\(start)")))) \
            as line cross join lateral \(own) \
            cross join lateral (values (-1, own_\(start)), (1, line.\(start))) as told (sign, start) \
            ) as told
            """
        addMoney([
            money(
                member, from: movements(", \(start)"), place, age: age,
                where: "\(condition) and \(isWithin)"),
            money(
                member, from: source, place, age: age, where: "\(condition) and \(isWithin)",
                isSigned: true),
        ])
    }

    private mutating func addMoney(_ sums: [String]) {
        parts.append(
            """
            select place, member, age, currency\(groups), sum(number)::text \
            from (\(sums.joined(separator: " union all "))) as part \
            group by \(keys) having sum(weight) <> 0
            """)
    }

    /// A sum of money, and how many movements it is of.
    private func money(
        _ member: String, from source: String, _ place: String, age: String,
        where condition: String = "", isSigned: Bool = false
    ) -> String {
        let own = question.dimensions.contains(.currency) ? "currency" : "null::text"
        let rows = """
            select (\(place))::bigint as place, \(member) as member, (\(age))::bigint as age, \
            \(own) as currency\(groups), marks, amount, share, \(isSigned ? "sign" : "1") as sign \
            from \(source)
            """
        // The planner expects few groups of two selections together, so that workers send sums; of what
        // is computed from columns it expects as many as rows.
        let none = hasAlone && !isSigned ? " union all \(rows) where false" : ""
        return """
            select place, member, age, currency\(groups), \
            coalesce(sum(sign * amount) filter (where \(isPaid)), 0) * 100000 \
            + coalesce(sum(sign * amount * (case when marks & \(Fact.reversed.mark) <> 0 then share \
            else -share end)::numeric) filter (where not \(isPaid)), 0) as number, \
            sum(sign) as weight from (\(rows) where true\(condition)\(none)) as moved group by \(keys)
            """
    }

    private let isPaid = "marks & \(Fact.paid.mark) <> 0"
    /// When money moved that counts.
    private var window = "true"
    /// What places persons in cohorts.
    private var start = "first_at"

    /// The place of a start among the thresholds.
    private var place: String { "width_bucket(\(start), \(all)) - 1" }

    private var isWithin: String { isWithin(start) }

    private func isWithin(_ instant: String) -> String {
        "\(instant) >= \(instants[0]) and \(instant) < \(instants[instants.count - 1])"
    }

    /// Money that moved, on the basis that is asked for.
    private func movements(_ others: String = "", of lines: String = "") -> String {
        let facts =
            question.basis == .restated
            ? [Fact.paid, .takenOut] : [Fact.paid, .refunded, .reversed]
        return """
            (select bucket, stream, at, marks, amount, share, currency\(others) \
            from projection.movement \
            where \(filter.text) and marks & \(facts.reduce(0) { $0 | $1.mark }) <> 0 \
            and amount <> 0 and \(window)\(lines)) as movement
            """
    }

    /// The currency of a person's row.
    private var currency: String {
        question.dimensions.contains(.currency) ? "first_currency" : "null::text"
    }

    /// The places of the columns that rows are told apart by.
    private var keys: String { named(1, 4) }

    /// The places of the columns that groups are told apart by, the currency's being the last of some.
    private func named(_ first: Int, _ currency: Int? = nil) -> String {
        (first...(currency ?? first) + columns.names.count).map(String.init)
            .joined(separator: ", ")
    }

    /// Calendar days from one instant to another, in UTC.
    private func days(_ start: String, _ end: String) -> String {
        // Counted from long before any instant, since division cuts towards zero.
        func day(_ instant: String) -> String { "(\(instant) + 1209600000000000000) / 86400000" }
        return "(\(day(end)) - \(day(start)))"
    }
}

extension MetricSQL {
    /// What is known of how a line began.
    fileprivate static let origins = "first_at, paid_at, has_tried, has_converted, first_currency"
}
