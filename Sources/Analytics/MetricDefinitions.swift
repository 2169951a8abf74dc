extension Metric {
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
        case .refundRateByValue: "What was paid in the window and is refunded now, by value."
        case .conversionToPaying:
            "Customers first seen in the window who paid by day `days` after it, day 0 included: "
                + "7 days span 8 dates of UTC. A line that is nobody's is a customer of its own."
        case .trialConversionByFirstSeen:
            "Customers first seen in the window who ever started a trial, and who converted."
        case .subscriptionRetention:
            "Lines first paid for in the window, by plan: of those old enough for a paid period of "
                + "each number, how many have it. Trials and introductory periods are none."
        case .cohortExplorer:
            "Customers who first paid in the window, by steps of `days` since: how many are old "
                + "enough, are covered at its start, and what they paid and got back."
        case .realisedLTV:
            "Net of customers first seen in the window up to each age in days, that day included; a "
                + "customer counts in the currency of the first purchase."
        case .arpu: "Net in the window over customers covered, or buying, in it."
        case .arppu: "Net in the window over customers who paid in it."
        case .notificationGap:
            "Notifications signed in the window that came over an hour late: Apple's history or a "
                + "late attempt brought them."
        case .historyGap:
            "Transactions of the window that Apple's server API told first, no notification or app."
        case .verificationFailures:
            "Forgeries received in the window, of the newest thousand that are kept."
        case .quarantinedOpen: "Signed evidence that is held and not believed, by `at`."
        case .conflictingFacts:
            "Times that one transaction was stated differently with the same instant of signing."
        case .clockSkew:
            "Milliseconds from signing to receipt of the window's notifications: the median, the "
                + "least and the most."
        case .projectionLag: "Entries that each live projection has yet to fold, now."
        }
    }
}
