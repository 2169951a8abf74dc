import Domain
import Postgres

/// A statement about persons: what they count for is gathered part by part.
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
        tables = [
            """
            owner as materialized (select bucket, stream, coalesce(reader, number) as customer \
            from (\(named)) as named left join \(reader) on customer = number)
            """,
            """
            begun as materialized (select bucket, stream, first_at, first_currency, paid_at, has_tried, \
            has_converted\(groups), transaction, several.customer from (\
            select bucket, stream, first_at, first_currency, paid_at, has_tried, has_converted, \
            transaction\(selected) from projection.beginning where \(filter.text)) as own \
            left join owner using (bucket, stream) left join (select customer from owner \
            group by customer having count(*) > 1) as several using (customer))
            """,
            // Whoever has one line is what it is, and has a number below zero; several lines have in
            // common what the first of them is.
            """
            line as materialized (select bucket, stream, -row_number() over () as person, \
            true as is_first, \(first.joined(separator: ", ")), paid_at, has_tried, has_converted \
            from begun where customer is null union all select bucket, stream, customer, \
            row_number() over whole = 1, \(firsts.joined(separator: ", ")), \
            min(paid_at) over whole, bool_or(has_tried) over whole, bool_or(has_converted) over whole \
            from begun where customer is not null window whole as (partition by customer \
            order by first_at, transaction collate "C" \
            rows between unbounded preceding and unbounded following))
            """,
        ]
    }

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
        addReached("mature", "first_at")
        func age(_ instant: String) -> String {
            "(greatest(\(days("first_at", instant)), 0) + \(question.days - 1)) / \(question.days)"
        }
        addCounts([("payers", "paid_at is not null")], age: age("paid_at"))
        addMoney("'net'", in: "cohort", "place", age: age("at"))
    }

    /// Persons by the ages that they have reached and at which they were paid for, and their money.
    mutating func addAges() {
        addCohort("paid_at")
        addReached("customers", "paid_at")
        let step = question.days * 86_400_000
        parts.append(
            """
            select place, 'retained', age, \(currency)\(groups), count(distinct person)::text \
            from (select bucket, stream, from_at, until_at from projection.coverage \
            where \(filter.text) and kind = 'paid') as stretch \
            join cohort using (bucket, stream) cross join lateral generate_series(\
            (greatest(from_at - paid_at, 0) + \(step - 1)) / \(step), least(\
            (until_at - 1 - paid_at) / \(step), (\(knownAt) - paid_at) / \(step), \
            \(MetricQuestion.mostAges))) as age \
            where until_at > paid_at and paid_at <= \(knownAt) group by \(keys)
            """)
        addMoney(
            "case when \(isPaid) then 'revenue' else 'refunds' end", in: "cohort", "place",
            age: "\(days("paid_at", "at")) / \(question.days)",
            where: "\(days("paid_at", "at")) >= 0")
    }

    // MARK: Windows

    /// Persons who paid in each window, or whose lines were covered then too, and their money.
    mutating func addAverages() {
        let (first, last) = (instants[0], instants[instants.count - 1])
        window = "at >= \(first) and at < \(last)"
        let place = "width_bucket(at, \(all)) - 1"
        var persons = """
            select person, \(place) as place from \(movements) join line using (bucket, stream) \
            where \(isPaid)
            """
        if question.metric == .arpu {
            persons += """
                 union select person, place from (select bucket, stream, \
                greatest(width_bucket(from_at, \(all)) - 1, 0) as first, \
                least(width_bucket(until_at - 1, \(all)) - 1, \(instants.count - 2)) as last \
                from projection.coverage where \(filter.text) \
                and kind in ('paid', 'trial', 'free') \
                and from_at < \(last) and until_at > \(first)) as stretch \
                join line using (bucket, stream) cross join lateral generate_series(first, last) as place
                """
        } else {
            persons += " group by 1, 2"
        }
        parts.append(
            """
            select place::bigint, '\(question.metric == .arpu ? "customers" : "payers")', \
            null::bigint, \(currency)\(groups), count(*)::text from (\(persons)) as active \
            join line using (person) where is_first group by \(keys)
            """)
        addMoney("'net'", in: "line", place, age: "null")
    }

    // MARK: Parts

    /// The lines of persons who began something within the thresholds.
    private mutating func addCohort(_ start: String) {
        tables.append(
            """
            cohort as materialized (select *, width_bucket(\(start), \(all)) - 1 as place from line \
            where \(start) >= \(instants[0]) and \(start) < \(instants[instants.count - 1]))
            """)
    }

    /// Counts those of the cohort for whom conditions hold.
    private mutating func addCounts(
        _ members: [(name: String, condition: String)], age: String = "null"
    ) {
        let conditions = members.map { "('\($0.name)', \($0.condition))" }
        parts.append(
            """
            select place::bigint, member, (\(age))::bigint as age, \(currency)\(groups), \
            count(*)::text from cohort cross join lateral \
            (values \(conditions.joined(separator: ", "))) as told (member, holds) \
            where is_first and holds group by \(keys)
            """)
    }

    /// Counts the cohort by the age that it has reached by the instant of knowledge.
    private mutating func addReached(_ member: String, _ start: String) {
        let passed = days(start, knownAt)
        addCounts([(member, "\(passed) >= 0")], age: "\(passed) / \(question.days)")
    }

    /// Sums the money of persons.
    private mutating func addMoney(
        _ member: String, in table: String, _ place: String, age: String,
        where condition: String = "true"
    ) {
        let own = question.dimensions.contains(.currency) ? "currency" : "null::text"
        parts.append(
            """
            select (\(place))::bigint, \(member), (\(age))::bigint, \(own)\(groups), \
            (coalesce(sum(amount) filter (where \(isPaid)), 0) * 100000 \
            + coalesce(sum(amount * (case when marks & \(Fact.reversed.mark) <> 0 then share \
            else -share end)::numeric) filter (where not \(isPaid)), 0))::text \
            from \(movements) join \(table) using (bucket, stream) where \(condition) \
            group by \(keys)
            """)
    }

    private let isPaid = "marks & \(Fact.paid.mark) <> 0"
    /// When money moved that counts.
    private var window = "true"

    /// Money that moved, on the basis that is asked for.
    private var movements: String {
        let facts =
            question.basis == .restated
            ? [Fact.paid, .takenOut] : [Fact.paid, .refunded, .reversed]
        return """
            (select bucket, stream, at, marks, amount, share, currency from projection.movement \
            where \(filter.text) and marks & \(facts.reduce(0) { $0 | $1.mark }) <> 0 \
            and amount <> 0 and \(window)) as movement
            """
    }

    /// The currency of a person's row.
    private var currency: String {
        question.dimensions.contains(.currency) ? "first_currency" : "null::text"
    }

    /// The places of the columns that rows are told apart by.
    private var keys: String {
        (1...4 + columns.names.count).map(String.init).joined(separator: ", ")
    }

    /// Calendar days from one instant to another, in UTC.
    private func days(_ start: String, _ end: String) -> String {
        // Counted from long before any instant, since division cuts towards zero.
        func day(_ instant: String) -> String { "(\(instant) + 1209600000000000000) / 86400000" }
        return "(\(day(end)) - \(day(start)))"
    }
}
