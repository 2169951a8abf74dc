import Domain

/// A possible life of a customer, drawn by chance.
struct RandomLife {
    private let products: [Product]
    private var chance: Chance
    private(set) var steps: [(at: Instant, step: Step)] = []
    private let customer: String

    /// How long a day lasts. Units: milliseconds.
    private let day: Int64

    /// The life of a customer between two instants.
    init(
        customer: String, products: [Product], pace: Pace, from start: Instant,
        until end: Instant, chance: Chance
    ) {
        day = pace.duration(days: 1)
        self.products = products.sorted { $0.id < $1.id }
        self.customer = customer
        self.chance = chance
        let length = max(1, end.milliseconds - start.milliseconds)
        var now = start.adding(milliseconds: Int64(self.chance.below(Int(length * 2 / 3))))
        buySomething(at: now)
        while true {
            // Some things follow closely, most after weeks.
            let most = self.chance.once(in: 4) ? 3 * day : length / 8
            now = now.adding(milliseconds: 1_000 + Int64(self.chance.below(Int(max(1, most)))))
            guard now < end else { break }
            step(at: now)
        }
    }

    private mutating func add(_ step: Step, at instant: Instant) {
        steps.append((at: instant, step: step))
    }

    private var subscriptions: [Product] { products.filter { $0.kind == .autoRenewable } }
    private var others: [Product] { products.filter { $0.kind != .autoRenewable } }

    private mutating func buySomething(at instant: Instant) {
        let isSubscription = others.isEmpty || !chance.once(in: 5)
        let choices = isSubscription && !subscriptions.isEmpty ? subscriptions : others
        guard !choices.isEmpty else { return }
        let product = chance.one(of: choices)
        add(.buy(product: product.id, quantity: Int64(1 + chance.below(3))), at: instant)
    }

    private mutating func step(at instant: Instant) {
        let later = instant.adding(milliseconds: 1_000 + Int64(chance.below(Int(2 * day))))
        switch chance.below(20) {
        case 0, 1: add(.cancel, at: instant)
        case 2: add(.resume, at: instant)
        case 3, 4, 5:
            add(.fail, at: instant)
            // Sometimes within grace, sometimes after it, sometimes never.
            let days = chance.one(of: [3, 12, 30, 45, 80])
            add(.recover, at: instant.adding(milliseconds: Int64(days) * day))
        case 6, 7:
            guard let product = subscriptions.randomElement(using: &chance) else { return }
            add(.change(product: product.id), at: instant)
        case 8:
            add(.ask(reason: "UNSATISFIED_WITH_PURCHASE"), at: instant)
            add(chance.once(in: 2) ? .decline : refund(), at: later)
        case 9: add(refund(), at: instant)
        case 10:
            add(refund(), at: instant)
            add(.reverse, at: later)
        case 11: add(.extend(days: Int64(1 + chance.below(20))), at: instant)
        case 12: add(.share(with: customer + "-family"), at: instant)
        case 13: add(.unshare, at: instant)
        case 14:
            add(.raisePrice(to: 12_990, needsConsent: chance.once(in: 2)), at: instant)
            if chance.once(in: 2) { add(.consent, at: later) }
        default: buySomething(at: instant)
        }
    }

    private mutating func refund() -> Step {
        let which: Step.Which = chance.one(of: [.latest, .latest, .previous, .first])
        let percentage = chance.once(in: 3) ? Int64(10_000 + chance.below(80_000)) : 100_000
        return .refund(which, percentage: percentage)
    }
}

extension World {
    /// A world as a scenario has it, at its beginning.
    init(_ scenario: Scenario, start: Instant, end: Instant) {
        self.init(
            app: scenario.app, pace: scenario.pace, products: scenario.products, start: start,
            seed: scenario.seed)
        for life in scenario.lives {
            let person = add(life.customer, environment: life.environment, token: life.token)
            if let (code, id, currency) = life.storefront {
                people[person].storefront = code
                people[person].storefrontId = id
                people[person].currency = currency
            }
            people[person].showsToken = life.showsToken
            for (after, step) in life.steps {
                agenda.add(
                    .step(person: person, step), at: pace.adding(after, to: start))
            }
        }
        for number in 0..<scenario.randomCustomers {
            let customer = "c\(number + 1)"
            let person = add(customer, environment: scenario.randomEnvironment)
            // Each life has chance of its own, so that more customers do not change the first.
            let seed = scenario.seed &* 0x2545_F491_4F6C_DD1D &+ UInt64(number)
            let life = RandomLife(
                customer: customer, products: scenario.products, pace: scenario.pace, from: start,
                until: end, chance: Chance(seed: seed))
            for (instant, step) in life.steps {
                agenda.add(.step(person: person, step), at: instant)
            }
        }
    }
}
