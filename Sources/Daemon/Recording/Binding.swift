import Domain
import Ledger

/// Makes proposals of the backend's commands about ownership.
enum Binding {
    /// The proposal that binds an account token to a customer.
    static func token(_ token: String, to customer: String, transfer: Bool, now: Instant)
        -> Proposal
    {
        Proposal(
            tokens: [token], customers: [customer],
            streams: { known in known.tokens[token].map { [.token($0)] } ?? [] },
            decide: { known in
                guard let number = known.tokens[token], let owner = known.customers[customer]
                else { return .append([]) }
                let subscription = known.subscription(.token(number))
                let current = subscription.linkedCustomer
                if current == owner || number == owner { return .append([]) }
                if current != nil, !transfer { return .refuse(.tokenBoundToOther) }
                return .append([
                    Event(
                        kind: current == nil ? .linked : .transferred, stream: .token(number),
                        key: "bound/\(owner.number)/\(subscription.revision + 1)",
                        subject: owner, occurredAt: now, observedAt: now, source: .command,
                        content: .tokenLink(TokenLink(token: number, customer: owner)))
                ])
            })
    }

    /// The proposal that binds or transfers a line.
    static func line(
        _ environment: Environment, _ original: String, to customer: String, from: Instant?,
        now: Instant
    ) -> Proposal {
        let stream = StreamID.line(environment, original)
        return Proposal(
            customers: [customer],
            streams: { known in
                [stream] + (known.streams[stream]?.line().tokens.map(StreamID.token) ?? [])
            },
            decide: { known in
                guard let owner = known.customers[customer] else { return .append([]) }
                let subscription = known.subscription(stream)
                let line = subscription.line()
                let current = line.owner(at: from ?? now, known)
                if current == owner { return .append([]) }
                if line.periods.isEmpty,
                    line.bindings.last == LineBinding(customer: owner, from: from)
                {
                    return .append([])
                }
                let start = current == nil ? from : from ?? now
                return .append([
                    Event(
                        kind: current == nil ? .linked : .transferred, stream: stream,
                        key: "bound/\(owner.number)/\(subscription.revision + 1)",
                        environment: environment, subject: owner, occurredAt: start ?? now,
                        observedAt: now, source: .command,
                        content: .binding(LineBinding(customer: owner, from: start)))
                ])
            })
    }
}
