/// How far something is, as a line of text.
struct ProgressMeter: Sendable {
    var label: String
    /// Nil when nobody knows how many there are.
    var total: Int64?
    var unit: String
    var done: Int64 = 0

    /// Such as `import: 1,200 / 5,000 entries (24 %), 400/s, 10 s left`.
    func text(afterSeconds elapsed: Double) -> String {
        let rate = elapsed > 0 ? Double(done) / elapsed : 0
        let speed = "\(Self.grouped(Int64(rate.rounded())))/s"
        guard let total, total > 0 else {
            return "\(label): \(Self.grouped(done)) \(unit), \(speed)"
        }
        let share = min(100, Int64(Double(done) / Double(total) * 100))
        let start = "\(label): \(Self.grouped(done)) / \(Self.grouped(total)) \(unit) (\(share) %)"
        guard rate > 0 else { return start }
        let left = max(0, Double(total - done) / rate)
        return "\(start), \(speed), \(Self.span(left)) left"
    }

    private static func span(_ seconds: Double) -> String {
        let whole = Int64(min(seconds.rounded(.up), 1e9))
        if whole < 60 { return "\(whole) s" }
        if whole < 3_600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3_600) h \(whole % 3_600 / 60) min"
    }

    private static func grouped(_ number: Int64) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index % 3 == 0, digit != "-" { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}
