/// One chain of purchases, its statements merged: what is true of it whatever the settings are.
public struct Line: Sendable, Hashable {
    /// The stream that says it.
    public var stream: StreamID
    /// The last entry that it includes.
    public var position: Position
    /// The spans of access that were charged for, by purchase date.
    public var periods: [Period]
    /// What the customer intended, by signing.
    public var intents: [Intent]
    /// What was said or shown of whose it is, by place on the record.
    public var claims: [Claim]
    /// The original transaction id of the chain that this one continues: before a switch between
    /// a bundle and a subscription of its own, or to Advanced Commerce. It is shown and moves no
    /// ownership: whose a line is, its own words say (R13).
    public var previousOriginal: String?

    /// One word on whose a line is.
    public enum Claim: Sendable, Hashable {
        /// The backend's.
        case binding(LineBinding)
        /// That of an app which showed a transaction.
        case presentation(Presentation)
    }

    /// The world it belongs to.
    public var environment: Environment { stream.line?.environment ?? Environment("") }
    /// The original transaction id.
    public var original: String { stream.line?.original ?? "" }
    /// The app's bundle id, once a transaction said it.
    public var bundle: String? { periods.last?.bundle }
    /// The subscription group, once a transaction said it.
    public var group: String? { periods.last { $0.group != nil }?.group }
    /// Whose the backend said it is, by place on the record.
    public var bindings: [LineBinding] {
        claims.compactMap { if case .binding(let binding) = $0 { binding } else { nil } }
    }
    /// Who showed it, by place on the record.
    public var presentations: [Presentation] {
        claims.compactMap { if case .presentation(let shown) = $0 { shown } else { nil } }
    }
    /// When the first period begins.
    public var start: Instant? { periods.map(\.from).min() }
}

/// What the newest renewal infos signed by an instant say of the next renewal.
public struct Intent: Sendable, Hashable {
    /// Signed then; holds until the next one.
    public var signedAt: Instant
    /// Whether it is set to renew.
    public var willRenew: Bool?
    /// The product that will renew.
    public var nextProduct: String?
    /// Why it ended, raw.
    public var expirationIntent: Int64?
    /// Whether the commitment as a whole is set to renew.
    public var commitmentWillRenew: Bool?
    /// The product as which the commitment will renew.
    public var commitmentNextProduct: String?
    /// When the commitment renews.
    public var commitmentRenewsAt: Instant?
}

/// One span of access that one charge paid for (R2).
public struct Period: Sendable, Hashable {
    /// What gives access, and how it ends.
    public enum Shape: String, Sendable, Hashable {
        case subscription, permanent, pass, consumable
        /// The statement names no type; the catalogue decides.
        case unstated
    }

    /// What ended the access, or will.
    public enum Ending: String, Sendable, Hashable {
        case expiry, revocation, succession
    }

    /// The lowest of the transaction ids that stand for it.
    public var transaction: String
    /// All transaction ids that stand for it, in order.
    public var aliases: [String]
    /// Apple's id of the paid period.
    public var webOrderLineItem: String?
    /// The app.
    public var bundle: String
    /// The product bought.
    public var product: String
    /// The subscription group.
    public var group: String?
    /// What gives access.
    public var shape: Shape
    /// When it was charged: money is dated by it.
    public var purchasedAt: Instant
    /// When access begins: the purchase, or the first signing of a first purchase dated ahead.
    public var from: Instant
    /// When the paid time ends, extensions included; `nil` without an end of its own.
    public var expiresAt: Instant?
    /// When access without grace ends; `nil`: no end, or the catalogue's for a pass.
    public var until: Instant?
    /// What ends it.
    public var ending: Ending
    /// Grace after the paid time.
    public var grace: Grace?
    /// When Apple was still trying to collect after the end.
    public var retries: [Range<Instant>]
    /// How it counts.
    public var periodClass: PeriodClass
    /// What was paid in all, by `payments`. Units: milliunits of `currency`.
    public var priceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String?
    /// PURCHASED, FAMILY_SHARED, …
    public var ownership: String?
    /// Whose purchase it is.
    public var token: CustomerNumber?
    /// PURCHASE or RENEWAL.
    public var reason: String?
    /// When access was taken back.
    public var revokedAt: Instant?
    /// Whether money went back with the revocation (R15); of several payments each says it itself.
    public var isRefunded: Bool
    /// The refunded share; `nil` for several payments. Units: thousandths of a percent.
    public var refundShare: Int64?
    /// Whether Apple marked it as upgraded.
    public var isUpgraded: Bool
    /// Each purchase of seats, by date; empty when it is not about seats. See `payments`.
    public var seatPayments: [Payment]
    /// The payment of a commitment that it is.
    public var installment: Installment?
    /// Money that went back, by date.
    public var moneyBack: [MoneyBack]
    /// How its end was put off, by signing.
    public var extensions: [Extension]
    /// Country of the store account, ISO 3166-1 alpha-3.
    public var storefront: String?
    /// The offer's name.
    public var offer: String?
    /// Caveats: `successor_missing`, `start_in_future`, `clock_skew`, `no_signed_date`, and
    /// `gap_unknown` when nothing says whether the time before it was paid for.
    public var flags: [String]
}

/// Time that Apple gives a customer whose charge failed (R5).
public enum Grace: Sendable, Hashable {
    /// Until the instant that Apple named, or ended it at.
    case named(until: Instant)
    /// Apple named no date: as many days as configured, but not beyond `cap`.
    case inferred(cap: Instant?)
}

/// How a period counts; the first that matches.
public enum PeriodClass: String, Sendable, Hashable {
    case family, other, trial, free, intro, paid

    init(_ statement: TransactionStatement) {
        switch statement.ownership {
        case "FAMILY_SHARED": self = .family
        case nil, "PURCHASED":
            if statement.offerDiscountType == "FREE_TRIAL" {
                self = .trial
            } else if statement.priceMilliunits == 0 {
                self = .free
            } else {
                self = statement.offerType == nil ? .paid : .intro
            }
        default: self = .other
        }
    }
}
