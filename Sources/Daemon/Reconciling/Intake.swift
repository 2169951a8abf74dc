import AppStore
import Domain
import Ledger
import Operation
import Postgres

/// Puts on the record what Apple's servers answered; what is not believed is kept as at the doors.
struct Intake: Sendable {
    let interpreter: Interpreter
    /// What the authorities are asked through; `nil` when they are not.
    let checks: OnlineChecks?
    let writer: Ledger.Writer
    let held: HeldStore
    let samples: Samples
    /// Who proved to have bought what is asked about; `nil`: nobody said so.
    var presenter: String?

    /// One signed text of an answer.
    enum Piece: Sendable {
        case notification(String)
        case transaction(String, Environment)
        case renewal(String, Environment)
    }

    /// What became of it.
    enum Fate: Sendable {
        /// It was new.
        case appended(Observation, Appended)
        /// The record held it.
        case known(Observation)
        /// It is kept, and not believed, for this reason.
        case quarantined(String)
    }

    /// Records the texts of one answer; all are durable when it returns.
    func take(_ pieces: [Piece]) async throws(DaemonError) -> [Fate] {
        let results = await withTaskGroup(of: (Int, Result<Fate, DaemonError>).self) { group in
            for (index, piece) in pieces.enumerated() {
                group.addTask {
                    do throws(DaemonError) {
                        return (index, .success(try await take(piece)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var results: [(Int, Result<Fate, DaemonError>)] = []
            for await result in group { results.append(result) }
            return results.sorted { $0.0 < $1.0 }
        }
        var fates: [Fate] = []
        for (_, result) in results { fates.append(try result.get()) }
        return fates
    }

    private func take(_ piece: Piece) async throws(DaemonError) -> Fate {
        let now = SystemClock.now
        let (text, source, outcome) = outcome(piece, now)
        switch await checks?.confirmed(outcome) ?? outcome {
        case .observation(let observation, let signed):
            var proposal = Observing.proposal(observation, signed, presenter: presenter)
            // That Apple repeats what it is asked for is no second delivery.
            proposal.keys = []
            do throws(AppendError) {
                let appended = try await writer.append(proposal)
                return appended.count > 0
                    ? .appended(observation, appended) : .known(observation)
            } catch {
                throw .append(error)
            }
        case .held(let reason, let detail, let signed):
            try await hold(signed, reason, detail, source, now)
            return .quarantined(reason.rawValue)
        case .forged(let forgery, let detail):
            try await sample(text, forgery.rawValue, detail, now)
            return .quarantined(forgery.rawValue)
        case .malformed(let detail):
            try await sample(text, "malformed", detail, now)
            return .quarantined("malformed")
        }
    }

    private func outcome(_ piece: Piece, _ now: Instant) -> ([UInt8], Source, Outcome) {
        switch piece {
        case .notification(let text):
            let text = Array(text.utf8)
            return (text, .notification, interpreter.notification(text, receivedAt: now))
        case .transaction(let text, let environment):
            let text = Array(text.utf8)
            let outcome = interpreter.transaction(
                text, receivedAt: now, source: .serverAPI, environment: environment)
            return (text, .serverAPI, outcome)
        case .renewal(let text, let environment):
            let text = Array(text.utf8)
            let outcome = interpreter.renewalInfo(
                text, receivedAt: now, source: .serverAPI, environment: environment)
            return (text, .serverAPI, outcome)
        }
    }

    private func hold(
        _ signed: SignedEvidence, _ reason: HoldReason, _ detail: String, _ source: Source,
        _ now: Instant
    ) async throws(DaemonError) {
        let kept: HeldStore.Kept
        do throws(PostgresError) {
            kept = try await held.keep(
                Observing.evidence(signed, source: source, receivedAt: now),
                reason: reason.rawValue, detail: detail, draw: Ground.draw)
        } catch {
            throw .database(error)
        }
        if case .full = kept { throw .quarantineFull(reason: reason.rawValue) }
    }

    private func sample(_ text: [UInt8], _ reason: String, _ detail: String, _ now: Instant)
        async throws(DaemonError)
    {
        do throws(PostgresError) {
            try await samples.keep(
                text, reason: reason, detail: detail, now: now.milliseconds)
        } catch {
            throw .database(error)
        }
    }
}
