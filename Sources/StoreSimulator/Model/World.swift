import Domain

/// The store as it is: customers, chains, transactions, and what was told about them.
///
/// It knows no real clock and no real chance: the same seed and the same steps make the same world.
struct World: Sendable {
    let app: StoreApp
    let pace: Pace
    let products: [String: Product]
    var people: [Person] = []
    var chains: [Chain] = []
    var transactions: [Transaction] = []
    /// What was told, in order.
    var notices: [Notice] = []
    var now: Instant
    var agenda = Agenda()
    var chance: Chance
    private(set) var peopleById: [String: Int] = [:]
    private(set) var transactionsById: [String: Int] = [:]
    private(set) var chainsById: [String: Int] = [:]
    private(set) var appTransactions: [String: Int] = [:]
    private var changes: Int64 = 0
    private var made: Int64 = 0
    private let numbers: Int64

    init(app: StoreApp, pace: Pace, products: [Product], start: Instant, seed: UInt64) {
        self.app = app
        self.pace = pace
        self.products = Dictionary(
            products.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        now = start
        // A store that begins at another instant sells under other numbers.
        numbers = start.milliseconds / 1_000 % 1_000_000_000 * 1_000_000
        chance = Chance(seed: seed ^ UInt64(bitPattern: start.milliseconds))
    }

    // MARK: Time

    /// Lets everything happen that is due by an instant.
    mutating func advance(to instant: Instant) {
        while let due = agenda.take(by: instant) {
            now = max(now, due.at)
            perform(due.matter)
        }
        now = max(now, instant)
    }

    private mutating func perform(_ matter: Due.Matter) {
        switch matter {
        case .step(let person, let step):
            // What makes no sense by then, such as cancelling what has ended, does not happen.
            _ = take(step, by: person)
        case .renewal(let chain, let epoch) where chains[chain].epoch == epoch:
            if chains[chain].autoRenews, people[chains[chain].person].cardWorks,
                !needsConsent(chain), !hasRenewedOut(chain)
            {
                renew(chain)
            }
        case .end(let chain, let epoch) where chains[chain].epoch == epoch: end(chain)
        case .graceEnd(let chain, let epoch) where chains[chain].epoch == epoch: endGrace(chain)
        case .retryEnd(let chain, let epoch) where chains[chain].epoch == epoch:
            expire(chain, intent: 2, subtype: "BILLING_RETRY")
        case .renewal, .end, .graceEnd, .retryEnd: break
        }
    }

    // MARK: Making things

    /// A new customer's place.
    mutating func add(_ id: String, environment: Environment, token: String? = nil) -> Int {
        made += 1
        let person = Person(
            id: id, token: token ?? chance.uuid(),
            appTransactionId: String(7_000_000_000_000_000 + numbers + made),
            environment: environment)
        people.append(person)
        peopleById[id] = people.count - 1
        peopleById[person.token] = people.count - 1
        appTransactions[person.appTransactionId] = people.count - 1
        return people.count - 1
    }

    /// A new id as the environment writes them.
    mutating func identifier(_ environment: Environment, order: Bool = false) -> String {
        made += 1
        if order { return "M" + String(numbers + made, radix: 36).uppercased() }
        let base: Int64 = environment == .production ? 3 : 2
        return String(base * 1_000_000_000_000_000 + numbers + made)
    }

    /// Keeps a new transaction as its chain's latest.
    mutating func keep(_ transaction: Transaction) -> Int {
        transactions.append(transaction)
        let place = transactions.count - 1
        transactionsById[transaction.id] = place
        chains[transaction.chain].transactions.append(place)
        touch(place)
        return place
    }

    /// Keeps a new chain.
    mutating func keep(_ chain: Chain) -> Int {
        chains.append(chain)
        chainsById[chain.id] = chains.count - 1
        people[chain.person].chains.append(chains.count - 1)
        return chains.count - 1
    }

    /// Notes that a transaction changed.
    mutating func touch(_ transaction: Int) {
        changes += 1
        transactions[transaction].modification = changes
    }

    // MARK: Looking

    /// The place of a chain's latest transaction.
    func latest(_ chain: Int) -> Int {
        guard let latest = chains[chain].transactions.last else {
            preconditionFailure("a chain without a transaction")
        }
        return latest
    }

    /// The product that a chain's latest transaction bought.
    func product(_ chain: Int) -> Product { transactions[latest(chain)].product }

    /// An instant at which something about a chain may be signed: later than all before it.
    mutating func stamp(_ chain: Int) -> Instant {
        let stamp = max(now, chains[chain].stamp.adding(milliseconds: 1))
        chains[chain].stamp = stamp
        return stamp
    }

    /// The customer whose id, token, app transaction id, or any of whose transactions this is.
    func person(_ any: String, in environment: Environment? = nil) -> Int? {
        let found =
            peopleById[any] ?? appTransactions[any]
            ?? transactionsById[any].map {
                transactions[$0].person
            }
        guard let found, environment == nil || people[found].environment == environment else {
            return nil
        }
        return found
    }

    /// All transactions of a customer, in the order of their latest change.
    func transactions(of person: Int) -> [Transaction] {
        people[person].chains.flatMap { chains[$0].transactions }.map { transactions[$0] }
            .sorted { $0.modification < $1.modification }
    }

    /// The chain of a subscription group that a customer has, the latest one.
    func chain(of person: Int, group: String) -> Int? {
        people[person].chains.last { chains[$0].group == group && chains[$0].sharedFrom == nil }
    }

    /// The subscription that a step is about: the latest that goes on, else the latest.
    func subscription(of person: Int) -> Int? {
        let own = people[person].chains.filter {
            chains[$0].group != nil && chains[$0].sharedFrom == nil
        }
        return own.last { !chains[$0].isOver } ?? own.last
    }
}
