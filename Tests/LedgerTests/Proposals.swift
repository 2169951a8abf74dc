import Crypto
import Domain
import Ledger

/// What a store could have said of a line: its purchases, numbered.
struct Purchase: Sendable {
    var line: String
    var number = 1
    var token: String?
    var product = "pro"
    var evidence: Evidence?

    var stream: StreamID { .line(.production, line) }
    var key: String { fingerprint.hex }
    private var fingerprint: Fingerprint {
        Fingerprint(hex: SHA256.digest(of: "\(line)/\(number)/\(product)").description)
    }

    var proposal: Proposal {
        let purchase = self
        return Proposal(
            tokens: token.map { [$0] } ?? [], evidence: evidence, keys: [key],
            streams: { _ in [purchase.stream] },
            decide: { known in
                let observation = purchase.observation(known)
                return .append(decide(observation, given: known.subscription(purchase.stream)))
            })
    }

    private func observation(_ known: Known) -> Observation {
        let instant = base.adding(days: Int64(number))
        var statement = TransactionStatement(
            transaction: "\(line)-\(number)", original: line, bundle: "org.example.app",
            product: product, purchasedAt: instant, signedAt: instant,
            environment: .production)
        statement.token = token.flatMap { known.tokens[$0] }
        return Observation(
            transaction: Stated(statement, fingerprint), source: .notification,
            observedAt: base, evidence: evidence?.digest)
    }
}

/// Commands of a backend.
enum Command {
    /// Binds a token to a customer, and refuses to take it from another.
    static func bind(_ token: String, to customer: String, transfer: Bool = false) -> Proposal {
        Proposal(
            tokens: [token], customers: [customer],
            streams: { known in known.tokens[token].map { [.token($0)] } ?? [] },
            decide: { known in
                guard let number = known.tokens[token], let owner = known.customers[customer]
                else { return .append([]) }
                let subscription = known.subscription(.token(number))
                let current = subscription.linkedCustomer
                if current == owner { return .append([]) }
                if current != nil, !transfer { return .refuse(.tokenBoundToOther) }
                return .append([
                    Event(
                        kind: .linked, stream: .token(number),
                        key: "bound/\(owner.number)/\(subscription.revision + 1)",
                        subject: owner, occurredAt: base, observedAt: base, source: .command,
                        content: .tokenLink(TokenLink(token: number, customer: owner)))
                ])
            })
    }

    /// Needs the numbers of a customer and a token, and records something of the customer.
    static func meet(customer: String? = nil, token: String? = nil) -> Proposal {
        Proposal(
            tokens: token.map { [$0] } ?? [], customers: customer.map { [$0] } ?? [],
            streams: { known in
                (Array(known.tokens.values) + known.customers.values).map(StreamID.customer)
            },
            decide: { known in
                let number =
                    customer.flatMap { known.customers[$0] } ?? token.flatMap { known.tokens[$0] }
                guard let number else { return .append([]) }
                let revision = known.subscription(.customer(number)).revision
                return .append([
                    note(in: .customer(number), key: "met/\(revision + 1)", subject: number)
                ])
            })
    }

    /// Records an event as it is, without asking whether it is held.
    static func note(
        in stream: StreamID, key: String, subject: CustomerNumber? = nil
    ) -> Event {
        Event(
            kind: .unrecognized, stream: stream, key: key, subject: subject, occurredAt: base,
            observedAt: base, source: .command,
            content: .unrecognized(JSON(members: ["said": .integer(1)])))
    }

    /// Records events as they are.
    static func append(_ events: [Event]) -> Proposal {
        Proposal(streams: { _ in events.map(\.stream) }, decide: { _ in .append(events) })
    }
}

extension Evidence {
    /// A signed text with a certificate header and a token.
    static func sample(_ text: String, header: String, tokens: [String] = []) -> Evidence {
        Evidence(
            digest: fingerprint(text), receivedAt: base, source: .notification,
            template: Array(text.utf8),
            certificates: [fingerprint(header): Array(header.utf8)], tokens: tokens)
    }
}

/// The SHA-256 of a text.
func fingerprint(_ text: String) -> Fingerprint {
    Fingerprint(hex: SHA256.digest(of: text).description)
}
