import Crypto
import Domain
import Entitlements

extension JSON {
    /// An instant as the interface writes it; null for none.
    static func moment(_ instant: Instant?) -> JSON {
        guard let instant, instant != .distantFuture, instant != .distantPast else { return .null }
        return .string(instant.description)
    }

    /// A text; null for none.
    static func word(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
    /// A number; null for none.
    static func figure(_ number: Int64?) -> JSON { number.map(JSON.integer) ?? .null }
    /// A truth value; null for none.
    static func verdict(_ truth: Bool?) -> JSON { truth.map(JSON.bool) ?? .null }
}

extension Entitlement {
    /// The verdict as the interface writes it.
    var rendered: JSON {
        var members: [JSON.Member] = [
            .init("active", .bool(mayUse)), .init("state", .string(state.rawValue)),
            .init("since", .moment(since)), .init("until", .moment(until)),
            .init("willRenew", .verdict(willRenew)), .init("product", .word(product)),
            .init("because", .array(because.map(\.rendered))),
        ]
        if !flags.isEmpty { members.append(.init("flags", .array(flags.map(JSON.string)))) }
        return .object(members)
    }
}

extension Entitlement.Reason {
    var rendered: JSON {
        let source: [JSON.Member] =
            if let grant {
                [.init("grant", .string(grant))]
            } else {
                [
                    .init("line", .word(line)), .init("transaction", .word(transaction)),
                    .init("product", .word(product)),
                ]
            }
        return .object(source + [.init("from", .moment(from)), .init("until", .moment(until))])
    }
}

/// A line with what an answer about it needs.
struct LineAnswer {
    let line: Line
    let links: TokenLinks
    let settings: Settings
    let position: Position
    let names: [CustomerNumber: String]

    /// The line at an instant as the interface writes it.
    func rendered(at instant: Instant) -> JSON {
        let spans = line.spans(settings)
        let run = line.run(at: instant, spans: spans)
        let period = line.period(at: instant)
        let intent = line.intent(at: instant)
        let span = spans.last { $0.from <= instant && instant < $0.until }
        var flags = Set(span?.flags ?? period?.flags ?? [])
        if let period, settings.product(period.product, at: instant) == nil {
            flags.insert("unmapped")
        }
        var members: [JSON.Member] = [
            .init("environment", .string(line.environment.name)),
            .init("originalTransactionId", .string(line.original)),
            .init("bundleId", .word(line.bundle)), .init("group", .word(line.group)),
            .init("state", .string(line.state(at: instant, spans: spans).rawValue)),
            .init("product", .word(period?.product)), .init("since", .moment(run?.since)),
            .init("until", .moment(run?.until)),
            .init("willRenew", .verdict(intent?.willRenew)),
            .init("nextProduct", .word(intent?.nextProduct)),
            .init("ownership", .word(period?.ownership)), .init("owners", owners),
            .init("periods", .array(line.periods.map { rendered($0, spans) })),
            .init("flags", .array(flags.sorted().map(JSON.string))),
            .init("at", .moment(instant)), .init("position", .integer(position.number)),
        ]
        if let previous = line.previousOriginal {
            members.append(.init("previousOriginalTransactionId", .string(previous)))
        }
        if let commitment = line.commitment(at: instant, spans: spans) {
            members.append(.init("commitment", commitment.rendered))
        }
        return .object(members)
    }

    private var owners: JSON {
        .array(
            line.tenures(links, settings).map { tenure in
                .object([
                    .init("customer", .word(names[tenure.customer])),
                    .init("from", .moment(tenure.from)), .init("until", .moment(tenure.until)),
                ])
            })
    }

    /// One of the line's periods as the interface writes it.
    func rendered(_ period: Period) -> JSON {
        rendered(period, line.spans(settings))
    }

    private func rendered(_ period: Period, _ spans: [Span]) -> JSON {
        let own = spans.filter { line.periods[$0.period].transaction == period.transaction }
        let base = own.first { $0.state != .grace }
        var members: [JSON.Member] = [
            .init("transaction", .string(period.transaction)),
            .init("webOrderLineItem", .word(period.webOrderLineItem)),
            .init("product", .string(period.product)), .init("from", .moment(period.from)),
            .init("until", .moment(base?.until ?? period.until)),
            .init("class", .string(period.periodClass.rawValue)),
            .init("priceMilliunits", .figure(period.priceMilliunits)),
            .init("currency", .word(period.currency)),
            .init("revoked", .bool(period.revokedAt != nil)),
            .init("refund", period.refund?.rendered ?? .null),
        ]
        if period.aliases.count > 1 {
            members.append(.init("aliases", .array(period.aliases.map(JSON.string))))
        }
        if let grace = own.first(where: { $0.state == .grace }) {
            members.append(.init("graceUntil", .moment(grace.until)))
        }
        if let revokedAt = period.revokedAt {
            members.append(.init("revokedAt", .moment(revokedAt)))
        }
        if !period.seatPayments.isEmpty {
            members += [
                .init("seats", .figure(period.seats)),
                .init("payments", .array(period.seatPayments.map(\.rendered))),
            ]
        }
        return .object(members)
    }
}

extension Payment {
    /// What was charged once, as the interface writes it.
    fileprivate var rendered: JSON {
        .object([
            .init("transaction", .string(transaction)), .init("at", .moment(purchasedAt)),
            .init("seats", .figure(seats)), .init("revokedSeats", .figure(revokedSeats)),
            .init("priceMilliunits", .figure(priceMilliunits)), .init("currency", .word(currency)),
            .init("revoked", .bool(revokedAt != nil)), .init("refund", refund?.rendered ?? .null),
        ])
    }
}

extension Refund {
    /// What went back: the amount and the share of what was paid.
    fileprivate var rendered: JSON {
        .object([
            .init("at", .moment(at)), .init("share", .figure(share)),
            .init("priceMilliunits", .figure(priceMilliunits)),
        ])
    }
}

extension Commitment {
    fileprivate var rendered: JSON {
        var members: [JSON.Member] = [
            .init("until", .moment(until)), .init("willRenew", .verdict(willRenew)),
            .init("payment", .figure(payment)),
        ]
        if let payments { members.append(.init("payments", .integer(payments))) }
        return .object(members)
    }
}

extension Entry {
    /// The entry as the interface writes it.
    var rendered: JSON {
        .object([
            .init("position", .integer(position.number)), .init("kind", .string(event.kind.name)),
            .init("stream", .string(event.stream.name)), .init("revision", .integer(revision)),
            .init("environment", .word(event.environment?.name)),
            .init("occurredAt", .moment(event.occurredAt)),
            .init("signedAt", .moment(event.signedAt)),
            .init("observedAt", .moment(event.observedAt)),
            .init("recordedAt", .moment(recordedAt)),
            .init("source", .string(event.source.rawValue)),
            .init("evidence", .word(event.evidence?.hex)), .init("body", event.content.body),
        ])
    }

    /// What happened, in words for people.
    var story: String {
        switch event.content {
        case .transaction(let statement):
            let verb = event.kind.name
            var text = "\(verb): \(statement.product), transaction \(statement.transaction)"
            if let expiresAt = statement.expiresAt { text += ", until \(expiresAt)" }
            if let seats = statement.seats, let quantity = statement.quantity {
                text += ", \(quantity) seats"
                if let revoked = seats.revokedQuantity { text += ", \(revoked) of them taken back" }
            }
            if let revokedAt = statement.revokedAt { text += ", revoked at \(revokedAt)" }
            return text
        case .renewal(let statement):
            var text = "\(event.kind.name): "
            text += statement.willRenew == true ? "set to renew" : "not set to renew"
            if let product = statement.renewsProduct { text += " as \(product)" }
            if statement.commitmentWillRenew == false { text += ", until the commitment ends" }
            if statement.isInBillingRetry == true { text += ", billing is retried" }
            if let grace = statement.graceExpiresAt { text += ", grace until \(grace)" }
            return text
        case .notice(let notice): return notice.story
        case .confirmation: return "confirmed: the same statement, signed again"
        case .tokenLink: return "linked: the account token belongs to the customer"
        case .binding(let binding):
            return "\(event.kind.name): the line belongs to the customer"
                + (binding.from.map { " from \($0) on" } ?? " from its start on")
        case .presentation: return "\(event.kind.name): the customer's app presented the line"
        case .grant(let grant):
            let end = grant.until.map { "until \($0)" } ?? "without end"
            return "granted: \(grant.entitlement) from \(grant.from), \(end) (\(grant.reason))"
        case .grantEnd(let end): return "grantRevoked: nothing from \(end.at) on"
        case .merge(let merge): return "merged: reads as another customer from \(merge.at) on"
        case .unmerge(let merge): return "unmerged: reads as itself again from \(merge.at) on"
        case .settings: return "settings changed"
        case .catalog: return "catalogue changed"
        case .rates(let set): return "rates set: \(set.day), by \(set.publisher)"
        case .unrecognized, .unreadable: return "\(event.kind.name): not understood"
        }
    }
}

extension Notice {
    /// What Apple notified of, in words for people.
    fileprivate var story: String {
        var text = "notified: " + [type, subtype].compactMap { $0 }.joined(separator: " / ")
        guard type == "CONSUMPTION_REQUEST" else { return text }
        if let consumptionReason { text += ", because of \(consumptionReason)" }
        // Twelve hours to answer; five minutes in the sandbox.
        let time: Int64 = environment == .sandbox ? 300_000 : 43_200_000
        return text + ", to be answered by \(signedAt.adding(milliseconds: time))"
    }
}
