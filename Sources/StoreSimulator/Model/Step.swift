import Domain

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

    /// What a text means as a step.
    static let names = [
        "buy", "cancel", "resume", "fail", "recover", "upgrade", "downgrade", "change", "ask",
        "refund", "decline", "reverse", "share", "unshare", "extend", "raisePrice", "consent",
        "delete",
    ]
}

/// Something that happens at an instant unless it is void by then.
struct Due: Sendable {
    enum Matter: Sendable {
        case step(person: Int, Step)
        /// The store tries to renew ahead of time.
        case renewal(chain: Int, epoch: Int)
        /// The period ends.
        case end(chain: Int, epoch: Int)
        case graceEnd(chain: Int, epoch: Int)
        /// The store gives up collecting.
        case retryEnd(chain: Int, epoch: Int)
    }

    let at: Instant
    /// Where it stands among those of the same instant.
    let number: Int
    let matter: Matter
}

/// What is due, the earliest last.
struct Agenda: Sendable {
    private var items: [Due] = []
    private var made = 0

    /// When the next thing is due.
    var next: Instant? { items.last?.at }
    /// How many things are due.
    var count: Int { items.count }

    mutating func add(_ matter: Due.Matter, at instant: Instant) {
        made += 1
        let due = Due(at: instant, number: made, matter: matter)
        var low = 0
        var high = items.count
        while low < high {
            let middle = (low + high) / 2
            let other = items[middle]
            if (other.at, other.number) > (due.at, due.number) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        items.insert(due, at: low)
    }

    /// Takes the next thing that is due by an instant.
    mutating func take(by instant: Instant) -> Due? {
        guard let next, next <= instant else { return nil }
        return items.popLast()
    }
}
