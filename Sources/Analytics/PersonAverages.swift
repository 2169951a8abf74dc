/// Persons who paid in windows, or were there, and their money.
extension PersonStatement {
    /// Persons who paid in each window, or who were there too, and their money.
    mutating func addAverages() {
        start = "at"
        if question.metric == .arpu { addPresent() } else { addPayers() }
    }

    /// Who was there, and money.
    private mutating func addPresent() {
        let (first, last) = (instants[0], instants[bits.count])
        func present(_ kept: String, _ source: String) -> String {
            """
            (select \(kept), greatest(width_bucket(since, \(all)) - 1, 0) as first, \
            least(width_bucket(until - 1, \(all)), \(bits.count)) as last, before from (\
            select \(kept), unnest(present_from) as since, unnest(present_until) as until, \
            unnest(array_prepend(null, present_until)) as before from (\(source)) as line \
            where present_from[1] < \(last) and present_until[cardinality(present_until)] > \(first) \
            ) as own where since < \(last) and until > \(first) \
            and \(PersonStatement.ever("since"))) as present
            """
        }
        // Where a line was before it was away it is counted already.
        let counted = alone.map { sign, source in
            """
            select place, currency, people from (select \
            greatest(first, width_bucket(before - 1, \(all))) as first, last, \
            \(currency) as currency, sum(\(sign)) as people \
            from \(present("first_currency", source)) group by 1, 2, 3) as crowd \
            cross join lateral generate_series(first, last - 1) as place
            """
        }
        addPeople(
            "customers", bits.range("first", "last"),
            of: present("person, first_currency\(groups)", "select * from line"), counted)
        addMoney([money(inWindows)])
    }

    /// Who paid, and money: of lines both at once.
    private mutating func addPayers() {
        // Whoever paid in the same window before is counted already.
        let isNew = "coalesce(paid_before < (\(all)::bigint[])[place + 1], true)"
        let payer = currency("line_currency")
        let lined = moved(
            of: "select * from line", keeping: "person, first_currency\(groups)",
            by: "own_first_currency", paidBefore: true)
        addTable(
            "paid",
            """
            select \(place) as place, paid_before, \(payer) as payer, person, \
            first_currency\(groups) from \(lined) where \(isPaid)
            """)
        var counted: [String] = []
        if hasAlone {
            let payers = "count(*) filter (where \(isPaid) and \(isNew)) as payers"
            addTable(
                "sums",
                money(
                    moved(of: lines, paidBefore: true),
                    others: (", paid_before, \(payer) as payer", ", payer", ", payer, \(payers)")))
            counted = [
                "select place, payer, payers from sums",
                "select place, payer, -count(*) from paid where \(isNew) group by 1, 2",
            ]
        }
        addPeople("payers", bits.range("place", "place + 1"), of: "paid", counted)
        addMoney([hasAlone ? "select * from sums" : money(inWindows)])
    }

    /// Counts persons by window.
    ///
    /// - Parameters:
    ///   - windows: those in which a row's person counts, as columns of bits.
    ///   - counted: the counts of lines, as if each were a person.
    private mutating func addPeople(
        _ member: String, _ windows: String, of rows: String, _ counted: [String]
    ) {
        let people = """
            select place, currency\(groups), people from (\
            select currency\(groups)\(bits.columns), count(*) as people from (\
            select \(currency) as currency\(groups)\(bits.united) from (\
            select person, first_currency\(groups)\(windows) from \(rows)) as row \
            group by person, first_currency\(groups)) as person \
            group by currency\(groups)\(bits.columns)) as crowd \(bits.places)
            """
        addSums(member, of: [people] + counted, age: "null")
    }

    private var bits: PlaceBits { PlaceBits(count: instants.count - 1) }

    /// Money that moved in the windows.
    private var inWindows: String {
        hasAlone
            ? moved(of: lines)
            : moved(
                of: "select * from line", keeping: columns.names.joined(separator: ", "),
                by: "own_first_currency")
    }
}
