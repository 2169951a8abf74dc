import Analytics

/// A metric's rows for people: columns, and bars where rows are parts of time.
struct MetricTable {
    private let answer: MetricAnswer
    private let hasBars: Bool

    /// The widest bar. Units: columns.
    private static let barWidth = 32
    private static let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    /// - Parameter hasBars: whether bars may be drawn; they are only where time is told apart.
    init(_ answer: MetricAnswer, hasBars: Bool) {
        self.answer = answer
        self.hasBars = hasBars && answer.question.timeDimension != nil
    }

    /// The table, each line ended.
    var text: String {
        let keys = answer.rows.first?.key.members.map(\.name) ?? []
        var lines = [keys + answer.question.members]
        for row in answer.rows {
            lines.append(row.key.members.map { $0.value ?? "–" } + row.values.map(shown))
        }
        let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let bars = hasBars ? [""] + self.bars : []
        var text = heading + "\n"
        for (number, line) in lines.enumerated() {
            var cells: [String] = []
            for (column, cell) in line.enumerated() {
                let blanks = String(repeating: " ", count: widths[column] - cell.count)
                cells.append(column < keys.count ? cell + blanks : blanks + cell)
            }
            if number < bars.count, !bars[number].isEmpty { cells.append(bars[number]) }
            let whole = cells.joined(separator: "  ")
            text += whole.replacing(#/ +$/#, with: "") + "\n"
        }
        return text
    }

    private var heading: String {
        var text = "\(answer.parameters.metric.rawValue), as known at position "
        text += "\(answer.question.position)"
        if let currency = answer.question.currency { text += ", in \(currency)" }
        let lacking = answer.completeness
        if lacking.unpriced > 0 { text += ", \(lacking.unpriced) without a price" }
        return text
    }

    /// A number; money in units with its three decimals.
    private func shown(_ value: MetricRow.Value) -> String {
        guard case .whole(let number) = value.number,
            answer.parameters.metric.moneyMembers.contains(value.name)
        else { return value.number.text.isEmpty ? "–" : value.number.text }
        let digits = String(number.magnitude)
        let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return "\(number < 0 ? "-" : "")\(padded.dropLast(3)).\(padded.suffix(3))"
    }

    /// A bar for the first number of each row; none for what is not above zero.
    private var bars: [String] {
        let sizes = answer.rows.map { row -> Int64 in
            switch row.values.first?.number {
            case .whole(let number): number
            case .millionths(let number): number
            case .null, nil: 0
            }
        }
        guard let most = sizes.max(), most > 0 else { return sizes.map { _ in "" } }
        return sizes.map { size in
            let share = Double(max(0, size)) / Double(most)
            let parts = Int((share * Double(8 * MetricTable.barWidth)).rounded())
            return String(repeating: "█", count: parts / 8) + MetricTable.eighths[parts % 8]
        }
    }
}
