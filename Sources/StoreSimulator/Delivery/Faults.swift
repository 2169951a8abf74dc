import Domain

/// What goes wrong on request, each in a share of the cases from 0 to 1.
struct Faults: Sendable, Equatable {
    /// The server API says that it was asked too often.
    var limited = 0.0
    /// The server API fails inside.
    var failing = 0.0
    /// The server API takes its time.
    var slow = 0.0
    /// How long that is. Units: milliseconds.
    var slowMilliseconds: Int64 = 2_000
    /// Notifications that count as delivered and never arrive.
    var lost = 0.0
    /// Notifications that arrive twice.
    var doubled = 0.0
    /// Notifications that are held back until later ones have arrived.
    var reordered = 0.0
    /// How long they are held back at most. Units: simulated milliseconds.
    var reorderedBy: Int64 = 86_400_000
    /// What verifyReceipt answers instead of the receipt, when it does.
    var receiptStatus: Int64 = 21_005
    /// How often it does.
    var receipts = 0.0
    /// Whether Apple's own limits of requests per second hold.
    var rateLimits = true

    init() {}

    /// The faults that an object names; those it does not name are none.
    init(_ reader: ScenarioReader) throws(SimulatorError) {
        try reader.allow(["serverAPI", "notifications", "verifyReceipt", "rateLimits"])
        if let api = try reader.object("serverAPI") {
            try api.allow(["limited", "failing", "slow", "slowMilliseconds"])
            limited = try api.share("limited") ?? 0
            failing = try api.share("failing") ?? 0
            slow = try api.share("slow") ?? 0
            slowMilliseconds = try api.whole("slowMilliseconds") ?? slowMilliseconds
        }
        if let notifications = try reader.object("notifications") {
            try notifications.allow(["lost", "doubled", "reordered", "reorderedBy"])
            lost = try notifications.share("lost") ?? 0
            doubled = try notifications.share("doubled") ?? 0
            reordered = try notifications.share("reordered") ?? 0
            if let span = try notifications.span("reorderedBy") {
                reorderedBy = Pace.life.length(of: span)
            }
        }
        if let receipts = try reader.object("verifyReceipt") {
            try receipts.allow(["share", "status"])
            self.receipts = try receipts.share("share") ?? 0
            receiptStatus = try receipts.whole("status") ?? receiptStatus
        }
        rateLimits = try reader.truth("rateLimits") ?? true
    }

    /// As the object has them.
    var rendered: JSON {
        JSON(members: [
            "serverAPI": JSON(members: [
                "limited": .number("\(limited)"), "failing": .number("\(failing)"),
                "slow": .number("\(slow)"), "slowMilliseconds": .integer(slowMilliseconds),
            ]),
            "notifications": JSON(members: [
                "lost": .number("\(lost)"), "doubled": .number("\(doubled)"),
                "reordered": .number("\(reordered)"),
            ]),
            "verifyReceipt": JSON(members: [
                "share": .number("\(receipts)"), "status": .integer(receiptStatus),
            ]),
            "rateLimits": .bool(rateLimits),
        ])
    }
}
