import Domain
import HTTP
import TestLives

@testable import Daemon

/// Posts what a group of random customers does, one act after the other, and asks about them.
struct GroupRun: Sendable {
    /// An answer given while more was still being posted.
    private struct Remembered {
        let target: String
        let position: Int64
        let entitlements: [UInt8]
    }

    /// The settings on the record.
    var settings = testSettings
    /// What was answered otherwise than expected, the first few.
    private(set) var faults: [String] = []
    private(set) var asked = 0
    private(set) var active = 0
    var remembered: Int { answers.count }

    private let seed: UInt64
    private let service: TestService
    private let acts: RandomActs
    private var expected = Expectation()
    private var random: SplitMix64
    private var answers: [Remembered] = []

    init(seed: UInt64, members: Range<Int>, _ service: TestService) throws {
        self.seed = seed
        self.service = service
        acts = try RandomActs(seed: seed, members: members, service)
        random = SplitMix64(seed: ~seed &+ UInt64(members.lowerBound))
    }

    /// Posts one half of the acts in order, and asks now and then meanwhile.
    mutating func post(firstHalf: Bool) async throws {
        let middle = acts.acts.count / 2
        for act in firstHalf ? acts.acts[..<middle] : acts.acts[middle...] {
            try await post(act)
            guard random.once(in: 6) else { continue }
            let member = anybody()
            let instant = RandomActs.instant(&random)
            let target = target(RandomActs.id(member), instant)
            let answer = try await ask(target, RandomActs.number(member), at: instant)
            guard let position = answer["position"]?.integer else { continue }
            answers.append(
                Remembered(
                    target: target, position: position,
                    entitlements: answer["entitlements"]?.bytes() ?? []))
        }
    }

    /// Asks about everybody at random instants and around those at which something changes.
    mutating func askEverybody() async throws {
        let boundaries = expected.boundaries(settings)
        for member in acts.members {
            var instants = (0..<3).map { _ in RandomActs.instant(&random) }
            for _ in 0..<(boundaries.isEmpty ? 0 : 3) {
                let edge = boundaries[random.below(boundaries.count)]
                instants += [-1, 0, 1].map { edge.adding(milliseconds: $0) }
            }
            for instant in instants {
                _ = try await ask(
                    target(RandomActs.id(member), instant), RandomActs.number(member), at: instant)
            }
            _ = try await ask(
                target(RandomActs.token(member), instants[0]), RandomActs.tokenNumber(member),
                at: instants[0])
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

    private mutating func anybody() -> Int {
        acts.members.lowerBound + random.below(acts.members.count)
    }

    private func target(_ customer: String, _ instant: Instant) -> String {
        "/v1/customers/\(customer)/entitlements?at=\(instant)"
    }

    /// Asks, and compares with what the fold comes to.
    private mutating func ask(
        _ target: String, _ number: CustomerNumber, at instant: Instant
    ) async throws -> TestService.Answer {
        let answer = try await service.ask("GET", target)
        let holdings = expected.holdings(settings)
        let told = holdings.verdicts(for: number, at: instant).entitlements
        let wanted = JSON.object(told.map { .init($0.name, $0.rendered) })
        asked += 1
        if told.contains(where: \.mayUse) { active += 1 }
        if answer.status != 200 || (answer["entitlements"] ?? .null) != wanted {
            fault("\(target): \(text(answer["entitlements"])), expected \(text(wanted))")
        }
        if let text = answer["freshUntil"]?.text, let fresh = Instant(text) {
            let last = fresh.adding(milliseconds: -1)
            if holdings.verdicts(for: number, at: last).entitlements != told {
                fault("\(target): not fresh until \(text)")
            }
        }
        return answer
    }

    private mutating func post(_ act: RandomActs.Act) async throws {
        let answer: TestService.Answer
        var isDone = true
        switch act {
        case .notification(let payload, let observation):
            answer = try await service.post(notification: payload)
            expected.hear(observation, presenter: nil, settings)
        case .statement(let payload, let observation, let presenter):
            answer = try await service.ask(
                "POST", "/v1/apple/transactions", try statement(payload, observation, presenter))
            expected.hear(
                observation, presenter: presenter.map(RandomActs.number), settings)
        case .bindToken(let owner, let member, let transfer):
            answer = try await service.ask(
                "PUT",
                "/v1/customers/\(RandomActs.id(member))/tokens/\(RandomActs.token(owner))",
                JSON(members: ["transfer": .bool(transfer)]))
            isDone = expected.bind(
                RandomActs.tokenNumber(owner), to: RandomActs.number(member), transfer: transfer)
        case .bindLine(let owner, let member, let from):
            let line = RandomActs.line(owner)
            answer = try await service.ask(
                "PUT", "/v1/customers/\(RandomActs.id(member))/lines/Production/\(line)",
                JSON(members: ["from": .string(from.description)]))
            expected.bind(
                .line(.production, String(line)), to: RandomActs.number(member), from: from,
                settings)
        case .grant, .merge, .unmerge:
            (answer, isDone) = try await command(act)
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

    private mutating func command(_ act: RandomActs.Act) async throws
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
            expected.give(grant, to: RandomActs.number(member))
            return (answer, true)
        case .merge(let member, let into, let instant):
            return (
                try await merging("merge", member, into, instant),
                expected.merge(
                    RandomActs.number(member), Merge(into: RandomActs.number(into), at: instant))
            )
        case .unmerge(let member, let into, let instant):
            return (
                try await merging("unmerge", member, into, instant),
                expected.unmerge(
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

    private mutating func fault(_ text: String) {
        if faults.count < 3 { faults.append("seed \(seed): \(text)") }
    }

    private func text(_ json: JSON?) -> String {
        String(decoding: (json ?? .null).bytes(), as: UTF8.self)
    }
}
