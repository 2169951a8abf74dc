public import Domain

/// Reads the European Central Bank's euro foreign exchange reference rates, line by line.
///
/// - Source: ECB, `eurofxref-hist.csv` (a date such as `2025-06-10`, `N/A` where there is no rate,
///   a comma at the end) and `eurofxref.csv` (a date such as `10 June 2025`, blanks after commas).
public struct RateTable: Sendable {
    /// The currencies of the columns after the date; `nil` where a column has no name.
    private let columns: [String?]

    /// Who published them.
    public static let publisher = "ECB"
    /// The most columns that a table may have.
    public static let mostColumns = 200

    /// Why a line is not one of such a table.
    public struct Refusal: Error, Equatable {
        /// What is wrong with it, in words.
        public let why: String
    }

    /// A table with this first line.
    public init(header: String) throws(Refusal) {
        let cells = RateTable.cells(header)
        guard cells.first == "Date", cells.count <= RateTable.mostColumns else {
            throw Refusal(why: "the first line must be Date,USD,JPY,… as the ECB publishes it")
        }
        var columns: [String?] = []
        var seen: Set<String> = [ExchangeRates.base]
        for cell in cells.dropFirst() {
            if cell.isEmpty {
                columns.append(nil)
                continue
            }
            guard cell.utf8.count == 3, cell.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
                throw Refusal(why: "the column \"\(cell.prefix(20))\" is no currency")
            }
            guard seen.insert(cell).inserted else {
                throw Refusal(why: "the column \(cell) is there twice, or is the base")
            }
            columns.append(cell)
        }
        guard columns.contains(where: { $0 != nil }) else {
            throw Refusal(why: "the table has no currency")
        }
        self.columns = columns
    }

    /// The rates of a further line; `nil` when it is blank.
    public func rates(_ line: String) throws(Refusal) -> RatesSet? {
        let cells = RateTable.cells(line)
        guard let date = cells.first, cells.contains(where: { !$0.isEmpty }) else { return nil }
        guard let day = Day(date) ?? RateTable.day(inWords: date) else {
            throw Refusal(why: "\"\(date.prefix(30))\" is no date")
        }
        guard cells.count - 1 <= columns.count else {
            throw Refusal(why: "the line has more columns than the first one")
        }
        var values: [String: ExactDecimal] = [:]
        for (column, cell) in zip(columns, cells.dropFirst()) {
            if cell == "N/A" || cell.isEmpty { continue }
            guard let column else { throw Refusal(why: "\"\(cell.prefix(30))\" has no currency") }
            guard let value = ExactDecimal(cell) else {
                throw Refusal(why: "\"\(cell.prefix(30))\" is no rate of \(column)")
            }
            values[column] = value
        }
        return RatesSet(
            day: day, base: ExchangeRates.base, publisher: RateTable.publisher, values: values)
    }

    private static func cells(_ line: String) -> [String] {
        line.split(separator: ",", omittingEmptySubsequences: false).map { cell in
            let blanks: Set<Character> = [" ", "\t", "\r", "\u{FEFF}"]
            let start = cell.drop { blanks.contains($0) }
            let end = start.lastIndex { !blanks.contains($0) }
            return end.map { String(start[...$0]) } ?? ""
        }
    }

    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]

    /// A day written as `10 June 2025`.
    private static func day(inWords text: String) -> Day? {
        let parts = text.split(separator: " ")
        guard parts.count == 3, let day = Int64(parts[0]), let year = Int64(parts[2]),
            (1...9_999).contains(year), let month = months.firstIndex(of: String(parts[1]))
        else { return nil }
        return Day(year: year, month: Int64(month) + 1, day: day)
    }
}
