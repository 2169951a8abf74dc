import AppStore
import Crypto
import Domain
import Ledger
import Postgres

/// Judges held evidence again, as configured now, with the time at which it was received.
struct Reprocessing: Sendable {
    let interpreter: Interpreter
    let held: HeldReader
    let evidence: EvidenceReader
    let writer: Writer
    /// What the authorities are asked through; `nil` when they are not.
    let checks: OnlineChecks?
    /// Where what an authority took back goes.
    let forgeries: Forgeries

    /// What became of what was held.
    struct Tally: Sendable {
        var believed = 0
        var refused = 0
        var stillHeld: [String: Int] = [:]

        var stillHeldCount: Int { stillHeld.values.reduce(0, +) }
    }

    private static let pageSize = 200

    /// Judges everything that is held, or what has these digests, or what is held for these reasons.
    func run(_ digests: [String], reasons: [String] = []) async throws(DaemonError) -> Tally {
        do throws(LedgerError) {
            let certificates = try await evidence.certificates()
            var tally = Tally()
            for prefix in digests.isEmpty ? [""] : digests {
                var cursor: String?
                while !Task.isCancelled {
                    let page = try await held.pieces(
                        reasons: reasons, prefix: prefix, after: cursor,
                        atMost: Reprocessing.pageSize)
                    guard let last = page.last else { break }
                    for piece in page { try await judge(piece, certificates, &tally) }
                    cursor = last.cursor
                }
            }
            return tally
        } catch {
            throw .ledger(error)
        }
    }

    private func judge(
        _ piece: HeldReader.Piece, _ certificates: [Fingerprint: [UInt8]], _ tally: inout Tally
    ) async throws(LedgerError) {
        let now = SystemClock.now
        guard let text = Reprocessing.text(piece.evidence, certificates),
            case .observation(let observation, let signed) = outcome(text, piece, now)
        else {
            // Also when it is a forgery now: as configured it was none, and may be none again.
            tally.stillHeld[piece.reason, default: 0] += 1
            return
        }
        switch await checks?.confirmed(.observation(observation, signed)) {
        case nil, .observation:
            guard let position = await record(observation, signed, piece) else {
                tally.stillHeld["not_stored", default: 0] += 1
                return
            }
            try await held.release(piece.evidence.digest, at: position, now: now)
            tally.believed += 1
        case .forged(let forgery, let detail)
        where piece.reason == HoldReason.pendingVerification.rawValue:
            // It waited for an authority's word, and this is it.
            do throws(PostgresError) {
                try await forgeries.keep(text, forgery.rawValue, detail)
            } catch {
                throw .database(error)
            }
            try await held.refuse(piece.evidence.digest, now: now)
            tally.refused += 1
        case .forged, .held, .malformed: tally.stillHeld[piece.reason, default: 0] += 1
        }
    }

    /// Records what a piece says as of when it was received, and who presented it when.
    private func record(
        _ observation: Observation, _ signed: SignedEvidence, _ piece: HeldReader.Piece
    ) async -> Position? {
        var observation = observation
        observation.observedAt = piece.evidence.receivedAt
        var presenters = piece.presenters
        let isPresented = presenters.first?.at == piece.evidence.receivedAt
        let first = isPresented ? presenters.removeFirst().customer : nil
        do throws(AppendError) {
            var position = try await writer.append(
                Observing.proposal(observation, signed, presenter: first)
            ).position
            for presenter in presenters {
                observation.observedAt = presenter.at
                position = max(
                    position,
                    try await writer.append(
                        Observing.proposal(observation, signed, presenter: presenter.customer)
                    ).position)
            }
            return position
        } catch {
            return nil
        }
    }

    /// Judged by when it was received; what was signed ahead of that is judged by now.
    private func outcome(_ text: [UInt8], _ piece: HeldReader.Piece, _ now: Instant) -> Outcome {
        let then = outcome(text, piece.source, piece.evidence.receivedAt)
        guard case .held(.futureSigned, _, _) = then else { return then }
        return outcome(text, piece.source, now)
    }

    private func outcome(_ text: [UInt8], _ source: Source, _ receivedAt: Instant) -> Outcome {
        switch Reprocessing.form(text) {
        case .notification:
            interpreter.notification(text, receivedAt: receivedAt, source: source)
        case .transaction: interpreter.transaction(text, receivedAt: receivedAt, source: source)
        case .renewalInfo: interpreter.renewalInfo(text, receivedAt: receivedAt, source: source)
        }
    }

    private enum Form { case notification, transaction, renewalInfo }

    /// What a signed text is, by the members that only one form has.
    private static func form(_ text: [UInt8]) -> Form {
        let segments = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard segments.count == 3, let payload = Base64.decode(Array(segments[1])),
            let json = try? JSON.parse(payload)
        else { return .notification }
        if json["notificationType"] != nil { return .notification }
        return json["transactionId"] != nil ? .transaction : .renewalInfo
    }

    /// The exact text of a piece; `nil` when a part of it was erased.
    static func text(_ piece: EvidenceReader.Piece, _ certificates: [Fingerprint: [UInt8]])
        -> [UInt8]?
    {
        let tokens = piece.tokens.compactMap { $0 }
        guard tokens.count == piece.tokens.count else { return nil }
        return try? EvidenceTemplate.restore(
            piece.template,
            certificates: { certificates[Fingerprint(hex: $0.description)] }, tokens: tokens)
    }
}
