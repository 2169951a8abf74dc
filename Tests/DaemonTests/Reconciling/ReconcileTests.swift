import AppStore
import Domain
import Entitlements
import HTTP
import Ledger
import Operation
import Postgres
import TestApple
import TestSigner
import Testing

@testable import Daemon

@Suite("A comparison with Apple")
struct ReconcileTests {
    private static let span =
        Instant(milliseconds: 1_748_736_000_000)..<Instant(milliseconds: 1_749_000_000_000)

    private func reconcile(_ asking: AskingService, span: Range<Instant>? = Self.span)
        async throws -> ReconcileReport
    {
        // The projected lines are level when the answer to a read is.
        try await level(asking)
        let reconciliation = Reconciliation(
            try asking.stores, asking.service.ground, try asking.intake)
        return await reconciliation.run { (_) async throws(DaemonError) in
            Reconciliation.Extent(span: span, doubts: Doubts.Limits(respectsPauses: true))
        }
    }

    /// Waits until the projection has all that is on the record.
    private func level(_ asking: AskingService) async throws {
        let pool = asking.service.ground.readPool
        let head = try await asking.head()
        while true {
            let rows = try await pool.query(
                "select min(checkpoint) from projection.generation where is_live")
            if try rows.only().int8IfAny(0) ?? 0 >= head { return }
            await Task.yield()
        }
    }

    private func renewal(_ service: TestService, _ uuid: String) throws -> JSON {
        try service.notification(
            "DID_RENEW", uuid: uuid, signed: "2025-06-01T00:00:05Z",
            transaction: service.transaction(
                "1002", from: "2025-06-01", until: "2025-07-01"), status: 1)
    }

    @Test("stores the notifications that never arrived, once, as what they are")
    func notifications() async throws {
        try await AskingService.run { asking async throws in
            let service = asking.service
            _ = try await service.post(
                notification: service.notification(
                    "SUBSCRIBED", uuid: "U1", signed: "2025-05-01T00:00:05Z",
                    transaction: service.transaction(
                        "1001", from: "2025-05-01", until: "2025-06-01")))
            let first = try service.notification(
                "SUBSCRIBED", uuid: "U1", signed: "2025-05-01T00:00:05Z",
                transaction: service.transaction(
                    "1001", from: "2025-05-01", until: "2025-06-01"))
            let signed = try asking.sign(first, renewal(service, "U2")) + ["no text"]
            asking.script.change { $0.notifications = signed }

            let report = try await reconcile(asking)
            #expect(
                report.places[0].days == [
                    "2025-05-01": .init(sent: 1, held: 1), "2025-06-01": .init(sent: 1, missing: 1),
                    "unbelieved": .init(sent: 1, quarantined: 1),
                ])
            #expect(report.missing.map(\.notification?.uuid).prefix(1) == ["U2"])
            #expect(report.failures.isEmpty)
            #expect(
                try await asking.entries("1001").suffix(2)
                    == ["notified notification", "renewed notification"])
            let again = try await reconcile(asking)
            #expect(again.places[0].days["2025-06-01"] == .init(sent: 1, held: 1))
            let late = try await service.post(notification: renewal(service, "U2"))
            #expect(late.status == 200 && late["duplicate"] == .bool(true))
        }
    }

    @Test("asks for a span week by week, and for a week anew when its pages have grown too old")
    func spans() async throws {
        try await AskingService.run {
            $0.apps[0].environments = [.production]
        } _: { asking async throws in
            let signed = try asking.sign(renewal(asking.service, "U2"))
            asking.script.change { said in
                said.notifications = signed
                said.instead = { _, number in
                    let item = JSON(members: [
                        "signedPayload": .string(signed[0]), "sendAttempts": .array([]),
                    ])
                    let page = JSON(members: [
                        "notificationHistory": .array([item]), "hasMore": .bool(true),
                        "paginationToken": .string("p"),
                    ])
                    return number == 1
                        ? TestAPI.Reply(200, page) : number == 2 ? .error(4_000_017) : nil
                }
            }
            let from = Self.span.lowerBound
            let span = from..<from.adding(days: 10)
            let report = try await reconcile(asking, span: span)
            #expect(report.failures.isEmpty)
            let asked = asking.production.calls.filter { $0.path.hasSuffix("/history") }
            let week = from.adding(days: 7).milliseconds
            #expect(
                asked.map { $0.body?["startDate"]?.integer }
                    == [from.milliseconds, from.milliseconds, from.milliseconds, week])
            #expect(asked.last?.body?["endDate"]?.integer == span.upperBound.milliseconds)
            #expect(report.missingCount == 1)
            // The second week's answer is the first one's again.
            #expect(
                report.places[0].days == ["2025-06-01": .init(sent: 2, held: 1, missing: 1)])
        }
    }

    @Test("asks how a line stands whose end is past, and once that is known no more")
    func overdue() async throws {
        try await AskingService.run { asking async throws in
            let service = asking.service
            let period = service.transaction("1001", from: "2025-05-01", until: "2025-06-01")
            _ = try await service.post(period)
            let info = JSON(members: [
                "originalTransactionId": .string("1001"), "autoRenewStatus": .integer(0),
                "expirationIntent": .integer(1), "environment": .string("Production"),
                "signedDate": .integer(1_748_800_000_000),
            ])
            let signed = try asking.sign(period, info)
            let answer = JSON(members: [
                "environment": .string("Production"),
                "data": .array([
                    JSON(members: [
                        "subscriptionGroupIdentifier": .string("G1"),
                        "lastTransactions": .array([
                            JSON(members: [
                                "status": .integer(2), "originalTransactionId": .string("1001"),
                                "signedTransactionInfo": .string(signed[0]),
                                "signedRenewalInfo": .string(signed[1]),
                            ])
                        ]),
                    ])
                ]),
            ])
            asking.script.change { $0.statuses["1001"] = answer }
            let report = try await reconcile(asking)
            #expect(report.places[0].asked == 1 && report.places[0].learnt == 1)
            #expect(report.missing.map(\.what) == ["overdue"])
            #expect(report.places[0].unknown == [])
            #expect(try await asking.entries("1001") == ["purchased app", "lapsed serverAPI"])
            #expect(try await reconcile(asking).places[0].asked == 0)
        }
    }

    @Test("leaves a line alone for a while that Apple cannot say anything of")
    func pauses() async throws {
        try await AskingService.run { asking async throws in
            let service = asking.service
            _ = try await service.post(
                service.transaction("1001", from: "2025-05-01", until: "2025-06-01"))
            let head = try await asking.head()
            let report = try await reconcile(asking)
            #expect(report.places[0].asked == 1 && report.places[0].unknown == ["1001"])
            #expect(report.failures.isEmpty && report.missingCount == 0)
            let again = try await reconcile(asking)
            #expect(again.places[0].asked == 0)
            // Absence proves nothing (R14).
            #expect(try await asking.head() == head)
        }
    }

    @Test("brings the history of a line whose successor is missing")
    func successor() async throws {
        try await AskingService.run { asking async throws in
            let service = asking.service
            let upgraded = JSON.Member("isUpgraded", .bool(true))
            _ = try await service.post(
                service.transaction(
                    "1001", from: "2025-05-01", until: "2099-06-01", more: [upgraded]))
            let next = service.transaction("1002", from: "2025-05-10", until: "2099-06-10")
            let signed = try asking.sign(next)
            asking.script.change { $0.histories["1001"] = [signed] }
            let report = try await reconcile(asking)
            #expect(report.missing.map(\.what) == ["successor_missing"])
            #expect(try await asking.entries("1001").last == "renewed serverAPI")
            #expect(try await reconcile(asking).places[0].asked == 0)
        }
    }

    @Test("of one place is not stopped by the failure of another")
    func failing() async throws {
        try await AskingService.run { asking async throws in
            asking.script.change { $0.instead = { _, _ in TestAPI.Reply(503) } }
            let report = try await reconcile(asking)
            #expect(report.failures.map(\.place.environment) == [.production])
            #expect(report.failures.map(\.error.code) == ["SL074"])
            #expect(report.places.map(\.environment) == [.production, .sandbox])
            #expect(asking.sandbox.calls.count == 1)
        }
    }

    @Test("takes it as normal that Production alone is closed to an app, and not that both are")
    func unauthorized() async throws {
        try await AskingService.run { asking async throws in
            asking.script.change { $0.instead = { _, _ in TestAPI.Reply(401) } }
            let report = try await reconcile(asking)
            #expect(report.places.map(\.isUnauthorized) == [true, false])
            #expect(report.failures.isEmpty)
            asking.script.change("Sandbox") { $0.instead = { _, _ in TestAPI.Reply(401) } }
            #expect(try await reconcile(asking).failures.map(\.error.code).count == 2)
        }
    }

    @Test("is made by a daemon once in its time, and goes on where the last one ended")
    func schedule() async throws {
        try await AskingService.run {
            $0.apps[0].environments = [.sandbox]
        } _: { asking async throws in
            let schedule = try #require(asking.service.service.schedule)
            let start = SystemClock.now
            func spans(after calls: Int) -> [Int64] {
                asking.sandbox.calls.dropFirst(calls).compactMap { call in
                    call.body?["startDate"]?.integer.map { start.milliseconds - $0 }
                }
            }
            _ = await schedule.once(now: start)
            let first = asking.sandbox.calls.count
            // Thirty days in weeks, but for the minutes that Apple may have forgotten by then.
            #expect(first == 5 && spans(after: 0).first == 30 * 86_400_000 - 600_000)
            _ = await schedule.once(now: start.adding(milliseconds: 40 * 60_000))
            #expect(asking.sandbox.calls.count == first)
            _ = await schedule.once(now: start.adding(milliseconds: 60 * 60_000))
            // From an hour before the end of the last one.
            #expect(spans(after: first) == [65 * 60_000])
            let metrics = try await asking.service.ask("GET", "/metrics", key: nil)
            guard case .bytes(let bytes) = metrics.response.body else { return }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(
                text.contains(
                    "subledger_store_calls_total{call=\"notifications\",step=\"asked\"} 6"))
        }
    }

    @Test("ends at once with the daemon, though Apple is silent")
    func ending() async throws {
        try await AskingService.run { asking async throws in
            asking.script.change { said in
                said.instead = { _, _ in
                    TestAPI.Reply(503, headers: [.init("Retry-After", "600")])
                }
            }
            let schedule = try #require(asking.service.service.schedule)
            let running = Task { await schedule.once(now: SystemClock.now) }
            while asking.production.calls.isEmpty { await Task.yield() }
            running.cancel()
            let report = await running.value
            #expect(report.places.count == 1)
            // The next daemon begins at once.
            let comparisons = Comparisons(asking.service.ground.writePool)
            let begun = try await comparisons.begin(
                bundle: "com.example.app", environment: "Production", now: 1, unlessSince: 1)
            #expect(begun == .some(nil))
            #expect(report.failures.map(\.error.code) == ["SL078"])
        }
    }
}
