/// Sets of places, as columns of bits in SQL: `bit_or` unites them, and workers can each make a part.
struct PlaceBits {
    /// Places are numbers from 0 to before this one.
    let count: Int

    /// How many places are in a column.
    private static let width = 62

    /// The columns' names.
    var names: [String] {
        (0...max(count - 1, 0) / PlaceBits.width).map { "bits\($0)" }
    }

    /// The columns, with a comma before each.
    var columns: String { names.map { ", \($0)" }.joined() }

    /// The places from one expression on and before another one, with a comma before each column.
    func range(_ first: String, _ last: String) -> String {
        names.enumerated().map { number, name in
            func below(_ place: String) -> String {
                let inside = "\(place) - \(number * PlaceBits.width)"
                return "(1::bigint << greatest(least(\(inside), \(PlaceBits.width)), 0)::int)"
            }
            return ", \(below(last)) - \(below(first)) as \(name)"
        }.joined()
    }

    /// What sets of several rows have together, with a comma before each column.
    var united: String { each { "bit_or(\($0))" } }

    /// Columns made of each one, with a comma before each.
    func each(_ expression: (String) -> String) -> String {
        names.map { ", \(expression($0)) as \($0)" }.joined()
    }

    /// Rows by place, of rows that have bits, in a relation `place` to be joined laterally.
    var places: String {
        """
        cross join lateral (select place from generate_series(0, \(count - 1)) as place \
        where (array[\(names.joined(separator: ", "))])[place / \(PlaceBits.width) + 1] \
        >> (place % \(PlaceBits.width)) & 1 = 1) as place
        """
    }
}
