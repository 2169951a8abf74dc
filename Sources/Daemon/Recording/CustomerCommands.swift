import Crypto
import Domain
import Ledger

/// Makes proposals of the backend's commands about customers: grants and merges.
enum CustomerCommands {
    /// A grant that is wanted.
    struct Wanted: Sendable {
        var entitlement: String
        var from: Instant
        var until: Instant?
        var reason: String
    }

    /// What a command comes to.
    private enum Verdict {
        case says(Event.Content)
        case isSoAlready
        case refused(Objection)
    }

    /// The key of a command: the backend's own, or one that nothing else has.
    static func key(_ verb: String, _ idempotencyKey: String?) -> String {
        verb + "/" + (idempotencyKey.map { "key/" + $0 } ?? Hex.encode(randomBytes(12)))
    }

    /// The id of the grant that a command of this key makes.
    static func grantID(key: String) -> String {
        "grant_" + SHA256.digest(of: key).description.prefix(24)
    }

    /// The proposal that gives an entitlement.
    static func grant(_ wanted: Wanted, to customer: String, key: String, now: Instant) -> Proposal
    {
        command(on: customer, kind: .granted, key: key, at: wanted.from, now: now) { _, _ in
            .says(
                .grant(
                    Grant(
                        id: grantID(key: key), entitlement: wanted.entitlement,
                        from: wanted.from, until: wanted.until, reason: wanted.reason)))
        }
    }

    /// The proposal that takes a grant back.
    static func endGrant(_ id: String, of customer: String, now: Instant) -> Proposal {
        command(on: customer, kind: .grantRevoked, key: "endGrant/\(id)", at: now, now: now) {
            known, _ in
            known.grants[id] == nil
                ? .refused(.grantUnknown) : .says(.grantEnd(GrantEnd(id: id, at: now)))
        }
    }

    /// The proposal that makes a customer read as another.
    static func merge(_ customer: String, into: String, at: Instant, key: String, now: Instant)
        -> Proposal
    {
        command(on: customer, and: into, kind: .merged, key: key, at: at, now: now) {
            known, other in
            let isElsewhere = other.merges.contains { at < $0.until ?? .distantFuture }
            if known.number == other.number || isElsewhere { return .refused(.mergeCircular) }
            switch known.merged(at: at) {
            case nil: return .says(.merge(Merge(into: other.number, at: at)))
            case other.number: return .isSoAlready
            default: return .refused(.mergedElsewhere)
            }
        }
    }

    /// The proposal that makes a merged customer read as itself again.
    static func unmerge(_ customer: String, from: String, at: Instant, key: String, now: Instant)
        -> Proposal
    {
        command(on: customer, and: from, kind: .unmerged, key: key, at: at, now: now) {
            known, other in
            if known.merged(at: at) == other.number {
                return .says(.unmerge(Merge(into: other.number, at: at)))
            }
            let wasMerged = known.merges.contains { $0.customer == other.number }
            return wasMerged ? .isSoAlready : .refused(.notMerged)
        }
    }

    /// A command on the stream of a customer, decided with what is known of it and of another.
    private static func command(
        on customer: String, and other: String? = nil, kind: Kind, key: String, at: Instant,
        now: Instant,
        _ judge: @escaping @Sendable (Customer, Customer) -> Verdict
    ) -> Proposal {
        let customers = [customer] + (other.map { [$0] } ?? [])
        return Proposal(
            customers: customers, keys: [key],
            streams: { known in
                customers.compactMap { known.customers[$0].map(StreamID.customer) }
            },
            decide: { known in
                guard let number = known.customers[customer] else { return .append([]) }
                let stream = StreamID.customer(number)
                let subscription = known.subscription(stream)
                guard subscription.position(of: key) == nil else { return .append([]) }
                let second = other.flatMap { known.customers[$0] } ?? number
                switch judge(
                    subscription.customer, known.subscription(.customer(second)).customer)
                {
                case .refused(let objection): return .refuse(objection)
                case .isSoAlready: return .append([])
                case .says(let content):
                    return .append([
                        Event(
                            kind: kind, stream: stream, key: key, subject: second, occurredAt: at,
                            observedAt: now, source: .command, content: content)
                    ])
                }
            })
    }
}
