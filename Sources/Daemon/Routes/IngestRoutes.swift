import AppStore
import Crypto
import Diagnostics
import Domain
import Entitlements
import HTTP
import Ledger
import Operation
import Postgres

/// The doors for evidence and for commands about ownership.
struct IngestRoutes: Sendable {
    let interpreter: Interpreter
    /// What the authorities are asked through; `nil` when they are not.
    let checks: OnlineChecks?
    let writer: Ledger.Writer
    let held: HeldStore
    let forgeries: Forgeries
    let answers: AnswerReader
    let refusals: RefusalLimiter
    let proxies: TrustedProxies
    let metrics: MetricRegistry

    /// The most signed texts in one post.
    static let itemLimit = 500

    var routes: [Route] {
        [
            Route("POST", "/v1/apple/notifications", nil, notification),
            Route("POST", "/v1/apple/transactions", .ingest, transactions),
            Route("PUT", "/v1/customers/{customer}/tokens/{uuid}", .ingest, bindToken),
            Route("PUT", "/v1/customers/{customer}/lines/{environment}/{id}", .ingest, bindLine),
        ]
    }

    @Sendable private func notification(_ request: Request, _: [String]) async throws(Problem)
        -> Response
    {
        let peer = proxies.client(of: request)
        let signed: [UInt8]
        do throws(Problem) {
            signed = Array(try Reading.text(Reading.object(request), "signedPayload").utf8)
        } catch {
            throw refusals.note(peer) ? error : .tooMany
        }
        let now = SystemClock.now
        switch await confirmed(interpreter.notification(signed, receivedAt: now)) {
        case .observation(let observation, let evidence):
            let appended = try await record(observation, evidence, presenter: nil)
            if let notice = observation.notice { alert(notice, isNew: appended.count > 0) }
            return .json(
                JSON(members: [
                    "position": .integer(appended.position.number),
                    "appended": .integer(Int64(appended.count)),
                    "duplicate": .bool(appended.count == 0),
                ]))
        case .held(let reason, let detail, let evidence):
            try await hold(evidence, reason, detail, source: .notification, receivedAt: now)
            let head = try await self.head()
            return .json(
                JSON(members: [
                    "position": .integer(head.number), "appended": .integer(0),
                    "duplicate": .bool(false), "quarantined": .string(reason.rawValue),
                ]), status: 202)
        case .forged(let forgery, let detail):
            guard refusals.note(peer) else { throw .tooMany }
            await forgeries.note(signed, forgery.rawValue, detail)
            throw .forged(forgery.rawValue, detail)
        case .malformed(let detail):
            guard refusals.note(peer) else { throw .tooMany }
            throw .badRequest("`signedPayload` is no signed text: \(detail)")
        }
    }

    @Sendable private func transactions(_ request: Request, _: [String]) async throws(Problem)
        -> Response
    {
        // Evidence is its own key: a repeat finds what the first one recorded.
        _ = try Reading.idempotencyKey(request)
        let json = try Reading.object(
            request, members: ["signedTransactions", "signedRenewalInfos", "customer"])
        let transactions = try Reading.texts(json, "signedTransactions")
        let renewals = try Reading.texts(json, "signedRenewalInfos")
        let presenter =
            json["customer"] == nil
            ? nil : try Reading.customer(Reading.text(json, "customer"))
        guard !transactions.isEmpty || !renewals.isEmpty else {
            throw .badRequest("neither `signedTransactions` nor `signedRenewalInfos` has an item")
        }
        guard transactions.count + renewals.count <= IngestRoutes.itemLimit else {
            throw .badRequest("more than \(IngestRoutes.itemLimit) signed texts in one post")
        }
        let now = SystemClock.now
        var outcomes = transactions.map {
            ($0, interpreter.transaction(Array($0.utf8), receivedAt: now))
        }
        outcomes += renewals.map {
            ($0, interpreter.renewalInfo(Array($0.utf8), receivedAt: now))
        }
        var results: [JSON] = []
        var position = Position.start
        for (text, outcome) in outcomes {
            let (result, at) = try await item(text, await confirmed(outcome), presenter, now)
            results.append(result)
            position = max(position, at)
        }
        if position == .start { position = try await head() }
        return .json(
            JSON(members: ["position": .integer(position.number), "results": .array(results)]))
    }

    /// The outcome, believed only when the authorities stand by its certificates, if asked.
    private func confirmed(_ outcome: Outcome) async -> Outcome {
        await checks?.confirmed(outcome) ?? outcome
    }

    private func item(
        _ text: String, _ outcome: Outcome, _ presenter: String?, _ receivedAt: Instant
    ) async throws(Problem) -> (JSON, Position) {
        switch outcome {
        case .observation(let observation, let evidence):
            let appended = try await record(observation, evidence, presenter: presenter)
            let owner = try await owner(observation, presenter)
            let result = JSON.object([
                .init("appended", .integer(Int64(appended.count))),
                .init("duplicate", .bool(appended.count == 0)), .init("quarantined", .null),
                .init("owner", owner.map(JSON.string) ?? .null),
            ])
            return (result, appended.position)
        case .held(let reason, let detail, let evidence):
            try await hold(
                evidence, reason, detail, source: .app, presenter: presenter,
                receivedAt: receivedAt)
            return (refused(reason.rawValue), .start)
        case .forged(let forgery, let detail):
            await forgeries.note(Array(text.utf8), forgery.rawValue, detail)
            return (refused(forgery.rawValue), .start)
        case .malformed: return (refused("malformed"), .start)
        }
    }

    private func refused(_ reason: String) -> JSON {
        .object([
            .init("appended", .integer(0)), .init("duplicate", .bool(false)),
            .init("quarantined", .string(reason)), .init("owner", .null),
        ])
    }

    /// Who owns the line now, in the words of whoever asks.
    private func owner(_ observation: Observation, _ presenter: String?) async throws(Problem)
        -> String?
    {
        guard let line = observation.stream?.line else { return nil }
        return try await reading { () throws(LedgerError) -> String? in
            guard let found = try await answers.line(line.environment, line.original) else {
                return nil
            }
            let now = observation.observedAt
            let tenures = found.line.tenures(found.links, found.settings)
            guard let owner = tenures.last(where: { $0.holds(at: now) }) ?? tenures.first else {
                return nil
            }
            let name = try await answers.names(of: [owner.customer])[owner.customer]
            return presenter == nil || name == presenter ? name : "owned_by_other"
        }
    }

    @Sendable private func bindToken(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let customer = try Reading.customer(path[0])
        let token = try Reading.token(path[1])
        let json = try Reading.object(request, members: ["transfer"])
        let transfer = try Reading.truth(json, "transfer") ?? false
        let appended = try await append(
            Binding.token(token, to: customer, transfer: transfer, now: SystemClock.now))
        return .json(
            JSON(members: [
                "position": .integer(appended.position.number),
                "appended": .integer(Int64(appended.count)), "customer": .string(customer),
                "token": .string(token),
            ]))
    }

    @Sendable private func bindLine(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let customer = try Reading.customer(path[0])
        let environment = try Reading.environment(path[1])
        let original = try Reading.original(path[2])
        let json = try Reading.object(request, members: ["from"])
        let appended = try await append(
            Binding.line(
                environment, original, to: customer, from: try Reading.instant(json, "from"),
                now: SystemClock.now))
        let line = appended.known.subscription(.line(environment, original)).line()
        return .json(
            JSON(members: [
                "position": .integer(appended.position.number),
                "appended": .integer(Int64(appended.count)), "customer": .string(customer),
                "environment": .string(environment.name),
                "originalTransactionId": .string(original),
                "known": .bool(!line.periods.isEmpty || !line.intents.isEmpty),
            ]))
    }

    private func record(
        _ observation: Observation, _ evidence: SignedEvidence, presenter: String?
    ) async throws(Problem) -> Appended {
        try await append(Observing.proposal(observation, evidence, presenter: presenter))
    }

    private func append(_ proposal: Proposal) async throws(Problem) -> Appended {
        do throws(AppendError) {
            return try await writer.append(proposal)
        } catch {
            throw Problem(error)
        }
    }

    private func head() async throws(Problem) -> Position {
        try await reading { () throws(LedgerError) in try await answers.head() }
    }

    private func hold(
        _ signed: SignedEvidence, _ reason: HoldReason, _ detail: String, source: Source,
        presenter: String? = nil, receivedAt: Instant
    ) async throws(Problem) {
        metrics.counter(
            "subledger_held_total", help: "Signed and not believed, by reason.",
            labels: ["reason": reason.rawValue]
        ).add(1)
        let kept: HeldStore.Kept
        do throws(PostgresError) {
            kept = try await held.keep(
                Observing.evidence(signed, source: source, receivedAt: receivedAt),
                reason: reason.rawValue, detail: detail, presenter: presenter, draw: Ground.draw)
        } catch {
            throw .unavailable("SL053", "nothing was stored: \(error)")
        }
        switch kept {
        case .stored: if reason == .pendingVerification { checks?.metrics.pending.arrived() }
        case .known: break
        case .full:
            throw .unavailable("SL051", "too much is held for the reason \(reason.rawValue)")
        }
    }

    /// Tells keepers of what the store says that this program does not understand yet.
    private func alert(_ notice: Notice, isNew: Bool) {
        guard isNew, notice.flags.contains("unknown_type") else { return }
        metrics.counter(
            "subledger_unknown_types_total", help: "Notifications of a type not known yet.",
            labels: ["type": String(notice.type.prefix(40))]
        ).add(1)
        Log.warning("a notification of an unknown type was kept", ["type": notice.type])
    }
}
