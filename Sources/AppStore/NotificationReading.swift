import Domain

/// A notification and the texts signed inside it, each proved.
struct NotificationParts {
    let outer: VerifiedJWS
    let envelope: Envelope
    let transaction: VerifiedJWS?
    let renewal: VerifiedJWS?
    let appTransaction: VerifiedJWS?

    /// What is signed inside it.
    var nested: [VerifiedJWS] { [transaction, renewal, appTransaction].compactMap(\.self) }

    /// Proves what is nested in a proved notification: its signature says nothing about them.
    ///
    /// A nested text without a date is as old as the notification around it.
    init(_ outer: VerifiedJWS, verifier: Verifier) throws(Failure) {
        func verify(_ text: String?, _ name: String) throws(Failure) -> VerifiedJWS? {
            guard let text else { return nil }
            do throws(Refusal) {
                return try verifier.verify(Array(text.utf8), receivedAt: outer.effectiveAt)
            } catch {
                switch error {
                case .malformed(let detail):
                    throw .held(Hold(.unparsable, "\(name): \(detail)"))
                case .forged(let forgery, let detail):
                    throw .forged(forgery, "\(name): \(detail)")
                }
            }
        }
        self.outer = outer
        let data = outer.json?["data"]
        let appData = outer.json?["appData"]
        // Signatures are judged before what is said, so this reads what it can of the envelope.
        transaction = try verify(data?["signedTransactionInfo"]?.text, "signedTransactionInfo")
        renewal = try verify(data?["signedRenewalInfo"]?.text, "signedRenewalInfo")
        appTransaction = try verify(
            appData?["signedAppTransactionInfo"]?.text, "signedAppTransactionInfo")
        envelope = try Failure.lift { () throws(Hold) in try Envelope(outer.json) }
    }
}

/// Translates a notification into one observation.
struct NotificationReading {
    let apps: Apps
    let receivedAt: Instant
    let source: Source

    /// The notice and the statements in it.
    func observation(_ parts: NotificationParts) throws(Hold) -> Observation {
        let envelope = parts.envelope
        let signedAt = parts.outer.signedAt ?? receivedAt
        var transaction: Draft<TransactionStatement>?
        if let jws = parts.transaction {
            transaction = try Draft(transaction: jws, fallbackSignedAt: signedAt)
        }
        var renewal: Draft<RenewalStatement>?
        if let jws = parts.renewal {
            renewal = try Draft(renewal: jws, fallbackSignedAt: signedAt)
        }
        if let one = transaction?.content.original, let other = renewal?.content.original,
            one != other
        {
            throw Hold(.unparsable, "transaction and renewal info are of different lines")
        }
        let appTransaction = try parts.appTransaction.map { jws throws(Hold) in
            try Reading(jws.json)
        }
        let app = try judgeApp(
            envelope, transaction: transaction?.content.bundle,
            appTransaction: appTransaction?.identifier("bundleId"))
        let environment = try apps.environment(
            [
                envelope.environment, transaction?.environment, renewal?.environment,
                appTransaction?.identifier("receiptType").map(Environment.init),
            ], of: app)
        try judgeNumber(envelope, app: app, environment: environment)
        try judgeDates(parts, transaction, renewal)
        let stated = transaction?.settled(environment, receivedAt: receivedAt)
        let intent = renewal?.settled(environment, receivedAt: receivedAt)
        return Observation(
            notice: notice(
                parts, app, environment, transaction: stated?.content,
                renewal: intent?.content),
            transaction: stated, renewal: intent,
            source: source, observedAt: receivedAt)
    }

    private func judgeApp(
        _ envelope: Envelope, transaction: String?, appTransaction: String?
    ) throws(Hold) -> App {
        let app = try apps.app(envelope.bundle)
        for nested in [transaction, appTransaction] where nested != nil && nested != app.bundleId {
            throw Hold(.wrongApp, "the parts disagree about bundleId")
        }
        return app
    }

    /// Apple's number of the app is dependable in Production alone.
    private func judgeNumber(
        _ envelope: Envelope, app: App, environment: Environment
    ) throws(Hold) {
        guard environment == .production else { return }
        guard let number = app.appAppleId, envelope.appAppleId == number else {
            throw Hold(.wrongApp, "appAppleId is not the app's")
        }
    }

    private func judgeDates(
        _ parts: NotificationParts, _ transaction: Draft<TransactionStatement>?,
        _ renewal: Draft<RenewalStatement>?
    ) throws(Hold) {
        for jws in [parts.outer, parts.appTransaction].compactMap(\.self) {
            if let signedAt = jws.signedAt {
                try Draft<RenewalStatement>.judgeSigning(signedAt, receivedAt: receivedAt)
            }
        }
        try transaction?.judgeSigning(receivedAt: receivedAt)
        try renewal?.judgeSigning(receivedAt: receivedAt)
        if let signedAt = parts.outer.signedAt, !signedAt.isInRange {
            throw Hold(.outOfRange, "signedDate is not between 1970 and 9999")
        }
        try transaction?.judgeDates()
        try renewal?.judgeDates()
    }

    private func notice(
        _ parts: NotificationParts, _ app: App, _ environment: Environment,
        transaction: TransactionStatement?, renewal: RenewalStatement?
    ) -> Notice {
        let envelope = parts.envelope
        var notice = Notice(
            uuid: envelope.uuid, type: envelope.type,
            signedAt: parts.outer.signedAt ?? receivedAt, environment: environment,
            bundle: app.bundleId)
        notice.subtype = envelope.subtype
        notice.original = transaction?.original ?? renewal?.original
        notice.transaction = transaction?.transaction
        notice.renewalSignedAt = renewal?.signedAt
        notice.renewsAt = renewal?.renewsAt
        notice.status = envelope.status
        notice.consumptionReason = envelope.consumptionReason
        notice.details = envelope.details
        notice.flags =
            (envelope.isKnownType ? [] : ["unknown_type"])
            + Caveats.flags(
                signedAt: parts.outer.signedAt, receivedAt: receivedAt,
                isNonCanonical: parts.outer.isNonCanonical)
        return notice
    }
}
