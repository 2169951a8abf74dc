import Domain

/// Turns signed text into observations, believing nothing that is not proved.
///
/// The checks run in a fixed order and the first failure is the reason: form, header, root,
/// certificates, purpose, signature (of the text and of every text signed inside it), payload, app,
/// environment, dates.
public struct Interpreter: Sendable {
    let apps: Apps
    let verifier: Verifier

    /// An interpreter for these apps.
    public init(apps: [App], verifier: Verifier) {
        self.apps = Apps(apps)
        self.verifier = verifier
    }

    /// What a signed notification says.
    public func notification(
        _ signedPayload: [UInt8], receivedAt: Instant, source: Source = .notification
    ) -> Outcome {
        interpret(signedPayload, receivedAt: receivedAt) { jws throws(Failure) in
            let parts = try NotificationParts(jws, verifier: verifier)
            let reading = NotificationReading(apps: apps, receivedAt: receivedAt, source: source)
            return (
                try Failure.lift { () throws(Hold) in try reading.observation(parts) },
                parts.nested
            )
        }
    }

    /// What a signed transaction says.
    ///
    /// The environment is that of the answer it came in; the transaction's own must be the same.
    public func transaction(
        _ signed: [UInt8], receivedAt: Instant, source: Source = .app,
        environment: Environment? = nil
    ) -> Outcome {
        interpret(signed, receivedAt: receivedAt) { jws throws(Failure) in
            try Failure.lift { () throws(Hold) in
                let draft = try Draft(transaction: jws, fallbackSignedAt: receivedAt)
                let app = try apps.app(draft.content.bundle)
                let environment = try apps.environment(
                    [draft.environment, environment], of: app)
                try draft.judgeSigning(receivedAt: receivedAt)
                try draft.judgeDates()
                return (
                    Observation(
                        transaction: draft.settled(environment, receivedAt: receivedAt),
                        source: source, observedAt: receivedAt), []
                )
            }
        }
    }

    /// What a signed renewal info says; it names no app.
    public func renewalInfo(
        _ signed: [UInt8], receivedAt: Instant, source: Source = .app,
        environment: Environment? = nil
    ) -> Outcome {
        interpret(signed, receivedAt: receivedAt) { jws throws(Failure) in
            try Failure.lift { () throws(Hold) in
                let draft = try Draft(renewal: jws, fallbackSignedAt: receivedAt)
                let environment = try apps.environment(
                    [draft.environment, environment], of: nil)
                try draft.judgeSigning(receivedAt: receivedAt)
                try draft.judgeDates()
                return (
                    Observation(
                        renewal: draft.settled(environment, receivedAt: receivedAt),
                        source: source, observedAt: receivedAt), []
                )
            }
        }
    }

    private func interpret(
        _ text: [UInt8], receivedAt: Instant,
        _ read: (VerifiedJWS) throws(Failure) -> (Observation, nested: [VerifiedJWS])
    ) -> Outcome {
        let jws: VerifiedJWS
        do throws(Refusal) {
            jws = try verifier.verify(text, receivedAt: receivedAt)
        } catch {
            switch error {
            case .malformed(let detail): return .malformed(detail: detail)
            case .forged(let forgery, let detail): return .forged(forgery, detail: detail)
            }
        }
        do throws(Failure) {
            var (observation, nested) = try read(jws)
            let evidence = SignedEvidence(text: text, jws: jws, nested: nested)
            observation.evidence = Fingerprint(evidence.digest)
            return .observation(observation, evidence)
        } catch {
            switch error {
            case .forged(let forgery, let detail): return .forged(forgery, detail: detail)
            case .held(let hold):
                return .held(
                    hold.reason, detail: hold.detail, SignedEvidence(text: text, jws: jws))
            }
        }
    }
}

/// Why verified text gives no observation.
enum Failure: Error {
    /// A text signed inside it is forged.
    case forged(Forgery, String)
    case held(Hold)

    static func lift<Result>(_ body: () throws(Hold) -> Result) throws(Failure) -> Result {
        do throws(Hold) {
            return try body()
        } catch {
            throw .held(error)
        }
    }
}
