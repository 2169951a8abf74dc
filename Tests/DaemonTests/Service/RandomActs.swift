import Crypto
import Domain
import TestLives

/// Some customers of random lives who have to do with each other, and what is posted of them.
struct RandomActs {
    /// One post, and what it must be understood as.
    enum Act {
        case notification(JSON, Observation)
        /// A transaction, or else a renewal info, and who presents it.
        case statement(JSON, Observation, presenter: Int?)
        case bindToken(of: Int, to: Int, transfer: Bool)
        case bindLine(of: Int, to: Int, from: Instant)
        case grant(to: Int, entitlement: String, from: Instant, until: Instant?)
        case merge(Int, into: Int, at: Instant)
        case unmerge(Int, from: Int, at: Instant)
    }

    /// The customers, by their place in the whole test.
    let members: Range<Int>
    private(set) var acts: [Act] = []
    private var random: SplitMix64
    private static let start = at("2021-01-01")

    init(seed: UInt64, members: Range<Int>, _ service: TestService) throws {
        self.members = members
        random = SplitMix64(seed: seed &* 1_000_003 &+ UInt64(members.lowerBound))
        for member in members { try tell(member, service) }
        for member in members { command(member) }
        // Evidence may arrive again; so may commands, which then find it so or are refused.
        acts = RandomLife.arrival(acts, &random)
    }

    /// The backend's id of a customer.
    static func id(_ member: Int) -> String { "u_\(member)" }
    /// The number that stands for a customer in the pure fold.
    static func number(_ member: Int) -> CustomerNumber { CustomerNumber(Int64(member) + 1) }
    /// A customer's account token.
    static func token(_ member: Int) -> String {
        let digits = String(member)
        return "0b6f7c0e-1111-4222-8333-" + String(repeating: "0", count: 12 - digits.count)
            + digits
    }
    /// The number that stands for that token in the pure fold.
    static func tokenNumber(_ member: Int) -> CustomerNumber {
        CustomerNumber(Int64(member) + 1_000_001)
    }
    /// The original transaction id of a customer's line.
    static func line(_ member: Int) -> Int64 { Int64(member) * 1_000 + 5_001 }

    /// Some instant within the lives.
    static func instant(_ random: inout SplitMix64) -> Instant {
        start.adding(milliseconds: Int64(random.below(400)) * 86_400_000 + Int64(random.below(2)))
    }

    private mutating func anybody() -> Int { members.lowerBound + random.below(members.count) }

    /// A customer whose things these are, or now and then any other.
    private mutating func mostly(_ member: Int) -> Int {
        random.once(in: 3) ? anybody() : member
    }

    /// Adds the life of one customer's line, as Apple and the apps would send it.
    private mutating func tell(_ member: Int, _ service: TestService) throws {
        let life = RandomLife(
            seed: random.next(), line: RandomActs.line(member), from: RandomActs.start)
        let isAnonymous = random.once(in: 3)
        var last: (payload: JSON, stated: Stated<TransactionStatement>)?
        for observation in life.observations {
            let token = isAnonymous ? nil : member
            let transaction = observation.transaction.map { signed($0.content, token) }
            let renewal = observation.renewal.map { signed($0.content) }
            if let notice = observation.notice {
                // A notification about a line states something of it.
                let carried = transaction ?? (renewal == nil ? last : nil)
                guard carried != nil || renewal != nil else { continue }
                acts.append(
                    .notification(
                        try service.notification(
                            notice.type, subtype: notice.subtype, uuid: notice.uuid,
                            signed: notice.signedAt.description, transaction: carried?.payload,
                            renewal: renewal?.payload),
                        heard(notice, carried?.stated, renewal?.stated)))
            } else {
                let presenter = random.once(in: 2) ? mostly(member) : nil
                if let transaction {
                    acts.append(
                        .statement(
                            transaction.payload,
                            posted(transaction.stated, nil), presenter: presenter))
                }
                if let renewal {
                    acts.append(
                        .statement(
                            renewal.payload, posted(nil, renewal.stated), presenter: presenter))
                }
            }
            last = transaction ?? last
        }
    }

    /// Adds what the backend says of a customer, if anything.
    private mutating func command(_ member: Int) {
        if !random.once(in: 3) {
            acts.append(.bindToken(of: member, to: mostly(member), transfer: false))
        }
        if random.once(in: 5) {
            acts.append(.bindToken(of: member, to: anybody(), transfer: true))
        }
        if random.once(in: 3) {
            let from = RandomActs.instant(&random)
            acts.append(.bindLine(of: member, to: anybody(), from: from))
        }
        if random.once(in: 3) {
            let from = RandomActs.instant(&random)
            let days = Int64(random.below(90)) + 1
            acts.append(
                .grant(
                    to: member, entitlement: ["pro", "plus", "support"][random.below(3)],
                    from: from, until: random.once(in: 4) ? nil : from.adding(days: days)))
        }
        if random.once(in: 3) {
            let (into, from) = (anybody(), RandomActs.instant(&random))
            acts.append(.merge(member, into: into, at: from))
            if random.once(in: 2) {
                let days = Int64(random.below(60)) + 1
                acts.append(.unmerge(member, from: into, at: from.adding(days: days)))
            }
        }
    }

    /// A transaction's payload, and the statement that must be read from it.
    private func signed(_ statement: TransactionStatement, _ member: Int?)
        -> (payload: JSON, stated: Stated<TransactionStatement>)
    {
        var statement = statement
        let token = statement.token == nil ? nil : member
        statement.token = token.map(RandomActs.tokenNumber)
        statement.flags = []
        var members = Event.Content.transaction(statement).body["transaction"]?.members ?? []
        members.removeAll { $0.name == "token" }
        if let token {
            members.append(.init("appAccountToken", .string(RandomActs.token(token))))
        }
        let payload = JSON.object(members)
        return (payload, Stated(statement, fingerprint(payload)))
    }

    private func signed(_ statement: RenewalStatement)
        -> (payload: JSON, stated: Stated<RenewalStatement>)
    {
        let payload = Event.Content.renewal(statement).body["renewal"] ?? .null
        return (payload, Stated(statement, fingerprint(payload)))
    }

    private func fingerprint(_ payload: JSON) -> Fingerprint {
        Fingerprint(hex: SHA256.digest(of: payload.bytes()).description)
    }

    private func posted(
        _ transaction: Stated<TransactionStatement>?, _ renewal: Stated<RenewalStatement>?
    ) -> Observation {
        Observation(
            transaction: transaction, renewal: renewal, source: .app,
            observedAt: RandomActs.start)
    }

    private func heard(
        _ notice: Notice, _ transaction: Stated<TransactionStatement>?,
        _ renewal: Stated<RenewalStatement>?
    ) -> Observation {
        var notice = notice
        notice.transaction = transaction?.content.transaction
        notice.renewalSignedAt = renewal?.content.signedAt
        notice.renewsAt = renewal?.content.renewsAt
        return Observation(
            notice: notice, transaction: transaction, renewal: renewal, source: .notification,
            observedAt: RandomActs.start)
    }
}
