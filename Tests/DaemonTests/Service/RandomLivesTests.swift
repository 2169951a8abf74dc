import Domain
import HTTP
import TestLives
import Testing

@testable import Daemon

@Suite("Random lives through the doors")
struct RandomLivesTests {
    private static let groupSize = 4

    @Test("are answered as the pure fold of what was posted, and the past never changes")
    func lives() async throws {
        let customers = cases(40, long: 1_000)
        try await TestService.run {
            $0.products = RandomLivesTests.products
        } _: { service in
            var run = try LivesRun(
                seed: 1, customers: customers, groupSize: RandomLivesTests.groupSize, service)
            try await run.post()
            try await run.askEverybody()
            try await run.askAgain()
            #expect(run.faults == [], "seed \(run.seed), \(customers) customers")
            #expect(run.asked > customers * 8 && run.active > customers && run.remembered > 20)
        }
    }

    /// The catalogue that the pure fold begins with, as a configuration has it.
    private static let products: [ProductConfiguration] = [
        plan("plus.monthly", 1, "P1M", ["pro", "plus"]), plan("pro.monthly", 2, "P1M", ["pro"]),
        plan("pro.weekly", 2, "P1W", ["pro"]), plan("basic.yearly", 3, "P1Y", ["basic"]),
    ]

    private static func plan(
        _ id: String, _ level: Int, _ length: String, _ entitlements: [String]
    ) -> ProductConfiguration {
        ProductConfiguration(
            id: id,
            terms: .autoRenewable(group: "G1", level: level, plan: CalendarLength(length)!),
            entitlements: entitlements)
    }
}

/// Posts what random customers do, and asks about them.
private struct LivesRun {
    /// A group of customers and what they must be told.
    private struct Group {
        let acts: RandomActs
        var expected = Expectation()
        var random: SplitMix64
    }

    /// An answer given while more was still being posted.
    private struct Remembered {
        let target: String
        let position: Int64
        let entitlements: [UInt8]
    }

    let seed: UInt64
    /// What was answered otherwise than expected, the first few.
    private(set) var faults: [String] = []
    private(set) var asked = 0
    private(set) var active = 0
    var remembered: Int { answers.count }

    private let service: TestService
    private var groups: [Group] = []
    private var answers: [Remembered] = []
    private var settings = testSettings
    private var random: SplitMix64

    init(seed: UInt64, customers: Int, groupSize: Int, _ service: TestService) throws {
        self.seed = seed
        self.service = service
        random = SplitMix64(seed: seed)
        for first in stride(from: 0, to: customers, by: groupSize) {
            let acts = try RandomActs(
                seed: seed, members: first..<min(first + groupSize, customers), service)
            groups.append(Group(acts: acts, random: SplitMix64(seed: random.next())))
        }
    }

    /// Posts all acts of all groups in a random order, and asks now and then meanwhile.
    mutating func post() async throws {
        var order = groups.indices.flatMap { group in
            groups[group].acts.acts.indices.map { (group: group, act: $0) }
        }
        order.shuffle(using: &random)
        for (index, place) in order.enumerated() {
            if index == order.count / 2 { try await replaceCatalog() }
            let act = groups[place.group].acts.acts[place.act]
            try await post(act, of: place.group)
            guard groups[place.group].random.once(in: 6) else { continue }
            let member = someone(of: place.group)
            let instant = RandomActs.instant(&groups[place.group].random)
            let target = target(RandomActs.id(member), instant)
            let answer = try await ask(
                target, RandomActs.number(member), of: place.group, at: instant)
            guard let position = answer["position"]?.integer else { continue }
            answers.append(
                Remembered(
                    target: target, position: position,
                    entitlements: answer["entitlements"]?.bytes() ?? []))
        }
    }

    /// Asks about everybody at random instants and around those at which something changes.
    mutating func askEverybody() async throws {
        for group in groups.indices {
            let boundaries = groups[group].expected.boundaries(settings)
            for member in groups[group].acts.members {
                var instants = (0..<3).map { _ in RandomActs.instant(&groups[group].random) }
                for _ in 0..<(boundaries.isEmpty ? 0 : 3) {
                    let edge = boundaries[groups[group].random.below(boundaries.count)]
                    instants += [-1, 0, 1].map { edge.adding(milliseconds: $0) }
                }
                for instant in instants {
                    _ = try await ask(
                        target(RandomActs.id(member), instant), RandomActs.number(member),
                        of: group, at: instant)
                }
                _ = try await ask(
                    target(RandomActs.token(member), instants[0]),
                    RandomActs.tokenNumber(member), of: group, at: instants[0])
            }
        }
    }

    /// Asks everything that was asked meanwhile again, as it was known then.
    mutating func askAgain() async throws {
        for answer in answers {
            let again = try await service.ask(
                "GET", answer.target + "&asKnownPosition=\(answer.position)")
            if again["entitlements"]?.bytes() != answer.entitlements {
                fault(
                    "\(answer.target) as known at \(answer.position): "
                        + "\(text(again["entitlements"])), once "
                        + String(decoding: answer.entitlements, as: UTF8.self))
            }
        }
    }

    private mutating func someone(of group: Int) -> Int {
        let members = groups[group].acts.members
        return members.lowerBound + groups[group].random.below(members.count)
    }

    private func target(_ customer: String, _ instant: Instant) -> String {
        "/v1/customers/\(customer)/entitlements?at=\(instant)"
    }

    /// Asks, and compares with what the fold comes to.
    private mutating func ask(
        _ target: String, _ number: CustomerNumber, of group: Int, at instant: Instant
    ) async throws -> TestService.Answer {
        let answer = try await service.ask("GET", target)
        let holdings = groups[group].expected.holdings(settings)
        let told = holdings.verdicts(for: number, at: instant).entitlements
        let expected = JSON.object(told.map { .init($0.name, $0.rendered) })
        asked += 1
        if told.contains(where: \.mayUse) { active += 1 }
        if answer.status != 200 || (answer["entitlements"] ?? .null) != expected {
            fault("\(target): \(text(answer["entitlements"])), expected \(text(expected))")
        }
        if let text = answer["freshUntil"]?.text, let fresh = Instant(text) {
            let last = fresh.adding(milliseconds: -1)
            if holdings.verdicts(for: number, at: last).entitlements != told {
                fault("\(target): not fresh until \(text)")
            }
        }
        return answer
    }

    private mutating func post(_ act: RandomActs.Act, of group: Int) async throws {
        let answer: TestService.Answer
        var isDone = true
        switch act {
        case .notification(let payload, let observation):
            answer = try await service.post(notification: payload)
            groups[group].expected.hear(observation, presenter: nil, settings)
        case .statement(let payload, let observation, let presenter):
            answer = try await service.ask(
                "POST", "/v1/apple/transactions", try statement(payload, observation, presenter))
            groups[group].expected.hear(
                observation, presenter: presenter.map(RandomActs.number), settings)
        case .bindToken(let owner, let member, let transfer):
            answer = try await service.ask(
                "PUT",
                "/v1/customers/\(RandomActs.id(member))/tokens/\(RandomActs.token(owner))",
                JSON(members: ["transfer": .bool(transfer)]))
            isDone = groups[group].expected.bind(
                RandomActs.tokenNumber(owner), to: RandomActs.number(member), transfer: transfer)
        case .bindLine(let owner, let member, let from):
            let line = RandomActs.line(owner)
            answer = try await service.ask(
                "PUT", "/v1/customers/\(RandomActs.id(member))/lines/Production/\(line)",
                JSON(members: ["from": .string(from.description)]))
            groups[group].expected.bind(
                .line(.production, String(line)), to: RandomActs.number(member), from: from,
                settings)
        case .grant, .merge, .unmerge:
            (answer, isDone) = try await command(act, of: group)
        }
        if (answer.status < 300) != isDone || answer.status >= 500 || answer.status == 202 {
            fault("\(act) was answered \(answer.status) \(text(answer.json))")
        }
    }

    private func statement(_ payload: JSON, _ observation: Observation, _ presenter: Int?) throws
        -> JSON
    {
        let signed = JSON.array([.string(try service.sign(payload))])
        return JSON(members: [
            "signedTransactions": observation.transaction == nil ? nil : signed,
            "signedRenewalInfos": observation.renewal == nil ? nil : signed,
            "customer": .text(presenter.map(RandomActs.id)),
        ])
    }

    private mutating func command(_ act: RandomActs.Act, of group: Int) async throws
        -> (TestService.Answer, isDone: Bool)
    {
        switch act {
        case .grant(let member, let entitlement, let from, let until):
            let answer = try await service.ask(
                "POST", "/v1/customers/\(RandomActs.id(member))/grants",
                JSON(members: [
                    "entitlement": .string(entitlement), "from": .string(from.description),
                    "until": .text(until?.description), "reason": .string("apology"),
                ]))
            let grant = Grant(
                id: answer["grant"]?.text ?? "", entitlement: entitlement, from: from,
                until: until, reason: "apology")
            groups[group].expected.give(grant, to: RandomActs.number(member))
            return (answer, true)
        case .merge(let member, let into, let instant):
            return (
                try await merging("merge", member, into, instant),
                groups[group].expected.merge(
                    RandomActs.number(member), Merge(into: RandomActs.number(into), at: instant))
            )
        case .unmerge(let member, let into, let instant):
            return (
                try await merging("unmerge", member, into, instant),
                groups[group].expected.unmerge(
                    RandomActs.number(member), Merge(into: RandomActs.number(into), at: instant))
            )
        default: preconditionFailure("no command about a customer: \(act)")
        }
    }

    private func merging(_ verb: String, _ member: Int, _ into: Int, _ instant: Instant)
        async throws -> TestService.Answer
    {
        try await service.ask(
            "POST", "/v1/customers/\(RandomActs.id(member))/\(verb)",
            JSON(members: [
                "into": .string(RandomActs.id(into)), "at": .string(instant.description),
            ]))
    }

    /// From a summer on one product gives less and another nothing.
    private mutating func replaceCatalog() async throws {
        var products = settings.latestCatalog?.products ?? [:]
        products["plus.monthly"]?.entitlements = ["plus"]
        products["pro.weekly"] = nil
        products["pro.lifetime"] = nil
        products["pass.90d"] = nil
        let change = CatalogChange(products: products, validFrom: at("2021-06-01"))
        let answer = try await service.ask(
            "PUT", "/v1/catalog",
            JSON(members: [
                "products": change.productsBody, "validFrom": .string("2021-06-01"),
            ]))
        if answer["appended"] != .integer(1) { fault("the catalogue: \(text(answer.json))") }
        settings = settings.evolved(
            by: Entry(
                position: Position(3), revision: 3, recordedAt: at("2021-06-01"),
                event: Event(
                    kind: .catalogChanged, stream: .settings, key: "catalog/3",
                    occurredAt: at("2021-06-01"), observedAt: at("2021-06-01"), source: .command,
                    content: .catalog(change))))
    }

    private mutating func fault(_ text: String) {
        if faults.count < 5 { faults.append("seed \(seed): \(text)") }
    }

    private func text(_ json: JSON?) -> String {
        String(decoding: (json ?? .null).bytes(), as: UTF8.self)
    }
}
