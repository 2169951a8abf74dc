import AppStore
import Diagnostics
import Domain
import Foundation
import HTTP
import Ledger
import Operation
import Postgres

/// Asks Apple about receipts, and records what it says or what an operator says it said.
struct ReceiptDesk: Sendable {
    /// What was learnt.
    struct Learnt: Sendable {
        /// The last position of what was added, or of what held it; `nil` when nothing was stated.
        var position: Position?
        /// How many entries were added.
        var appended = 0
        var status: Int64 = 0
        var environment: Domain.Environment
        /// Why parts of the answer could not be read.
        var unreadable: [String] = []
    }

    /// Why nothing was.
    enum Failure: Error, Sendable {
        /// No app of this bundle id is configured.
        case unknownApp
        case apple(ReceiptError)
        case answer(AnswerRefusal)
        case append(AppendError)
        /// The history that a receipt led to could not be brought.
        case history(DaemonError)
    }

    private struct App: Sendable {
        var sharedSecret: Concealed?
        var environments: [Domain.Environment]
        var source: ReceiptSource
    }

    private let interpreter: Interpreter
    private let client: ReceiptClient
    private let apps: [String: App]
    private let writer: Ledger.Writer
    private let samples: Samples
    private let metrics: MetricRegistry
    private let histories: ReceiptHistories

    /// A desk for the apps of a ground's configuration.
    init(
        _ ground: Ground, interpreter: Interpreter, checks: OnlineChecks?, writer: Ledger.Writer,
        metrics: MetricRegistry
    ) throws(DaemonError) {
        let configuration = ground.configuration
        self.interpreter = interpreter
        samples = Samples(ground.writePool)
        histories = try ReceiptHistories(
            ground, intake: Intake(ground, writer, interpreter, checks))
        self.writer = writer
        self.metrics = metrics
        var apps: [String: App] = [:]
        for app in configuration.apps {
            do throws(ConfigurationError) {
                apps[app.bundleID] = App(
                    sharedSecret: try app.sharedSecret?.read(
                        environment: ProcessInfo.processInfo.environment),
                    environments: [StoreEnvironment.production, .sandbox]
                        .filter { app.environments.contains($0) }
                        .map { Domain.Environment($0.rawValue) },
                    source: app.receipts)
            } catch {
                throw .badQuestion("\(error)")
            }
        }
        self.apps = apps
        let addresses = configuration.apple.verifyReceipt
        client = ReceiptClient(
            Client(),
            addresses: [
                Domain.Environment("Production"): addresses.production,
                Domain.Environment("Sandbox"): addresses.sandbox,
            ],
            in: ReceiptClient.Surroundings(
                now: { SystemClock.now }, chance: { Double.random(in: 0...1) },
                pause: { try await Task.sleep(for: $0) }))
    }

    /// Learns what a receipt holds, from Apple or from itself as the app is configured, and records
    /// it.
    func ask(
        _ receipt: String, of bundle: String, excludesOld: Bool, presenter: String?
    ) async throws(Failure) -> Learnt {
        guard let app = apps[bundle] else { throw .unknownApp }
        let now = SystemClock.now
        switch app.source {
        case .verifyReceipt: break
        case .local:
            return try await record(Array(receipt.utf8), presenter) {
                () throws(AnswerRefusal) in
                try interpreter.receipt(receipt, of: bundle, receivedAt: now)
            }
        case .serverAPI:
            return try await histories.bring(receipt, of: bundle, presenter: presenter)
        }
        let answered: ReceiptClient.Answered
        do throws(ReceiptError) {
            answered = try await client.answer(
                to: ReceiptClient.Question(
                    receipt: receipt, sharedSecret: app.sharedSecret?.revealed,
                    environments: app.environments, excludesOldTransactions: excludesOld))
        } catch {
            await note(error, of: bundle, receipt)
            throw .apple(error)
        }
        count("answered")
        misconfigured(bundle).set(0)
        return try await record(
            answered.text,
            from: AnswerOrigin(
                bundle: bundle, environment: answered.environment, askedAt: answered.askedAt,
                receivedAt: SystemClock.now, source: .receipt), presenter: presenter)
    }

    /// Records what an answer says.
    func record(_ text: [UInt8], from origin: AnswerOrigin, presenter: String?)
        async throws(Failure) -> Learnt
    {
        try await record(text, presenter) { () throws(AnswerRefusal) in
            try interpreter.answer(text, from: origin)
        }
    }

    private func record(
        _ text: [UInt8], _ presenter: String?,
        _ read: () throws(AnswerRefusal) -> ReceiptReading
    ) async throws(Failure) -> Learnt {
        let answer: ReceiptReading
        do throws(AnswerRefusal) {
            answer = try read()
        } catch {
            switch error {
            case .held(let reason, let detail): await sample(text, reason.rawValue, detail)
            case .forged(let forgery, let detail): await sample(text, forgery.rawValue, detail)
            case .malformed, .status: break
            }
            throw .answer(error)
        }
        for why in answer.unreadable {
            Log.warning("a part of an answer about a receipt was left out", ["why": why])
            count("part_unreadable")
        }
        var learnt = Learnt(
            status: answer.status, environment: answer.environment,
            unreadable: answer.unreadable)
        guard !answer.observations.isEmpty else { return learnt }
        do throws(AppendError) {
            let appended = try await writer.append(
                Observing.proposal(answer, presenter: presenter))
            learnt.position = appended.position
            learnt.appended = appended.count
        } catch {
            throw .append(error)
        }
        return learnt
    }

    /// Tells keepers of what they may have to cure.
    private func note(_ error: ReceiptError, of bundle: String, _ receipt: String) async {
        switch error {
        case .noReceipt: count("no_receipt")
        case .unavailable: count("unavailable")
        case .conflict: count("environment_conflict")
        case .environmentNotAllowed: count("environment_not_allowed")
        case .unreadable(let status):
            count("unreadable")
            await sample(Array(receipt.utf8), "unreadable_receipt", "Apple answered \(status)")
        case .refused(let status):
            count("refused")
            await sample(Array(receipt.utf8), "refused_receipt", "Apple answered \(status)")
        case .misconfigured(let status):
            count("misconfigured")
            misconfigured(bundle).set(1)
            Log.error(
                "Apple refuses the shared secret of an app",
                ["app": bundle, "status": "\(status)"])
            let day = SystemClock.now.description.prefix(10)
            await sample(
                Array("\(bundle) \(status) \(day)".utf8), ReceiptDesk.alarm,
                "Apple answered \(status) for \(bundle)")
        }
    }

    /// The reason under which `doctor` finds that Apple refused a shared secret.
    static let alarm = "shared_secret_refused"

    private func misconfigured(_ bundle: String) -> Gauge {
        metrics.gauge(
            "subledger_apple_misconfigured", help: "1 when Apple refuses the app's shared secret.",
            labels: ["app": bundle])
    }

    private func count(_ outcome: String) {
        metrics.counter(
            "subledger_receipts_total", help: "Receipts by what came of asking Apple.",
            labels: ["outcome": outcome]
        ).add(1)
    }

    private func sample(_ original: [UInt8], _ reason: String, _ detail: String) async {
        do throws(PostgresError) {
            try await samples.keep(
                original, reason: reason, detail: detail, now: SystemClock.now.milliseconds)
        } catch {
            Log.warning("a sample was not kept", ["reason": reason, "error": "\(error)"])
        }
    }
}
