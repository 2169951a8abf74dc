import Domain
import Postgres

/// A statement about persons: what they count for is gathered part by part.
///
/// Most persons have one line, whose row says all that is asked of them: such lines are summed as they
/// are, by several workers at once. Only lines of those who have several are put together. They are
/// counted twice, and taken out once as what they would be alone: rows have a `sign`.
struct PersonStatement {
    let question: MetricQuestion
    let columns: MetricSQL.Columns
    let groups: String
    let instants: [Int64]
    /// The place of the thresholds.
    let all: String
    /// The place of the instant of knowledge.
    let knownAt: String
    /// Whether lines of persons with one line are left out of what is put together: what rows are told
    /// apart by otherwise is that of how a line began, which is told elsewhere.
    let hasAlone: Bool
    /// Every line, as if it were a person.
    let lines: String
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
        hasAlone = columns.names.isEmpty
        let isNow = "from_at <= \(knownAt) and until_at > \(knownAt)"
        let arrays = MetricSQL.arrays(of: question.metric)
        let told = "\(MetricSQL.origins), transaction\(arrays)"
        lines = "select \(told) from projection.tenure where \(filter.text) and \(isNow)"
        let owner = sql.owner(
            &filter, "\(isNow)\(hasAlone ? " and customer is not null" : "")", with: ", \(told)")
        let first = ["first_at", "first_currency"] + columns.names
        let firsts = first.map { "first_value(\($0)) over whole as \($0)" }
        let own = """
            first_at as own_first_at, paid_at as own_paid_at, \
            first_currency as own_first_currency\(arrays)
            """
        var line = """
            select \(own), customer as person, row_number() over whole = 1 as is_first, \
            \(firsts.joined(separator: ", ")), min(paid_at) over whole as paid_at, \
            bool_or(has_tried) over whole as has_tried, \
            bool_or(has_converted) over whole as has_converted from begun \
            where customer is not null window whole as (partition by customer \
            order by first_at, transaction collate "C" \
            rows between unbounded preceding and unbounded following)
            """
        if hasAlone {
            tables = [
                """
                begun as materialized (select *, owner as customer from (\(owner)) as own \
                where owner in (\(sql.crowded(owner))))
                """
            ]
        } else {
            // Whoever has one line is what it is, and has a number below zero.
            line = """
                select \(own), -row_number() over () as person, true as is_first, \
                \(first.joined(separator: ", ")), paid_at, has_tried, has_converted \
                from begun where customer is null union all \(line)
                """
            tables = [
                "owner as materialized (\(owner))",
                """
                begun as materialized (select owner.*, several.customer\(groups) \
                from (select bucket, stream\(columns.selected.map { ", \($0)" }.joined()) \
                from projection.beginning where \(filter.text)) as own \
                join owner using (bucket, stream) left join (select owner as customer from owner \
                where owner is not null group by owner having count(*) > 1) as several \
                on owner.owner = several.customer)
                """,
            ]
        }
        // Several lines have in common what the first of them is.
        tables.append("line as materialized (\(line))")
    }

    var statement: Statement {
        Statement(
            "with \(tables.joined(separator: ", ")) \(parts.joined(separator: " union all "))",
            filter.parameters)
    }

    // MARK: Cohorts

    /// Persons by how many days passed after they began until they paid.
    mutating func addConversions() {
        addHeads()
        let isInTime = "coalesce(\(days("first_at", "paid_at")) <= \(question.days), false)"
        let isYoung = "\(days("first_at", knownAt)) <= \(question.days)"
        addCounts([
            ("customers", "true"), ("converted", isInTime),
            ("pending", "not \(isInTime) and \(isYoung)"),
        ])
    }

    /// Persons who tried and who converted.
    mutating func addTrials() {
        addHeads()
        addCounts([
            ("customers", "true"), ("trials", "has_tried"), ("converted", "has_converted"),
        ])
    }

    /// Persons by the age that they have reached and at which they paid first, and their money.
    mutating func addLifetimes() {
        addHeads()
        addCounts([("customers", "true")], age: "0")
        addReached("mature")
        func age(_ instant: String) -> String {
            "(greatest(\(days("first_at", instant)), 0) + \(question.days - 1)) / \(question.days)"
        }
        addCounts([("payers", "paid_at is not null")], age: age("paid_at"))
        addCohortMoney(age: age("at"))
    }

    /// Persons by the ages that they have reached and at which they were paid for, and their money.
    mutating func addAges() {
        start = "paid_at"
        addHeads()
        addReached("customers")
        addRetained()
        addCohortMoney(
            age: "\(days("paid_at", "at")) / \(question.days)",
            where: " and \(days("paid_at", "at")) >= 0")
    }

    /// Persons by the ages at which they were paid for.
    private mutating func addRetained() {
        let step = question.days * 86_400_000
        let youngest = "(greatest(since - paid_at, 0) + \(step - 1)) / \(step)"
        let oldest = """
            least((until - 1 - paid_at) / \(step), (\(knownAt) - paid_at) / \(step), \
            \(MetricQuestion.mostAges))
            """
        func reached(_ kept: String, _ source: String) -> String {
            """
            select \(kept), \(place) as place, \(youngest) as youngest, \(oldest) as oldest \
            from (select \(kept), paid_at, unnest(paid_from) as since, unnest(paid_until) as until \
            from (\(source)) as line where paid_at <= \(knownAt) and \(isWithin)) as paid \
            where until > paid_at and \(PersonStatement.ever("since"))
            """
        }
        let each = "cross join lateral generate_series(youngest, oldest) as age"
        let kept = "person, first_currency\(groups)"
        var crowds = [
            """
            select place, age, \(currency) as currency\(groups), count(*) as people from (\
            select distinct \(kept), place, age \
            from (\(reached(kept, "select * from line"))) as paid \(each)) as retained \
            group by \(named(1, 3))
            """
        ]
        // A line is in one stretch at a time.
        crowds += alone.map { sign, source in
            """
            select place, age, currency, people from (select place, youngest, oldest, \
            \(currency) as currency, sum(\(sign)) as people \
            from (\(reached("first_currency", source))) as paid group by 1, 2, 3, 4) as crowd \(each)
            """
        }
        addSums("retained", of: crowds, age: "age")
    }

    // MARK: Parts

    /// Rows that count lines as if each were a person, and those that take them out again of persons
    /// who have several.
    var alone: [(sign: String, source: String)] {
        hasAlone ? [("1", lines), ("-1", "select * from begun")] : []
    }

    /// The persons who began something within the thresholds.
    private mutating func addHeads() {
        let rows =
            [("1", "select * from line where is_first")] + alone
        let heads = rows.map { sign, source in
            """
            select \(place) as place, \(MetricSQL.origins)\(groups), \(sign) as sign \
            from (\(source)) as line where \(isWithin)
            """
        }
        tables.append("head as (\(heads.joined(separator: " union all ")))")
    }

    /// Counts those of the cohort for whom conditions hold.
    private mutating func addCounts(
        _ members: [(name: String, condition: String)], age: String = "null"
    ) {
        let counts = members.enumerated().map {
            "sum(sign) filter (where \($0.element.condition)) as count\($0.offset)"
        }
        let told = members.enumerated().map { "('\($0.element.name)', count\($0.offset))" }
        parts.append(
            """
            select place::bigint, member, age, currency\(groups), number::text from (\
            select place, (\(age))::bigint as age, \(currency) as currency\(groups), \
            \(counts.joined(separator: ", ")) from head group by \(named(1, 3))) as counted \
            cross join lateral (values \(told.joined(separator: ", "))) as told (member, number) \
            where number <> 0
            """)
    }

    /// Counts the cohort by the age that it has reached by the instant of knowledge.
    private mutating func addReached(_ member: String) {
        let passed = days(start, knownAt)
        addCounts([(member, "\(passed) >= 0")], age: "\(passed) / \(question.days)")
    }

    /// Sums the money of the cohort.
    private mutating func addCohortMoney(age: String, where condition: String = "") {
        guard hasAlone else {
            let source = "select * from line where \(isWithin)"
            let moved = moved(of: source, keeping: "\(start)\(groups)", by: "own_first_currency")
            return addMoney([money(moved, age: age, where: condition)])
        }
        // Of several lines only those whose person began at another time than they did.
        let others = """
            select line.own_first_currency, sign, told.start as \(start)\
            \(MetricSQL.arrays(of: question.metric)) from line \
            cross join lateral (values (-1, own_\(start)), (1, \(start))) as told (sign, start) \
            where \(start) is distinct from own_\(start) and \(isWithin("told.start"))
            """
        addMoney([
            money(
                moved(of: "\(lines) and \(isWithin)", keeping: start), age: age,
                where: condition),
            money(
                moved(of: others, keeping: "\(start), sign", by: "own_first_currency"), age: age,
                where: condition, isSigned: true),
        ])
    }

    /// Adds sums of money, each by place, age and currency, up.
    mutating func addMoney(_ sums: [String]) {
        let member = isApart ? "case when is_paid then 'revenue' else 'refunds' end" : "'net'"
        parts.append(
            """
            select place, \(member) as member, age, currency\(groups), sum(number)::text \
            from (\(sums.joined(separator: " union all "))) as part \
            group by \(keys) having sum(weight) <> 0
            """)
    }

    /// Adds counts up.
    mutating func addSums(_ member: String, of counted: [String], age: String) {
        parts.append(
            """
            select place::bigint, '\(member)' as member, \(age)::bigint as age, \
            currency\(groups), sum(people)::text \
            from (\(counted.joined(separator: " union all "))) as counted \
            group by \(keys) having sum(people) <> 0
            """)
    }

    /// Adds rows that several parts are made of.
    mutating func addTable(_ name: String, _ rows: String) {
        tables.append("\(name) as materialized (\(rows))")
    }

    /// Whether what was paid and what went back are told apart.
    private var isApart: Bool { question.metric == .cohortExplorer }

    /// A sum of money, and how many movements it is of.
    ///
    /// - Parameter others: what else is told of what moved, what else sums are told apart by, and what
    ///   else is told of each sum.
    func money(
        _ moved: String, age: String = "null", where condition: String = "", isSigned: Bool = false,
        others: (told: String, apart: String, sums: String) = ("", "", "")
    ) -> String {
        let rows = """
            select (\(place))::bigint as place, \(isApart ? isPaid : "true") as is_paid, \
            (\(age))::bigint as age, \(currency("currency")) as currency\(groups), \
            marks, amount, share, \(isSigned ? "sign" : "1") as sign\(others.told) from \(moved) \
            where true\(condition)
            """
        // A selection of two is not taken apart, so that a place that is used twice is found once.
        let none = others.told.isEmpty ? "" : " union all \(rows) and false"
        return """
            select place, is_paid, age, currency\(groups), \
            coalesce(sum(sign * amount) filter (where \(isPaid)), 0) * 100000 \
            + coalesce(sum(sign * amount * (case when marks & \(Fact.reversed.mark) <> 0 then share \
            else -share end)::numeric) filter (where not \(isPaid)), 0) as number, \
            sum(sign) as weight\(others.sums) from (\(rows)\(none)) as moved \
            group by \(keys)\(others.apart)
            """
    }

    /// Money that moved, on the basis that is asked for, of lines.
    ///
    /// - Parameters:
    ///   - kept: what else is told of each line.
    ///   - currency: the line's first, which that of its money is when nothing else is said.
    ///   - paidBefore: whether it is told of what was paid when something was before.
    func moved(
        of lines: String, keeping kept: String = "", by currency: String = "first_currency",
        paidBefore: Bool = false
    ) -> String {
        let facts =
            question.basis == .restated
            ? [Fact.paid, .takenOut] : [Fact.paid, .refunded, .reversed]
        let kept = kept.isEmpty ? "" : "\(kept), "
        // Payments are the first of all, in order of time.
        let before = paidBefore ? ", unnest(array_prepend(null, moved_at)) as paid_before" : ""
        let (line, each) =
            start == "at"
            ? (
                "moved_from < \(instants[instants.count - 1]) and moved_until >= \(instants[0])",
                isWithin
            ) : ("true", PersonStatement.ever("at"))
        return """
            (select *, case when is_same then line_currency else named end as currency from (\
            select *, coalesce(fact, \(Fact.paid.mark)) as marks from (\
            select \(kept)\(currency) as line_currency, currencies is null as is_same, \
            unnest(moved_at) as at, unnest(amounts) as amount, unnest(facts) as fact, \
            unnest(shares) as share, unnest(currencies) as named\(before) \
            from (\(lines)) as line where \(line)) as own) as own \
            where marks & \(facts.reduce(0) { $0 | $1.mark }) <> 0 and \(each)) as moved
            """
    }

    /// Of any instant, which the planner does not know: it expects few rows, and so few groups of them
    /// that workers send sums instead of rows.
    static func ever(_ instant: String) -> String {
        "\(instant) >= \(-Int64(1) << 60) and \(instant) <= \(Int64(1) << 60)"
    }

    let isPaid = "marks & \(Fact.paid.mark) <> 0"
    /// What places rows among the thresholds.
    var start = "first_at"

    /// The place of a start among the thresholds.
    var place: String { "width_bucket(\(start), \(all)) - 1" }

    var isWithin: String { isWithin(start) }

    private func isWithin(_ instant: String) -> String {
        "\(instant) >= \(instants[0]) and \(instant) < \(instants[instants.count - 1])"
    }

    /// The currency of a person's row.
    var currency: String { currency("first_currency") }

    func currency(_ column: String) -> String {
        question.dimensions.contains(.currency) ? column : "null::text"
    }

    /// The places of the columns that rows are told apart by.
    private var keys: String { named(1, 4) }

    /// The places of the columns that groups are told apart by, the currency's being the last of some.
    private func named(_ first: Int, _ currency: Int) -> String {
        (first...currency + columns.names.count).map(String.init).joined(separator: ", ")
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

    /// What a metric needs of what a line did, with a comma before each.
    fileprivate static func arrays(of metric: Metric) -> String {
        let money = ", moved_from, moved_until, moved_at, amounts, facts, shares, currencies"
        return switch metric {
        case .arpu: "\(money), present_from, present_until"
        case .cohortExplorer: "\(money), paid_from, paid_until"
        case .arppu, .realisedLTV: money
        default: ""
        }
    }
}
