import Analytics
import Domain
import Foundation

/// The parameters of a metric, as a request or a command gives them.
struct MetricParameters {
    let metric: Metric
    let dimensions: [Analytics.Dimension]
    let buckets: [MetricQuestion.Bucket]
    let basis: Basis
    let profile: Profile
    let environment: Domain.Environment
    let app: String?
    let currency: String?
    let zone: String
    let days: Int64?
    let isGross: Bool

    /// The names that there are, besides those that say what is known.
    static let names: Set<String> = [
        "at", "from", "to", "by", "app", "currency", "basis", "profile", "zone", "environment",
        "days", "gross",
    ]
    /// The most parts of time in one answer.
    private static let bucketLimit = 1_000

    /// Reads parameters.
    ///
    /// - Throws: `Problem` naming the one that is wrong.
    init(_ name: String, _ query: [String: String], now: Instant) throws(Problem) {
        guard let metric = Metric(rawValue: name) else {
            throw .unknown("the metric \"\(name.prefix(60))\"; GET /v1/metrics lists them")
        }
        self.metric = metric
        dimensions = try MetricParameters.named(query["by"], metric)
        basis = try MetricParameters.choice(query, "basis") ?? .asTransacted
        profile = try MetricParameters.choice(query, "profile") ?? .calendar
        environment =
            try query["environment"].map { text throws(Problem) in
                try Reading.environment(text)
            } ?? .production
        guard query["app"] == nil || !metric.isOfQuality else {
            throw .badRequest("\(metric.rawValue) takes no `app`")
        }
        app = query["app"]
        currency = try query["currency"].map(Reading.currency)
        days = try MetricParameters.days(query, metric)
        isGross = try MetricParameters.gross(query, metric)
        let zone = try ReportingZone(query["zone"])
        self.zone = zone.name
        buckets = try MetricParameters.cut(
            query, metric, dimensions.first { $0.isTime }, zone, now)
    }

    private static func named(_ text: String?, _ metric: Metric) throws(Problem) -> [Analytics
        .Dimension]
    {
        guard let text, !text.isEmpty else { return [] }
        let askable = Analytics.Dimension.askable.map(\.rawValue).joined(separator: ", ")
        var found: [Analytics.Dimension] = []
        for name in text.split(separator: ",") {
            guard let dimension = Analytics.Dimension(rawValue: String(name)) else {
                throw .badRequest("`by` has \"\(name.prefix(60))\"; allowed: \(askable)")
            }
            guard Analytics.Dimension.askable.contains(dimension) else {
                throw .badRequest("`by` has \"\(name)\"; allowed: \(askable)")
            }
            guard dimension != .reason || metric.hasReasons else {
                throw .badRequest("\(metric.rawValue) is not told apart by reason")
            }
            guard dimension == .reason || !metric.isOfQuality else {
                throw .badRequest("\(metric.rawValue) is not told apart by \(name)")
            }
            if !found.contains(dimension) { found.append(dimension) }
        }
        guard found.filter(\.isTime).count <= 1 else {
            throw .badRequest("`by` takes one of day, week and month")
        }
        return found
    }

    private static func days(_ query: [String: String], _ metric: Metric) throws(Problem)
        -> Int64?
    {
        guard let days = try Reading.number(query, "days", 1...3_650) else {
            return metric.usualDays
        }
        guard metric.usualDays != nil else {
            throw .badRequest("\(metric.rawValue) takes no `days`")
        }
        return days
    }

    private static func gross(_ query: [String: String], _ metric: Metric) throws(Problem) -> Bool {
        guard let text = query["gross"] else { return false }
        guard ["true", "false"].contains(text) else {
            throw .badRequest("`gross` is true or false, found \"\(text.prefix(60))\"")
        }
        guard metric.hasBlips else { throw .badRequest("\(metric.rawValue) takes no `gross`") }
        return text == "true"
    }

    private static func choice<Choice: RawRepresentable & CaseIterable>(
        _ query: [String: String], _ name: String
    ) throws(Problem) -> Choice? where Choice.RawValue == String {
        guard let text = query[name] else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("`\(name)` is one of \(known), found \"\(text.prefix(60))\"")
        }
        return choice
    }

    private static func cut(
        _ query: [String: String], _ metric: Metric, _ time: Analytics.Dimension?,
        _ zone: ReportingZone,
        _ now: Instant
    ) throws(Problem) -> [MetricQuestion.Bucket] {
        if metric.taking == .at, time == nil {
            guard query["from"] == nil, query["to"] == nil else {
                throw .badRequest("\(metric.rawValue) takes `at`, not `from` and `to`")
            }
            let at = try query["at"].map { text throws(Problem) in try zone.instant(text, "at") }
            return [MetricQuestion.Bucket(window: (at ?? now)..<(at ?? now))]
        }
        guard query["at"] == nil else {
            throw .badRequest("\(metric.rawValue) takes `from` and `to`, not `at`")
        }
        guard let from = query["from"], let to = query["to"] else {
            throw .badRequest("`from` and `to` are missing")
        }
        let (start, end) = (try zone.instant(from, "from"), try zone.instant(to, "to"))
        guard start < end else { throw .badRequest("`to` must be after `from`") }
        guard let time else { return [MetricQuestion.Bucket(window: start..<end)] }
        guard let buckets = zone.buckets(of: time, in: start..<end, atMost: bucketLimit) else {
            throw .badRequest(
                "there are more than \(bucketLimit) \(time.rawValue)s from `from` to `to`")
        }
        guard metric.taking == .at else { return buckets }
        // A state is told as it is when each part of time ends.
        return buckets.map {
            MetricQuestion.Bucket(
                label: $0.label, window: $0.window.upperBound..<$0.window.upperBound)
        }
    }

    /// The question about this much of the record.
    func question(knownAt: Instant, position: Position) -> MetricQuestion {
        var question = MetricQuestion(
            metric, buckets: buckets, by: dimensions, in: currency, knownAt: knownAt,
            position: position)
        question.basis = basis
        question.profile = profile
        question.environment = environment
        question.app = app
        question.days = days ?? question.days
        question.isGross = isGross
        return question
    }

    /// Everything that decided the answer.
    func rendered(knownAt: Instant) -> JSON {
        let first = buckets[0].window
        let last = buckets[buckets.count - 1].window
        let isState = metric.taking == .at && buckets.count == 1
        return JSON(members: [
            "at": isState ? .string(first.lowerBound.description) : nil,
            "from": isState ? nil : .string(first.lowerBound.description),
            "to": isState ? nil : .string(last.upperBound.description),
            "by": .array(dimensions.map { .string($0.rawValue) }),
            "basis": .string(basis.rawValue), "profile": .string(profile.rawValue),
            "environment": .string(environment.name), "app": .text(app),
            "currency": .text(currency), "zone": .string(zone),
            "days": .whole(days), "gross": isGross ? .bool(true) : nil,
            "knownAt": .string(knownAt.description),
        ])
    }
}

/// The time zone in which a report's days begin.
struct ReportingZone {
    let name: String
    private let calendar: Calendar

    /// The zone of this IANA name; UTC without one.
    init(_ name: String?) throws(Problem) {
        self.name = name ?? "UTC"
        guard let zone = TimeZone(identifier: self.name) else {
            throw .badRequest(
                "`zone` must be an IANA time zone such as Europe/Berlin, found "
                    + "\"\(self.name.prefix(60))\"")
        }
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = zone
        self.calendar = calendar
    }

    /// An instant, or a date, which is its midnight here.
    func instant(_ text: String, _ name: String) throws(Problem) -> Instant {
        guard text.utf8.count == 10, let midnight = Instant(text) else {
            return try Reading.instant(text, name)
        }
        let days = midnight.milliseconds / 86_400_000
        var utc = Calendar(identifier: .gregorian)
        utc.timeZone = .gmt
        let parts = utc.dateComponents(
            [.year, .month, .day], from: Date(timeIntervalSince1970: Double(days * 86_400)))
        return calendar.date(from: parts).map(Instant.init(date:)) ?? midnight
    }

    /// The days, weeks or months that a window is cut into; `nil` when there are too many.
    func buckets(of time: Analytics.Dimension, in window: Range<Instant>, atMost limit: Int)
        -> [MetricQuestion.Bucket]?
    {
        let unit: Calendar.Component =
            switch time {
            case .week: .weekOfYear
            case .month: .month
            default: .day
            }
        var found: [MetricQuestion.Bucket] = []
        var start = window.lowerBound
        while start < window.upperBound {
            guard found.count < limit, let whole = calendar.dateInterval(of: unit, for: start.date)
            else { return nil }
            let end = min(Instant(date: whole.end), window.upperBound)
            guard start < end else { return nil }
            found.append(
                MetricQuestion.Bucket(label: label(time, whole.start), window: start..<end))
            start = end
        }
        return found
    }

    private func label(_ time: Analytics.Dimension, _ date: Date) -> String {
        func padded(_ number: Int?, _ width: Int) -> String {
            let digits = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let parts = calendar.dateComponents(
            [.year, .month, .day, .weekOfYear, .yearForWeekOfYear], from: date)
        switch time {
        case .week:
            return "\(padded(parts.yearForWeekOfYear, 4))-W\(padded(parts.weekOfYear, 2))"
        case .month: return "\(padded(parts.year, 4))-\(padded(parts.month, 2))"
        default:
            return [padded(parts.year, 4), padded(parts.month, 2), padded(parts.day, 2)]
                .joined(separator: "-")
        }
    }
}

extension Instant {
    /// The instant of a date, to the millisecond.
    fileprivate init(date: Date) {
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1_000).rounded()))
    }

    fileprivate var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}
