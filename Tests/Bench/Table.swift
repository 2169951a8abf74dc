/// One line of the result.
struct Figure: Sendable {
    var name: String
    var value: String
    /// A quotient of two figures of this run, or the figure that a target bounds.
    var measured: Double?
    var target: Target?

    /// What is aimed at.
    enum Target: Sendable {
        case atLeast(Double)
        case atMost(Double)
    }

    /// A figure; with a target it says whether that was met.
    init(_ name: String, _ value: String, _ measured: Double? = nil, _ target: Target? = nil) {
        self.name = name
        self.value = value
        self.measured = measured
        self.target = target
    }

    var line: String {
        var columns = [name.padded(to: 58), value.padded(to: 22)]
        columns.append((measured.map { $0.short } ?? "").padded(to: 9))
        switch (target, measured) {
        case (.atLeast(let least)?, let found?):
            columns += ["≥ \(least.short)".padded(to: 9), found >= least ? "met" : "SHORT"]
        case (.atMost(let most)?, let found?):
            columns += ["≤ \(most.short)".padded(to: 9), found <= most ? "met" : "SHORT"]
        default: break
        }
        return columns.joined(separator: " ")
    }

    /// Prints figures as a table.
    static func show(_ figures: [Figure]) {
        let head = ["what".padded(to: 58), "figure".padded(to: 22), "measured ", "target"]
        print(head.joined(separator: " "))
        for figure in figures { print(figure.line) }
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count))
    }
}

extension Double {
    /// Few digits, enough to compare.
    var short: String {
        if self >= 1_000 { return whole }
        let digits = self >= 100 ? 0 : self >= 10 ? 1 : self >= 1 ? 2 : 3
        var scaled = self
        for _ in 0..<digits { scaled *= 10 }
        let text = String(Int(scaled.rounded()))
        guard digits > 0 else { return text }
        let filled = String(repeating: "0", count: Swift.max(0, digits + 1 - text.count)) + text
        return filled.dropLast(digits) + "." + filled.suffix(digits)
    }

    /// Without a fraction, thousands apart.
    var whole: String {
        var digits = String(Int(rounded()))
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits = String(digits.dropLast(3))
        }
        groups.insert(digits[...], at: 0)
        return groups.joined(separator: ",")
    }
}

/// Why a measurement ended early.
enum BenchError: Error, CustomStringConvertible {
    case unexpected(String)

    var description: String {
        switch self {
        case .unexpected(let what): what
        }
    }
}
