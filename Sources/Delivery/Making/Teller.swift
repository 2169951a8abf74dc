import Domain
import Ledger

/// Makes outgoing events of entries, in order, and of the ends that time brings.
struct Teller {
    let wording: Wording
    var surroundings: Surroundings

    /// The events that an entry makes, in the order in which they leave.
    ///
    /// One for each customer whom it concerns: for the old owner and the new one, when something
    /// goes from one to the other. What repeats only what is known makes none.
    mutating func events(of entry: Entry) -> [Draft] {
        let stream = entry.event.stream
        guard stream.line != nil || stream.person != nil else {
            surroundings.apply(entry)
            return []
        }
        let before = told(stream, at: entry.recordedAt)
        surroundings.apply(entry)
        let after = told(stream, at: entry.recordedAt)
        if entry.onlyRepeats(before.line, after.line) { return [] }
        let common = (wording.entry(entry).members ?? []) + facts(of: entry, before, after)
        var drafts: [Draft] = []
        for (customer, counterpart) in customers(of: entry, before, after) {
            var draft = Draft(
                position: entry.position, kind: entry.event.kind, stream: stream,
                environment: entry.event.environment, customer: customer,
                counterpart: counterpart, occurredAt: entry.event.occurredAt,
                body: .object(common))
            if counterpart != nil {
                draft.isGain = stream.customer.map { $0 != customer } ?? (customer == after.owner)
            }
            drafts.append(finished(draft, at: entry.recordedAt))
        }
        return drafts
    }

    /// The event of an end that time brought.
    mutating func event(
        of end: LineEnd, _ stream: StreamID, knownAt position: Position, now: Instant
    ) -> Draft? {
        guard let (environment, original) = stream.line, surroundings.line(stream) != nil else {
            return nil
        }
        let before = told(stream, at: end.instant.adding(milliseconds: -1))
        let after = told(stream, at: end.instant)
        let members: [JSON.Member] =
            [
                .init("position", .integer(position.number)), .init("kind", .string(end.kind.name)),
                .init("stream", .string(stream.name)),
                .init("revision", .integer(surroundings.revision(stream))),
                .init("environment", .string(environment.name)),
                .init("occurredAt", .string(end.instant.description)), .init("signedAt", .null),
                .init("observedAt", .string(end.instant.description)),
                .init("recordedAt", .string(now.description)), .init("source", .string("time")),
                .init("evidence", .null),
                .init(
                    "body",
                    JSON(members: [
                        end.kind.name: JSON(members: [
                            "originalTransactionId": .string(original),
                            "instant": .integer(end.instant.milliseconds),
                        ])
                    ])),
            ] + facts(before, after, period: after.period(at: end.instant))
        let draft = Draft(
            position: position, kind: end.kind, stream: stream, environment: environment,
            customer: after.owner, occurredAt: end.instant, isTimed: true, body: .object(members))
        return finished(draft, at: end.instant)
    }

    /// An event with what its customer may use after it.
    private mutating func finished(_ draft: Draft, at instant: Instant) -> Draft {
        var entitlements: [Entitlement] = []
        if let customer = draft.customer {
            entitlements = surroundings.entitlements(
                of: customer, draft.environment ?? .production, at: instant)
        }
        var draft = draft
        draft.body = .object(
            (draft.body.members ?? []) + [
                .init("at", .moment(instant)),
                .init(
                    "entitlementsAfter",
                    .object(
                        entitlements.map { JSON.Member($0.name, wording.entitlement($0)) })),
            ])
        return draft
    }

    /// A line and its owner, or a token's owner, as known at this moment.
    private struct Told {
        var line: Line?
        var settings: Settings
        var owner: CustomerNumber?
        var instant: Instant

        func period(at instant: Instant) -> Period? { line?.period(at: instant) }
    }

    private mutating func told(_ stream: StreamID, at instant: Instant) -> Told {
        let line = stream.line == nil ? nil : surroundings.line(stream)
        let owner =
            stream.line == nil
            ? surroundings.linked(stream) : surroundings.owner(of: stream, at: instant)
        return Told(
            line: line, settings: surroundings.settings, owner: owner, instant: instant)
    }

    /// Whom an entry concerns, each with whom the thing went to or came from.
    private func customers(of entry: Entry, _ before: Told, _ after: Told)
        -> [(CustomerNumber?, CustomerNumber?)]
    {
        if let customer = entry.event.stream.customer {
            switch entry.event.content {
            case .merge(let merge), .unmerge(let merge):
                return [(customer, merge.into), (merge.into, customer)]
            default: return [(surroundings.reader(of: customer, at: entry.recordedAt), nil)]
            }
        }
        guard let old = before.owner, old != after.owner else { return [(after.owner, nil)] }
        guard let new = after.owner else { return [(old, nil)] }
        return [(old, new), (new, old)]
    }

    /// What an entry's line is now, and what the entry changed of it.
    private func facts(of entry: Entry, _ before: Told, _ after: Told) -> [JSON.Member] {
        var period = after.period(at: entry.recordedAt) ?? after.line?.periods.last
        if case .transaction(let statement) = entry.event.content {
            period =
                after.line?.periods.first { $0.aliases.contains(statement.transaction) } ?? period
        }
        return facts(before, after, period: period)
    }

    private func facts(_ before: Told, _ after: Told, period: Period?) -> [JSON.Member] {
        guard let line = after.line else { return [] }
        let now = LineSummary(line, after.settings, at: after.instant)
        let then = before.line.map { LineSummary($0, before.settings, at: before.instant) }
        var members: [JSON.Member] = [
            .init("line", now.rendered), .init("before", now.before(then)),
        ]
        if let period { members += period.facts }
        return members
    }
}
