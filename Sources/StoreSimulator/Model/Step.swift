/// What a customer, or the store, does at an instant.
enum Step: Sendable {
    /// Buys a product; the trial is had when there is one and it was not had before.
    case buy(product: String, quantity: Int64)
    /// Turns renewal off.
    case cancel
    /// Turns renewal on again.
    case resume
    /// The bank pays no longer.
    case fail
    /// The bank pays again, and what is owed is collected.
    case recover
    /// Changes to another product of the group, now or at the next renewal.
    case change(product: String)
    /// Asks for money back, for a reason.
    case ask(reason: String)
    /// Money is given back: all of it, or a share in thousandths of a percent.
    case refund(Which, percentage: Int64)
    /// The store does not give money back.
    case decline
    /// A refund is taken back.
    case reverse
    /// Lets a family member take part.
    case share(with: String)
    /// Lets no family member take part any more.
    case unshare
    /// The period ends so many days later.
    case extend(days: Int64)
    /// The price rises.
    case raisePrice(to: Int64, needsConsent: Bool)
    /// The customer agrees to the higher price.
    case consent
    /// The account is no more.
    case delete

    /// Which transaction of a chain is meant.
    enum Which: Sendable, Equatable {
        case latest, previous, first
        case transaction(String)
    }

    /// The steps as scenarios spell them.
    static let names = [
        "buy", "cancel", "resume", "fail", "recover", "upgrade", "downgrade", "change", "ask",
        "refund", "decline", "reverse", "share", "unshare", "extend", "raisePrice", "consent",
        "delete",
    ]
}
