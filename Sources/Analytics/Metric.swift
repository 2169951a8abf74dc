/// A number that is asked for by name.
///
/// - Source: the definitions stand with each name; `GET /v1/metrics` shows them.
public enum Metric: String, Sendable, Hashable, CaseIterable {
    case activePaid = "active_paid"
    case activeTrials = "active_trials"
    case activeFree = "active_free"
    case activeFamily = "active_family"
    case activePromo = "active_promo"
    case activeCustomers = "active_customers"
    case inGrace = "in_grace"
    case inBillingRetry = "in_billing_retry"
    case unattributedLines = "unattributed_lines"
    case mrr
    case arr
    case subscriptionStatus = "subscription_status"
    case newPaid = "new_paid"
    case reactivated
    case churned
    case churnRate = "churn_rate"
    case mrrMovement = "mrr_movement"
    case trialsStarted = "trials_started"
    case trialsMovement = "trials_movement"
    case trialConversion = "trial_conversion"
    case renewals
    case reactivationPurchases = "reactivation_purchases"
    case preferenceChanges = "preference_changes"
    case planChanges = "plan_changes"
    case upgradeCreditUnknown = "upgrade_credit_unknown"
    case graceEntered = "grace_entered"
    case recoveredInGrace = "recovered_in_grace"
    case recoveredAfterGap = "recovered_after_gap"
    case lostInRetry = "lost_in_retry"
    case extensions
    case revenue
    case refundsHappened = "refunds_happened"
    case refundReversals = "refund_reversals"
    case refundRate = "refund_rate"
    case refundRateByValue = "refund_rate_by_value"
    case conversionToPaying = "conversion_to_paying"
    case trialConversionByFirstSeen = "trial_conversion_by_first_seen"
    case subscriptionRetention = "subscription_retention"
    case cohortExplorer = "cohort_explorer"
    case realisedLTV = "realised_ltv"
    case arpu
    case arppu
    case notificationGap = "notification_gap"
    case historyGap = "history_gap"
    case verificationFailures = "verification_failures"
    case quarantinedOpen = "quarantined_open"
    case conflictingFacts = "conflicting_facts"
    case clockSkew = "clock_skew"
    case projectionLag = "projection_lag"

    /// What it takes.
    public enum Taking: String, Sendable { case at, window }

    /// Whether it is a state at an instant or what happened in a window.
    public var taking: Taking {
        switch self {
        case .activePaid, .activeTrials, .activeFree, .activeFamily, .activePromo,
            .activeCustomers, .inGrace, .inBillingRetry, .unattributedLines, .mrr, .arr,
            .subscriptionStatus, .quarantinedOpen, .conflictingFacts, .projectionLag:
            .at
        default: .window
        }
    }

    /// The names of the parameters that say when it is asked about, and how.
    public var takes: [String] {
        (taking == .at ? ["at"] : ["from", "to"]) + (hasBasis ? ["basis"] : [])
            + (usualDays == nil ? [] : ["days"])
    }

    /// The names of further parameters that mean something to it and not to every metric.
    public var options: [String] {
        let isMonthly = [.mrr, .arr, .mrrMovement].contains(self)
        return (isMoney ? ["currency"] : []) + (hasBlips ? ["gross"] : [])
            + (isMonthly ? ["profile"] : [])
    }

    private var hasBasis: Bool {
        switch self {
        case .revenue, .arpu, .arppu, .realisedLTV, .cohortExplorer: true
        default: false
        }
    }

    /// Whether it is money, which is told per currency.
    public var isMoney: Bool {
        switch self {
        case .mrr, .arr, .mrrMovement, .revenue, .refundsHappened, .refundRateByValue,
            .cohortExplorer, .realisedLTV, .arpu, .arppu:
            true
        default: false
        }
    }

    /// Whether it is about persons, all of whose lines count together.
    public var isOfPersons: Bool {
        switch self {
        case .conversionToPaying, .trialConversionByFirstSeen, .cohortExplorer, .realisedLTV,
            .arpu, .arppu:
            true
        default: false
        }
    }

    /// Whether it is about the record itself and not about lines.
    public var isOfQuality: Bool {
        switch self {
        case .notificationGap, .historyGap, .verificationFailures, .quarantinedOpen,
            .conflictingFacts, .clockSkew, .projectionLag:
            true
        default: false
        }
    }

    /// Whether its rows can be told apart by a reason.
    public var hasReasons: Bool {
        self == .churned || self == .verificationFailures || self == .quarantinedOpen
    }

    /// Whether the instant of knowledge decides it, beside what is known.
    var dependsOnKnowledge: Bool {
        switch self {
        case .trialConversion, .trialsMovement, .subscriptionRetention: true
        default: isOfPersons
        }
    }

    /// Whether lines that came and went within a window can count in it.
    public var hasBlips: Bool {
        switch self {
        case .newPaid, .reactivated, .churned, .churnRate: true
        default: false
        }
    }

    /// How many days it takes unless it is told; `nil` when it takes none.
    public var usualDays: Int64? {
        switch self {
        case .conversionToPaying: 7
        case .cohortExplorer, .realisedLTV: 30
        default: nil
        }
    }

    /// The members of its rows.
    public var members: [String] {
        switch self {
        case .mrr, .arr: ["value", "unpriced"]
        case .subscriptionStatus: ["set_to_renew", "set_to_cancel", "billing_issue"]
        case .newPaid: ["value", "from_trial", "from_intro", "direct"]
        case .mrrMovement: ["new", "reactivation", "expansion", "contraction", "churn"]
        case .planChanges: ["upgrade", "downgrade", "crossgrade"]
        case .extensions: ["value", "days"]
        case .revenue: ["gross", "refunded", "reversed", "net"]
        case .refundsHappened: ["value", "amount"]
        case .trialConversion:
            ["trials", "converted", "pending", "abandoned", "late_conversion"]
        case .trialsMovement: ["value", "started", "converted", "lapsed"]
        case .refundRate: ["value", "refunded", "transactions"]
        case .refundRateByValue: ["value", "refunded", "paid"]
        case .conversionToPaying: ["value", "customers", "converted", "pending"]
        case .trialConversionByFirstSeen: ["value", "customers", "trials", "converted"]
        case .subscriptionRetention: ["value", "retained", "lines"]
        case .cohortExplorer: ["customers", "retained", "revenue", "refunds"]
        case .realisedLTV:
            ["per_customer", "per_paying_customer", "net", "customers", "payers", "mature"]
        case .clockSkew: ["value", "least", "most", "notifications"]
        case .arpu: ["value", "net", "customers"]
        case .arppu: ["value", "net", "payers"]
        default: ["value"]
        }
    }

    /// The members that are money. Units: milliunits of the row's currency, or of the one asked for.
    public var moneyMembers: Set<String> {
        switch self {
        case .mrr, .arr: ["value"]
        case .mrrMovement: Set(members + ["fx"])
        case .revenue: Set(members)
        case .refundsHappened: ["amount"]
        case .refundRateByValue: ["refunded", "paid"]
        case .cohortExplorer: ["revenue", "refunds"]
        case .realisedLTV: ["per_customer", "per_paying_customer", "net"]
        case .arpu, .arppu: ["value", "net"]
        default: []
        }
    }
}

/// When money counts.
public enum Basis: String, Sendable, Hashable, CaseIterable {
    /// On the day it moved.
    case asTransacted = "as_transacted"
    /// What was refunded is taken out of the purchase that it paid for.
    case restated
}
