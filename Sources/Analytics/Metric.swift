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

    /// What it takes.
    public enum Taking: String, Sendable { case at, window }

    /// Whether it is a state at an instant or what happened in a window.
    public var taking: Taking {
        switch self {
        case .activePaid, .activeTrials, .activeFree, .activeFamily, .activePromo,
            .activeCustomers, .inGrace, .inBillingRetry, .unattributedLines, .mrr, .arr,
            .subscriptionStatus:
            .at
        default: .window
        }
    }

    /// Whether it is money, which is told per currency.
    public var isMoney: Bool {
        switch self {
        case .mrr, .arr, .mrrMovement, .revenue, .refundsHappened: true
        default: false
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
        default: ["value"]
        }
    }

    /// What it counts, in one sentence.
    public var definition: String {
        switch self {
        case .activePaid: "Lines that a paid or introductory period, or its grace, covers."
        case .activeTrials: "Lines that a trial, or the grace after it, covers."
        case .activeFree: "Lines that a period of price 0 covers which is no trial."
        case .activeFamily: "Lines that a family member has by sharing."
        case .activePromo: "Grants that hold; they belong to no app."
        case .activeCustomers: "Customers, merges followed, who own a line of active_paid."
        case .inGrace: "Lines of active_paid or active_trials that are covered by grace alone."
        case .inBillingRetry: "Lines without access that Apple still tries to collect for."
        case .unattributedLines: "Lines that have begun and are nobody's."
        case .mrr: "Price times the plan's multiplier, over active_paid; unpriced lines count 0."
        case .arr: "Twelve times mrr."
        case .subscriptionStatus:
            "active_paid by what follows: renewal, cancellation, a billing issue."
        case .newPaid: "Lines whose first paid or introductory period starts in the window."
        case .reactivated: "Lines paid at the end, not at the start, that were paid for before."
        case .churned: "Lines paid at the start of the window and not at its end."
        case .churnRate: "churned divided by active_paid at the start; null without any."
        case .mrrMovement: "How each line's part of mrr changed from start to end of the window."
        case .trialsStarted: "First trials of lines that start in the window."
        case .trialsMovement: "Trials started less those that converted or lapsed in the window."
        case .trialConversion: "What became of the trials that start in the window."
        case .renewals: "Paid periods, not the first, that follow without a gap or by recovery."
        case .reactivationPurchases: "Paid periods bought again after a gap."
        case .preferenceChanges: "Changes of auto-renewal or of the product that renews."
        case .planChanges: "Changes to another product, at the start of its first period."
        case .upgradeCreditUnknown:
            "Upgrades within a paid period, whose credit Apple does not say."
        case .graceEntered: "Episodes of grace that begin in the window."
        case .recoveredInGrace: "Recoveries before grace was over."
        case .recoveredAfterGap: "Recoveries after access had been lost."
        case .lostInRetry: "Episodes of billing retry that end in the window without recovery."
        case .extensions: "Times that a period's end was put off, and the days given."
        case .revenue: "Money of purchases, refunds and reversals, by basis."
        case .refundsHappened: "Refunds by their revocation's instant."
        case .refundReversals: "Refunds that were taken back, by the reversal's signing."
        case .refundRate: "Paid purchases of the window that are refunded now, by number."
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
