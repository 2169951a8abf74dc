import Domain
import Postgres

/// Statements over the projection `metrics` that a question comes down to: they filter and sum, and
/// leave what a sum means to `Measurement`.
struct MetricSQL {
    let question: MetricQuestion
    let generation: Int64
    /// Lines that are measured from the record instead.
    let excluded: [String]
    /// As whom owners are read.
    var readers = Readers(people: People(), instants: [])
    /// The plans that lines have whose retention is told.
    var plans: [String] = []

    /// What groups are told apart by.
    struct Columns {
        var dimensions: [Dimension]
        /// Columns beside those of dimensions.
        var others: [String] = []

        /// The columns' expressions, with the names that they have outside.
        var selected: [String] { dimensions.map(MetricSQL.expression) + others }
        var names: [String] { dimensions.map(MetricSQL.name) + others }
    }

    /// Conditions and the values for their places.
    struct Filter {
        var conditions: [String] = []
        var parameters: [Parameter] = []

        mutating func place(_ parameter: Parameter) -> String {
            parameters.append(parameter)
            return "$\(parameters.count)"
        }

        /// Keeps what covers any of some instants, in order; returns their place.
        mutating func cover(_ instants: [Int64]) -> String {
            conditions.append("from_at <= \(place(.int8(instants[instants.count - 1])))")
            conditions.append("until_at > \(place(.int8(instants[0])))")
            return place(.int8s(instants))
        }

        var text: String { conditions.joined(separator: " and ") }
    }

    var filter: Filter {
        var filter = Filter()
        filter.conditions = [
            "generation = \(filter.place(.int8(generation)))",
            "environment = \(filter.place(.text(question.environment.name)))",
        ]
        if !excluded.isEmpty {
            filter.conditions.append("stream <> all(\(filter.place(.texts(excluded))))")
        }
        if let app = question.app {
            filter.conditions.append("bundle = \(filter.place(.text(app)))")
        }
        return filter
    }

    /// The name of a dimension's column.
    private static func name(_ dimension: Dimension) -> String {
        switch dimension {
        case .group: "product_group"
        default: dimension.rawValue
        }
    }

    private static func expression(_ dimension: Dimension) -> String {
        dimension == .app ? "coalesce(other_app, bundle) as app" : name(dimension)
    }

    /// How crowds of a standing grow and shrink from threshold to threshold.
    ///
    /// - Parameter table: what has their stretches.
    /// - Shape: columns are the place of the first threshold with the change, the change of the
    ///   count, of those unpriced, of the price, and what groups are told apart by.
    func crowds(
        _ condition: String, _ columns: Columns, at thresholds: Thresholds,
        of table: String = "projection.coverage"
    ) -> Statement {
        var filter = filter
        filter.conditions.append(condition)
        let instants = thresholds.instants
        let all = filter.cover(instants)
        let groups = columns.names.map { ", \($0)" }.joined()
        return Statement(
            """
            select place::bigint, sum(change * lines)::bigint, sum(change * unpriced)::bigint, \
            sum(change * price)::text\(groups) from (\
            select first, last, count(*) as lines, count(*) filter (where price is null) as unpriced, \
            coalesce(sum(price), 0) as price\(groups) from (\
            select width_bucket(from_at - 1, \(all)) as first, \
            width_bucket(until_at - 1, \(all)) as last, price\
            \(columns.selected.map { ", \($0)" }.joined()) from \(table) \
            where \(filter.text)) as covering group by first, last\(groups)) as crowd \
            cross join lateral (values (first, 1), (last, -1)) as edge (place, change) \
            where first < last and place < \(instants.count) group by place\(groups)
            """, filter.parameters)
    }

    // A condition that no null can meet, as `is null` or a bare column is, turns the full join into a
    // lesser one, of which the planner expects few rows, so that it goes through all lines for each.
    /// Of a turn: the line was not paid before.
    static let isNew = "coalesce(old.stream, '') = ''"
    /// Of a turn: the line is not paid any more.
    static let isGone = "coalesce(new.stream, '') = ''"

    /// How lines turned from one threshold to the next: only those can that have a stretch which
    /// begins or ends between them.
    ///
    /// - Shape: columns are the place of the first threshold, whether they had been paid for, how
    ///   many there are, whether they were and are paid, and what groups are told apart by, before
    ///   and after.
    func turns(
        _ condition: String, before: Columns, after: Columns, between thresholds: Thresholds
    ) -> Statement {
        var filter = filter
        filter.conditions.append("kind = 'paid'")
        let instants = thresholds.instants
        let all = filter.cover(instants)
        let columns =
            before.selected + after.selected.filter { !before.selected.contains($0) }
        let groups =
            before.names.map { "old.\($0)" } + after.names.map { "new.\($0)" }
        let grouped = groups.isEmpty ? "" : ", " + groups.joined(separator: ", ")
        let shared = columns.filter { $0 != "is_ended" }.map { ", \($0)" }.joined()
        let paid = """
            select stream, first_paid_at, is_ended, \
            width_bucket(from_at - 1, \(all)) as first, \
            width_bucket(until_at - 1, \(all)) as last\(shared) \
            from projection.coverage where \(filter.text)
            """
        return Statement(
            """
            with old as (select *, last - 1 as place from (\(paid)) as paid \
            where first < last and last < \(instants.count)), \
            new as (select *, first - 1 as place from (\(paid)) as paid \
            where first < last and first > 0) \
            select place::bigint, \
            coalesce(coalesce(old.first_paid_at, new.first_paid_at) \
            < (\(all)::bigint[])[place + 1], false) as was_paid, \
            count(*), old.stream is not null as has_old, new.stream is not null as has_new\(grouped) \
            from old full join new using (place, stream) where \(condition) \
            group by place, was_paid, has_old, has_new\(grouped)
            """, filter.parameters)
    }

    /// How many lines came and went between two thresholds and were paid at neither.
    ///
    /// - Shape: columns are the place of the threshold before, and the count.
    func blips(between thresholds: Thresholds) -> Statement {
        var filter = filter
        filter.conditions.append("kind = 'paid'")
        let instants = thresholds.instants
        let all = filter.cover(instants)
        return Statement(
            """
            with blip as materialized (select generation, bucket, stream, first from (\
            select generation, bucket, stream, width_bucket(from_at - 1, \(all)) as first, \
            width_bucket(until_at - 1, \(all)) as last \
            from projection.coverage where \(filter.text)) as paid where first = last and first > 0) \
            select first - 1::bigint as place, count(distinct stream) from blip \
            cross join lateral (select (\(all)::bigint[])[first] as since, \
            (\(all)::bigint[])[first + 1] as until) as edge \
            where not exists (select from projection.coverage as standing \
            where (standing.generation, standing.bucket, standing.stream) \
            = (blip.generation, blip.bucket, blip.stream) and kind = 'paid' \
            and (from_at <= since and until_at > since or from_at <= until and until_at > until)) \
            group by place
            """, filter.parameters)
    }

    /// What happened between thresholds, as sums.
    ///
    /// - Shape: columns are the place of the threshold before, marks, the count, how many have an
    ///   amount, amounts, amounts times shares, and what groups are told apart by.
    func happenings(_ mask: Int64, _ columns: Columns, between thresholds: Thresholds) -> Statement
    {
        var filter = filter
        let marks = filter.place(.int8(mask))
        let known = filter.place(.int8(question.knownAt.stored))
        let all = filter.place(.int8s(thresholds.instants))
        filter.conditions += [
            "marks & \(marks) <> 0",
            "at >= \(filter.place(.int8(thresholds.instants[0])))",
            "at < \(filter.place(.int8(thresholds.instants[thresholds.instants.count - 1])))",
            "known_from <= \(known)", "known_until > \(known)",
        ]
        let groups = columns.names.map { ", \($0)" }.joined()
        return Statement(
            """
            select width_bucket(at, \(all)) - 1::bigint as place, marks & \(marks) as counted, \
            count(*), count(amount), coalesce(sum(amount), 0)::text, \
            coalesce(sum(amount * share::numeric), 0)::text\(groups) from (\
            select at, marks, amount, share\(columns.selected.map { ", \($0)" }.joined()) \
            from projection.movement where \(filter.text)) as happened \
            group by place, counted\(groups)
            """, filter.parameters)
    }

    /// How many periods lack something, by what they lack.
    func doubts() -> Statement {
        var filter = filter
        // As the index of those says it.
        filter.conditions.append("marks >= 536870912")
        let mask = Fact.unpriced.mark | Fact.inferred.mark | Fact.gapUnknown.mark
        return Statement(
            """
            select marks & \(mask) as lacking, count(*) from projection.movement \
            where \(filter.text) group by lacking
            """, filter.parameters)
    }
}
