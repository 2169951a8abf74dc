/// Which known name was probably meant.
enum NearestName {
    /// The known name with the fewest slips from what was written; nil when none is near.
    ///
    /// A slip is a character too many, too few or another, or two neighbours swapped; letter case is
    /// none. About one slip in three characters is still near.
    static func of(_ written: String, among known: [String]) -> String? {
        let lowered = Array(written.lowercased())
        let ranked = known.map { (name: $0, slips: slips(lowered, Array($0.lowercased()))) }
        guard let best = ranked.min(by: { ($0.slips, $0.name) < ($1.slips, $1.name) }) else {
            return nil
        }
        return best.slips <= max(2, (lowered.count + 1) / 3) && best.slips < best.name.count
            ? best.name : nil
    }

    /// The optimal string alignment distance.
    private static func slips(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                var least = min(
                    last[column + 1] + 1, current[column] + 1,
                    last[column] + (left[row] == right[column] ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1],
                    left[row - 1] == right[column]
                {
                    least = min(least, beforeLast[column - 1] + 1)
                }
                current.append(least)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
