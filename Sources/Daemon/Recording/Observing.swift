import AppStore
import Crypto
import Domain
import Ledger

/// Makes proposals of what was observed.
enum Observing {
    /// The proposal that records an observation, and who presented it.
    static func proposal(
        _ observation: Observation, _ signed: SignedEvidence, presenter: String?
    ) -> Proposal {
        var observation = observation
        observation.evidence = Fingerprint(hex: signed.digest.description)
        let settled = observation
        return Proposal(
            tokens: settled.tokens, customers: presenter.map { [$0] } ?? [],
            evidence: evidence(signed, source: settled.source, receivedAt: settled.observedAt),
            keys: settled.keys, companions: { companions(settled, presenter: presenter, $0) },
            streams: { streams(settled, presenter: presenter, $0) },
            decide: { decision(settled, presenter: presenter, $0) })
    }

    /// The proposal that records all that an answer about a receipt says, or nothing of it.
    static func proposal(_ answer: ReceiptReading, presenter: String?) -> Proposal {
        let parts = answer.observations
        return Proposal(
            tokens: parts.flatMap(\.tokens), customers: presenter.map { [$0] } ?? [],
            evidence: evidence(
                answer.text, answer.digest, source: answer.source, receivedAt: answer.receivedAt),
            keys: parts.flatMap(\.keys),
            companions: { known in
                parts.flatMap { companions($0, presenter: presenter, known) }
            },
            streams: { known in
                Array(Set(parts.flatMap { streams($0, presenter: presenter, known) }))
            },
            decide: { decision(parts, presenter: presenter, $0) })
    }

    /// What several observations add, each decided after the ones before it.
    private static func decision(
        _ parts: [Observation], presenter: String?, _ known: Known
    ) -> Decision {
        var known = known
        var events: [Event] = []
        for part in parts {
            guard case .append(let more) = decision(part, presenter: presenter, known) else {
                continue
            }
            for event in more {
                let before = known.subscription(event.stream)
                known.streams[event.stream, default: before].apply(
                    Entry(
                        position: before.position, revision: before.revision + 1,
                        recordedAt: part.observedAt, event: event))
            }
            events += more
        }
        return .append(events)
    }

    /// The compact form of signed text.
    static func evidence(_ signed: SignedEvidence, source: Source, receivedAt: Instant)
        -> Evidence
    {
        evidence(signed.text, signed.digest, source: source, receivedAt: receivedAt)
    }

    private static func evidence(
        _ text: [UInt8], _ digest: Digest, source: Source, receivedAt: Instant
    ) -> Evidence {
        let template = EvidenceTemplate.make(text)
        var certificates: [Fingerprint: [UInt8]] = [:]
        for (digest, header) in template.certificates {
            certificates[Fingerprint(hex: digest.description)] = header
        }
        return Evidence(
            digest: Fingerprint(hex: digest.description), receivedAt: receivedAt,
            source: source, template: template.bytes, certificates: certificates,
            tokens: template.tokens)
    }

    private static func streams(_ observation: Observation, presenter: String?, _ known: Known)
        -> [StreamID]
    {
        guard let stream = observation.stream else { return [] }
        guard presenter != nil else { return [stream] }
        var streams = [stream]
        // Whose the line is depends on whose its tokens are.
        if let token = observation.transaction?.content.appAccountToken?.lowercased(),
            let number = known.tokens[token]
        {
            streams.append(.token(number))
        }
        if let subscription = known.streams[stream] {
            streams += subscription.line().tokens.map(StreamID.token)
        }
        return streams
    }

    /// What a presenter's claim to an observation is recorded as.
    private static func companions(
        _ observation: Observation, presenter: String?, _ known: Known
    ) -> [(stream: StreamID, key: String)] {
        guard let customer = presenter.flatMap({ known.customers[$0] }),
            let stream = observation.stream
        else { return [] }
        let token = observation.transaction?.content.appAccountToken?.lowercased()
        let number = token.flatMap { known.tokens[$0] }
        return [(stream, presentationKey(customer, observation))]
            + (number.map { [(.token($0), linkKey(customer))] } ?? [])
    }

    private static func linkKey(_ customer: CustomerNumber) -> String {
        "presented/\(customer.number)"
    }

    private static func presentationKey(_ customer: CustomerNumber, _ observation: Observation)
        -> String
    {
        "presented/\(customer.number)/\(observation.keys.last ?? "")"
    }

    private static func decision(
        _ observation: Observation, presenter: String?, _ known: Known
    ) -> Decision {
        guard let stream = observation.stream else { return .append([]) }
        let numbered = observation.numbered(known.tokens)
        let before = known.subscription(stream)
        var events = decide(numbered, given: before)
        guard let customer = presenter.flatMap({ known.customers[$0] }) else {
            return .append(events)
        }
        if let token = numbered.transaction?.content.token, token != customer,
            known.subscription(.token(token)).linkedCustomer == nil
        {
            events.append(link(token, to: customer, observation))
            return .append(events)
        }
        if let presented = presentation(numbered, by: customer, after: events, known) {
            events.append(presented)
        }
        return .append(events)
    }

    /// Presenting a transaction whose token is bound to nobody binds the token (R13).
    private static func link(
        _ token: CustomerNumber, to customer: CustomerNumber, _ observation: Observation
    ) -> Event {
        Event(
            kind: .linked, stream: .token(token), key: linkKey(customer),
            subject: customer, occurredAt: observation.observedAt,
            observedAt: observation.observedAt, source: observation.source,
            content: .tokenLink(TokenLink(token: token, customer: customer)))
    }

    /// The presenter's claim, unless the line is the presenter's already or the claim is known.
    private static func presentation(
        _ observation: Observation, by customer: CustomerNumber, after events: [Event],
        _ known: Known
    ) -> Event? {
        guard let stream = observation.stream, observation.transaction != nil else { return nil }
        var subscription = known.subscription(stream)
        for event in events {
            subscription.apply(
                Entry(
                    position: subscription.position, revision: subscription.revision + 1,
                    recordedAt: observation.observedAt, event: event))
        }
        let line = subscription.line()
        let now = observation.observedAt
        let owner = line.owner(at: now, known)
        let isTaking = known.settings.rules(at: now).ownership == .lastPresenter
        if owner == customer { return nil }
        if !isTaking, line.presentations.contains(where: { $0.customer == customer }) {
            return nil
        }
        let event = Event(
            kind: isTaking && owner != nil ? .transferred : .linked, stream: stream,
            key: presentationKey(customer, observation), environment: line.environment,
            subject: customer, occurredAt: now, observedAt: now, source: observation.source,
            content: .presentation(Presentation(customer: customer, at: now)))
        return subscription.position(of: event.key) == nil ? event : nil
    }
}

extension Line {
    /// Whose the line is at an instant, by what the writer knows.
    func owner(at instant: Instant, _ known: Known) -> CustomerNumber? {
        var links: TokenLinks = [:]
        for token in tokens { links[token] = known.subscription(.token(token)).linkedCustomer }
        let tenures = tenures(links, known.settings)
        return (tenures.last { $0.holds(at: instant) } ?? tenures.first)?.customer
    }
}

extension Observation {
    /// The account tokens that it names, in lower case.
    var tokens: [String] {
        [transaction?.content.appAccountToken, renewal?.content.appAccountToken]
            .compactMap { $0?.lowercased() }
    }

    /// The observation with numbers in place of account tokens.
    func numbered(_ numbers: [String: CustomerNumber]) -> Observation {
        var numbered = self
        if let token = transaction?.content.appAccountToken?.lowercased() {
            numbered.transaction?.content.token = numbers[token]
            numbered.transaction?.content.appAccountToken = nil
        }
        if let token = renewal?.content.appAccountToken?.lowercased() {
            numbered.renewal?.content.token = numbers[token]
            numbered.renewal?.content.appAccountToken = nil
        }
        return numbered
    }
}
