import Domain

/// What can happen to a line at an instant, as flow metrics count it.
///
/// The raw values are bits in stored rows: they are never given another meaning.
enum Fact: Int, Sendable, Hashable, CaseIterable {
    /// The first paid period began: after a trial, as an introduction, or neither.
    case firstPaidAfterTrial = 0
    case firstPaidAsIntro = 1
    case firstPaidDirectly = 2
    /// A paid period followed without a gap or by recovery, and is no immediate plan change.
    case renewed = 3
    /// A paid period was bought again after a gap.
    case boughtAgain = 4
    case upgraded = 5
    case downgraded = 6
    case crossgraded = 7
    /// An upgrade within a paid period, whose credit Apple does not say.
    case creditUnknown = 8
    case recoveredInGrace = 9
    case recoveredAfterGap = 10
    /// The line's first trial began.
    case firstTrialBegan = 11
    /// A trial began, and what it has become by an instant of knowledge.
    case trialBegan = 12
    case trialConverts = 13
    case trialIsPending = 14
    case trialIsAbandoned = 15
    case trialConvertsLate = 16
    /// A trial ended: its first paid period began, or it lapsed.
    case trialConverted = 17
    case trialLapsed = 18
    case graceEntered = 19
    case lostInRetry = 20
    case preferenceChanged = 21
    /// Amount: days.
    case extended = 22
    /// Something was charged. Amount: milliunits.
    case paid = 23
    /// Money went back, and was taken again. Amount: milliunits of which a share counts.
    case refunded = 24
    case reversed = 25
    /// What went back and stayed there, dated by what it takes back.
    case takenOut = 26
    /// A purchase that a refund rate is of, and whether it is refunded now.
    case refundable = 27
    case refundableWasRefunded = 28
    /// A paid period has no known price; a plan was inferred; a gap before it is unknown.
    case unpriced = 29
    case inferred = 30
    case gapUnknown = 31

    /// Its bit.
    var mark: Int64 { 1 << Int64(rawValue) }
}

/// Facts of one period that happened at one instant.
struct Happening: Sendable, Hashable {
    /// Bits of facts; at most one of them has an amount.
    var marks: Int64
    let at: Instant
    /// The instants of knowledge by which it is so.
    var knownFrom = Instant.distantPast
    var knownUntil = Instant.distantFuture
    let period: Int?
    var amount: Int64?
    /// The part of the amount that counts. Units: thousandths of a percent.
    var share: Int64?

    func isKnown(by instant: Instant) -> Bool { knownFrom <= instant && instant < knownUntil }
}

/// So many happenings of the same facts, or one.
struct HappeningSum: Sendable {
    var marks: Int64
    var count: Int64 = 1
    /// How many have an amount.
    var amounts: Int64
    var amount: Int128
    /// Amounts times shares. Units: hundred-thousandths.
    var shares: Int128

    /// One.
    init(_ happening: Happening) {
        marks = happening.marks
        amounts = happening.amount == nil ? 0 : 1
        amount = Int128(happening.amount ?? 0)
        shares = amount * Int128(happening.share ?? 0)
    }

    /// Several that were summed elsewhere.
    init(marks: Int64, count: Int64, amounts: Int64, amount: Int128, shares: Int128) {
        self.marks = marks
        self.count = count
        self.amounts = amounts
        self.amount = amount
        self.shares = shares
    }
}

/// How a fact counts in a member of a metric.
struct Counting: Sendable {
    enum Measure: Sendable {
        case one, minusOne, amount, share
    }

    let fact: Fact
    let member: String
    let measure: Measure

    init(_ fact: Fact, _ member: String = "value", _ measure: Measure = .one) {
        self.fact = fact
        self.member = member
        self.measure = measure
    }
}

extension Metric {
    /// The facts that it counts; empty when it is not about facts.
    func countings(_ basis: Basis) -> [Counting] {
        switch self {
        case .newPaid:
            [
                (Fact.firstPaidAfterTrial, "from_trial"), (.firstPaidAsIntro, "from_intro"),
                (.firstPaidDirectly, "direct"),
            ].flatMap { [Counting($0.0), Counting($0.0, $0.1)] }
        case .renewals: [Counting(.renewed)]
        case .reactivationPurchases: [Counting(.boughtAgain)]
        case .planChanges:
            [
                Counting(.upgraded, "upgrade"), Counting(.downgraded, "downgrade"),
                Counting(.crossgraded, "crossgrade"),
            ]
        case .upgradeCreditUnknown: [Counting(.creditUnknown)]
        case .recoveredInGrace: [Counting(.recoveredInGrace)]
        case .recoveredAfterGap: [Counting(.recoveredAfterGap)]
        case .trialsStarted: [Counting(.firstTrialBegan)]
        case .trialConversion:
            [
                Counting(.trialBegan, "trials"), Counting(.trialConverts, "converted"),
                Counting(.trialIsPending, "pending"), Counting(.trialIsAbandoned, "abandoned"),
                Counting(.trialConvertsLate, "late_conversion"),
            ]
        case .trialsMovement:
            [
                Counting(.trialBegan), Counting(.trialBegan, "started"),
                Counting(.trialConverted, "value", .minusOne),
                Counting(.trialConverted, "converted"),
                Counting(.trialLapsed, "value", .minusOne), Counting(.trialLapsed, "lapsed"),
            ]
        case .graceEntered: [Counting(.graceEntered)]
        case .lostInRetry: [Counting(.lostInRetry)]
        case .preferenceChanges: [Counting(.preferenceChanged)]
        case .extensions: [Counting(.extended), Counting(.extended, "days", .amount)]
        case .revenue:
            [Counting(.paid, "gross", .amount)]
                + (basis == .restated
                    ? [Counting(.takenOut, "refunded", .share)]
                    : [
                        Counting(.refunded, "refunded", .share),
                        Counting(.reversed, "reversed", .share),
                    ])
        case .refundsHappened: [Counting(.refunded), Counting(.refunded, "amount", .share)]
        case .refundReversals: [Counting(.reversed)]
        case .refundRate:
            [
                Counting(.refundable, "transactions"),
                Counting(.refundableWasRefunded, "refunded"),
            ]
        case .refundRateByValue:
            [Counting(.paid, "paid", .amount), Counting(.takenOut, "refunded", .share)]
        default: []
        }
    }
}
