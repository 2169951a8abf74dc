/// What an observation adds to what is known of its line.
///
/// - Shape: empty when every part of it is held already. The order is notice, transaction,
///   renewal info.
public func decide(_ observation: Observation, given subscription: Subscription) -> [Event] {
    var events: [Event] = []
    if let notice = observation.notice, subscription.held[notice.uuid] == nil {
        events.append(observation.event(of: notice, given: subscription))
    }
    if let stated = observation.transaction, subscription.held[stated.fingerprint.hex] == nil {
        events.append(observation.event(of: stated, given: subscription))
    }
    if let stated = observation.renewal, subscription.held[stated.fingerprint.hex] == nil {
        events.append(observation.event(of: stated, given: subscription))
    }
    return events
}

extension Observation {
    /// The keys under which the record would hold the parts.
    public var keys: [String] {
        var keys: [String] = []
        if let notice { keys.append(notice.uuid) }
        if let transaction { keys.append(transaction.fingerprint.hex) }
        if let renewal { keys.append(renewal.fingerprint.hex) }
        return keys
    }

    fileprivate func event(of notice: Notice, given subscription: Subscription) -> Event {
        var notice = notice
        notice.repeats = [transaction?.fingerprint, renewal?.fingerprint].compactMap { $0 }
            .filter { fingerprint in
                subscription.source(of: fingerprint).map { source < $0 } ?? false
            }
        return Event(
            kind: .notified, stream: notice.stream, key: notice.uuid,
            environment: notice.environment, occurredAt: notice.signedAt,
            signedAt: notice.signedAt, observedAt: observedAt, source: source, evidence: evidence,
            content: .notice(notice))
    }

    fileprivate func event(
        of stated: Stated<TransactionStatement>, given subscription: Subscription
    ) -> Event {
        let statement = stated.content
        let copy = Copy(statement, stated.fingerprint, from: source)
        let copies = subscription.transactions[statement.transaction]
        let before = copies?.predecessor(of: copy)
        var event = Event(
            kind: .amended, stream: statement.stream, key: stated.fingerprint.hex,
            environment: statement.environment, subject: statement.token,
            occurredAt: statement.purchasedAt, signedAt: statement.signedAt,
            observedAt: observedAt, source: source, evidence: evidence,
            content: .transaction(statement))
        if let before, before.content.saying == statement.saying, statement.flags.isEmpty {
            event.kind = .confirmed
            event.occurredAt = statement.signedAt
            event.content = .confirmation(
                Confirmation(statement: before.fingerprint, signedAt: statement.signedAt))
        } else if let before {
            event.kind = statement.kind(after: before.content)
        } else if copies == nil {
            event.kind = statement.kindAtFirstSight(notice: notice)
        }
        if event.kind == .revoked, let revokedAt = statement.revokedAt {
            event.occurredAt = revokedAt
        } else if event.kind == .reversed {
            event.occurredAt = statement.signedAt
        }
        return event
    }

    fileprivate func event(
        of stated: Stated<RenewalStatement>, given subscription: Subscription
    ) -> Event {
        let statement = stated.content
        let copy = Copy(statement, stated.fingerprint, from: source)
        let before = subscription.renewals.predecessor(of: copy)
        var event = Event(
            kind: .renewalChanged, stream: statement.stream, key: stated.fingerprint.hex,
            environment: statement.environment, occurredAt: statement.signedAt,
            signedAt: statement.signedAt, observedAt: observedAt, source: source,
            evidence: evidence, content: .renewal(statement))
        if let before, before.content.saying == statement.saying, statement.flags.isEmpty {
            event.kind = .confirmed
            event.content = .confirmation(
                Confirmation(statement: before.fingerprint, signedAt: statement.signedAt))
        } else {
            event.kind = statement.kind(after: before?.content, notice: notice)
        }
        return event
    }
}

extension TransactionStatement {
    fileprivate func kindAtFirstSight(notice: Notice?) -> Kind {
        if revokedAt != nil { return .revoked }
        if notice?.subtype == "BILLING_RECOVERY" { return .recovered }
        if isUpgraded == true || notice?.subtype == "UPGRADE" { return .upgraded }
        if reason == "RENEWAL" { return .renewed }
        return transaction == original || reason == "PURCHASE" ? .purchased : .renewed
    }

    fileprivate func kind(after before: TransactionStatement) -> Kind {
        if revokedAt != nil, before.revokedAt == nil { return .revoked }
        if revokedAt == nil, before.revokedAt != nil, !isPartial { return .reversed }
        if let expiresAt, let earlier = before.expiresAt, expiresAt > earlier { return .extended }
        if isUpgraded == true, before.isUpgraded != true { return .upgraded }
        return .amended
    }
}

extension RenewalStatement {
    fileprivate func kind(after before: RenewalStatement?, notice: Notice?) -> Kind {
        if isInBillingRetry == true, before?.isInBillingRetry != true { return .billingFailed }
        // Apple's word that it ended may come without the reason; while it tries to collect, the
        // reason is there and the end is not.
        if saysItEnded, before?.saysItEnded != true { return .lapsed }
        if notice?.type == "EXPIRED", isInBillingRetry != true { return .lapsed }
        guard let before else { return .renewalChanged }
        let changed =
            willRenew != before.willRenew || renewsProduct != before.renewsProduct
            || priceIncreaseStatus != before.priceIncreaseStatus
            || offerIdentifier != before.offerIdentifier || offerType != before.offerType
            || commitmentWillRenew != before.commitmentWillRenew
            || commitmentRenewsProduct != before.commitmentRenewsProduct
            || renewalQuantity != before.renewalQuantity
        return changed ? .renewalChanged : .amended
    }

    private var saysItEnded: Bool { expirationIntent != nil && isInBillingRetry != true }
}
