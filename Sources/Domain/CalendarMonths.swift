extension Instant {
    /// The same time of day so many calendar months later, in UTC; a day that the month lacks is its
    /// last one.
    public func adding(months: Int64) -> Instant {
        let today = Day(of: self)
        let date = CivilDate.date(daysSince1970: today.number)
        let (count, over) = (date.year * 12 + date.month - 1).addingReportingOverflow(months)
        guard !over, (0..<120_000).contains(count) else {
            return months > 0 ? .distantFuture : .distantPast
        }
        let (year, month) = (count / 12, count % 12 + 1)
        for day in stride(from: date.day, through: 28, by: -1) {
            if let found = CivilDate.daysSince1970(year: year, month: month, day: day) {
                return adding(days: found - today.number)
            }
        }
        let found = CivilDate.daysSince1970(year: year, month: month, day: date.day)
        return adding(days: (found ?? today.number) - today.number)
    }
}
