import AppStore
import Crypto
import Diagnostics
import Domain
import HTTP

/// Learns what the authorities say now of the certificates behind signed text.
///
/// What was learnt of a chain is kept for a quarter of an hour, that nothing could be learnt for
/// some seconds; questions about the same chain at the same time are one.
actor OnlineChecks {
    /// What is known of a chain.
    enum Verdict: Sendable, Equatable {
        /// The authorities stand by its leaf and its intermediate.
        case good
        /// One of them was taken back.
        case revoked(String)
        /// Nothing dependable could be learnt.
        case pending(String)
    }

    private struct Kept {
        let verdict: Verdict
        let until: ContinuousClock.Instant
    }

    private static let keptChains = 64
    private static let keptTime = Duration.seconds(15 * 60)
    private static let failureTime = Duration.seconds(10)
    /// Several times what any responder sends. Units: bytes.
    private static let answerLimit = 64 * 1_024

    nonisolated let metrics: CheckMetrics
    private let client: Client
    private let patience: Duration
    private let onRecovery: @Sendable () -> Void
    private var kept: [Digest: Kept] = [:]
    private var asked: [Digest: Task<Verdict, Never>] = [:]
    private var isFailing = false

    /// Checks through a client.
    ///
    /// - Parameters:
    ///   - metrics: what keepers are told; a command ends before anybody asks it.
    ///   - patience: how long a responder has to answer.
    ///   - onRecovery: called when a chain is found good after something could not be learnt.
    init(
        client: Client, metrics: CheckMetrics = CheckMetrics(MetricRegistry()),
        patience: Duration = .seconds(5),
        onRecovery: @escaping @Sendable () -> Void = {}
    ) {
        self.client = client
        self.metrics = metrics
        self.patience = patience
        self.onRecovery = onRecovery
    }

    /// The outcome, believed only when every certificate behind it held when it was received and
    /// its authority stands by it now.
    func confirmed(_ outcome: Outcome) async -> Outcome {
        guard case .observation(let observation, let evidence) = outcome else { return outcome }
        for chain in evidence.signers {
            if let name = chain.nameInvalid(at: observation.observedAt) {
                return .forged(
                    .badCertificate, detail: "\(name) did not hold when the text was received")
            }
            switch await verdict(of: chain) {
            case .good: continue
            case .revoked(let detail): return .forged(.badCertificate, detail: detail)
            case .pending(let detail):
                return .held(.pendingVerification, detail: detail, evidence)
            }
        }
        return outcome
    }

    /// Forgets that something could not be learnt, so that it is asked for again.
    func forgetFailures() {
        kept = kept.filter { entry in
            if case .pending = entry.value.verdict { false } else { true }
        }
    }

    /// What is known of a chain, asked for if need be.
    func verdict(of chain: SigningChain) async -> Verdict {
        if let known = kept[chain.header], known.until > .now { return known.verdict }
        if let asking = asked[chain.header] { return await asking.value }
        let asking = Task { await ask(chain) }
        asked[chain.header] = asking
        let verdict = await asking.value
        asked[chain.header] = nil
        keep(verdict, of: chain.header)
        return verdict
    }

    private func keep(_ verdict: Verdict, of header: Digest) {
        let time: Duration
        if case .pending = verdict {
            time = OnlineChecks.failureTime
            isFailing = true
        } else {
            time = OnlineChecks.keptTime
        }
        kept[header] = Kept(verdict: verdict, until: .now + time)
        if kept.count > OnlineChecks.keptChains,
            let first = kept.min(by: { $0.value.until < $1.value.until })
        {
            kept[first.key] = nil
        }
        if verdict == .good, isFailing {
            isFailing = false
            onRecovery()
        }
    }

    private nonisolated func ask(_ chain: SigningChain) async -> Verdict {
        async let leaf = ask("x5c[0]", chain.leaf, issuer: chain.intermediate)
        async let intermediate = ask("x5c[1]", chain.intermediate, issuer: chain.root)
        let verdicts = [await leaf, await intermediate]
        // A certificate that was taken back is the stronger word.
        let revoked = verdicts.first { if case .revoked = $0 { true } else { false } }
        return revoked ?? verdicts.first { $0 != .good } ?? .good
    }

    private nonisolated func ask(
        _ name: String, _ certificate: Certificate, issuer: Certificate
    ) async -> Verdict {
        guard let responder = CertificateStatus.responder(of: certificate) else {
            return .pending("\(name) names no responder to ask about it")
        }
        let answer: Client.Answer
        metrics.asks()
        do {
            answer = try await client.send(
                "POST", responder,
                headers: [
                    Header("Content-Type", "application/ocsp-request"),
                    Header("Accept", "application/ocsp-response"),
                ], body: CertificateStatus.request(for: certificate, issuer: issuer),
                limit: OnlineChecks.answerLimit, within: patience)
        } catch {
            metrics.hears(.unreachable)
            return .pending("the responder for \(name) cannot be asked: \(error)")
        }
        guard answer.status == 200 else {
            metrics.hears(.unreachable)
            return .pending("the responder for \(name) answered \(answer.status)")
        }
        let verdict = CertificateStatus.verdict(
            of: answer.body, on: certificate, issuer: issuer, now: SystemClock.now.milliseconds)
        switch verdict {
        case .good:
            metrics.hears(.good)
            return .good
        case .revoked:
            metrics.hears(.revoked)
            return .revoked("\(name) was revoked")
        case .unusable(let why):
            metrics.hears(.unusable)
            return .pending("\(name): \(why)")
        }
    }
}

extension SigningChain {
    /// What does not hold at an instant; `nil` when all do.
    fileprivate func nameInvalid(at instant: Instant) -> String? {
        [("x5c[0]", leaf), ("x5c[1]", intermediate), ("the root", root)]
            .first { !$0.1.isValid(at: instant.milliseconds) }?.0
    }
}
