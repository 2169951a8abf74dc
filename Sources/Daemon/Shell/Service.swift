import AppStore
import Delivery
import Diagnostics
import Domain
import Entitlements
import EventLoop
import Foundation
import HTTP
import Ledger
import Operation
import Postgres
import Projecting

/// What a daemon does between its start and its end, without the doors: one writer, the
/// projectors that follow it, and the router that answers.
struct Service: Sendable {
    let writer: Ledger.Writer
    let router: Router
    /// What waits for an authority's word; `nil` when none is asked.
    let pending: PendingEvidence?
    /// What keeps the record level with Apple's servers; `nil` when nothing does.
    let schedule: ReconcileSchedule?
    private let retrying: Task<Void, Never>?
    private let reconciling: Task<Void, Never>?
    private let projectors: [Projector]
    private let outgoing: Outgoing
    private let following: [Task<Void, Never>]
    private let rebuilding: Task<Void, Never>

    /// Starts a daemon's work on a ground.
    ///
    /// - Parameter ending: what waits for news answers when this has begun.
    /// - Throws: `settingsDiffer` unless the settings are the record's, or are to be adopted.
    static func start(
        _ ground: Ground, adoptSettings: Bool, ending: Ending = Ending()
    ) async throws(DaemonError) -> Service {
        let configuration = ground.configuration
        let interpreter = try configuration.interpreter()
        let metrics = MetricRegistry()
        let checkpoints = Checkpoints()
        let projectors = projectors(ground, metrics, checkpoints)
        let measuring = Projections.measuring.map { ground.measuringProjector($0, metrics) }
        let outgoing = try Outgoing(ground, metrics, ending)
        let appended = metrics.counter(
            "subledger_appended_entries_total", help: "Entries appended here.")
        let head = metrics.gauge(
            "subledger_head_position", help: "The last position appended here.")
        let writer = ground.writer(projected: { checkpoints.lowest }) { position, entries in
            appended.add(entries.count)
            head.set(Double(position.number))
            outgoing.entries.ring()
            for projector in projectors { projector.wake() }
            outgoing.maker.wake()
        }
        do throws(DaemonError) {
            try await SettingsRecorder(configuration: configuration).settle(
                writer, adopt: adoptSettings)
            try await outgoing.open()
            let wakes = PendingEvidence.Wakes()
            let checks =
                configuration.apple.onlineChecks
                ? OnlineChecks(
                    client: Client(), metrics: CheckMetrics(metrics),
                    onRecovery: { wakes.call() }) : nil
            let reprocessing = Reprocessing(
                interpreter: interpreter, held: HeldReader(ground.writePool),
                evidence: EvidenceReader(ground.readPool), writer: writer, checks: checks,
                forgeries: Forgeries(samples: Samples(ground.writePool), metrics: metrics))
            let router = Router(
                routes: try routes(ground, reprocessing, metrics, ending, outgoing),
                keyRing: try await keyRing(ground), requests: metrics)
            let pending = checks.map {
                PendingEvidence(reprocessing, $0, wakes, on: ground.inner)
            }
            let schedule = ReconcileSchedule.make(
                ground, Intake(ground, writer, interpreter, checks), metrics)
            return Service(
                writer: writer, router: router, pending: pending, schedule: schedule,
                retrying: pending.map { pending in
                    Task(executorPreference: ground.inner) { await pending.run() }
                },
                // On no loop: verifying what Apple answers must not keep requests waiting.
                reconciling: schedule.map { schedule in Task { await schedule.run() } },
                projectors: projectors, outgoing: outgoing,
                following: projectors.map { projector in
                    Task(executorPreference: ground.inner) { await projector.run() }
                }
                    + measuring.map { projector in
                        Task(executorPreference: ground.measuring) { await projector.run() }
                    } + outgoing.start(),
                // On no loop: folding the whole record must not keep requests waiting.
                rebuilding: Task {
                    await Rebuilder(Projections.all.map { ground.rebuild($0) }).run()
                })
        } catch {
            await writer.close()
            await outgoing.close()
            throw error
        }
    }

    /// Answers what the writer has accepted, and stops following.
    func stop() async {
        retrying?.cancel()
        reconciling?.cancel()
        rebuilding.cancel()
        await retrying?.value
        await reconciling?.value
        await rebuilding.value
        await writer.close()
        for task in following { task.cancel() }
        for task in following { await task.value }
        await outgoing.close()
    }

    private static func projectors(
        _ ground: Ground, _ metrics: MetricRegistry, _ checkpoints: Checkpoints
    ) -> [Projector] {
        Projections.answering.map { projection in
            ground.projector(
                projection, metrics, checkpoints, onFlip: { ground.answers.forget() })
        }
    }

    private static func routes(
        _ ground: Ground, _ reprocessing: Reprocessing, _ metrics: MetricRegistry, _ ending: Ending,
        _ outgoing: Outgoing
    ) throws(DaemonError) -> [Route] {
        let configuration = ground.configuration
        let writer = reprocessing.writer
        let ingest = IngestRoutes(
            interpreter: reprocessing.interpreter, checks: reprocessing.checks, writer: writer,
            held: HeldStore(ground.writePool),
            forgeries: reprocessing.forgeries, answers: ground.answers,
            refusals: RefusalLimiter(),
            proxies: TrustedProxies(ranges: configuration.trustedProxies), metrics: metrics)
        let receipts = ReceiptRoutes(
            desk: try ReceiptDesk(
                ground, interpreter: reprocessing.interpreter, checks: reprocessing.checks,
                writer: writer, metrics: metrics), answers: ground.answers)
        let questions = QuestionReader(
            answers: ground.answers, reader: ground.reader, loop: ground.outer, ending: ending)
        let customers = CustomerRoutes(questions: questions)
        let lines = LineRoutes(questions: questions)
        let quarantine = QuarantineRoutes(
            held: reprocessing.held, reader: ground.reader, reprocessing: reprocessing,
            samples: reprocessing.forgeries.samples)
        let commands = CommandRoutes(writer: writer, reader: ground.reader)
        let feed = FeedRoutes(
            answers: ground.answers, reader: ground.reader, events: EventReader(ground.readPool),
            loop: ground.outer, ending: ending,
            entriesBell: outgoing.entries, eventsBell: outgoing.events,
            signer: HeadSigner(key: try HeadKey.load(configuration.dataDirectory)))
        let webhooks = WebhookRoutes(
            desk: WebhookDesk(ground.writePool), webhooks: outgoing.webhooks,
            answers: ground.answers)
        let operation = OperationRoutes(
            answers: ground.answers, writer: writer, metrics: metrics)
        var routes = ingest.routes + commands.routes + customers.routes + feed.routes
        let figures = MetricRoutes(questions: questions, desk: MetricDesk(ground))
        routes +=
            receipts.routes + figures.routes + lines.routes + quarantine.routes + operation.routes
            + webhooks.routes + ProjectionRoutes(ground: ground).routes
        let description = OpenAPI(
            routes: routes + [Route("GET", "/openapi.json", nil) { _, _ in .json(.null) }]
        ).document
        routes.append(Route("GET", "/openapi.json", nil) { _, _ in .json(description) })
        return routes
    }

    /// The keys; on a ledger without any the first one is made and printed, once.
    private static func keyRing(_ ground: Ground) async throws(DaemonError) -> KeyRing {
        var bootstrap: Concealed?
        do throws(ConfigurationError) {
            bootstrap = try ground.configuration.bootstrapKey?.read(
                environment: ProcessInfo.processInfo.environment)
        } catch {
            throw .badQuestion("\(error)")
        }
        do throws(PostgresError) {
            if bootstrap == nil, try await ground.keys.list().isEmpty {
                let made = try await ground.keys.create(
                    name: "first key", roles: Set(Role.allCases),
                    now: SystemClock.now.milliseconds)
                print("API key with every role, shown this once: \(made.secret)")
            }
        } catch {
            throw .database(error)
        }
        return KeyRing(ground.keys, bootstrap: bootstrap)
    }
}
