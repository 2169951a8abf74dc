import AppStore
import Domain
import Ledger
import Operation
import Postgres
import Synchronization
import TestApple
import TestLives
import TestSigner
import Testing

@testable import Daemon

@Suite("A history")
struct HistoryTests {
    /// Pages of one-time purchases, each its own line.
    private func pages(_ count: Int, of size: Int, _ service: TestService) throws -> [[String]] {
        try (0..<count).map { page in
            try (0..<size).map { item in
                let id = "\(10_000 + page * size + item)"
                return try service.sign(
                    service.transaction(
                        id, line: id, product: "pro.lifetime", from: "2025-05-01"))
            }
        }
    }

    @Test("goes on behind the last page that is durable, wherever it was stopped")
    func resumes() async throws {
        try await AskingService.run { asking async throws in
            let pages = try pages(6, of: 3, asking.service)
            asking.script.change { $0.histories["1"] = pages }
            let before = try await asking.head()
            let counted = Mutex(0)
            for stop in 1...6 {
                // The call after each page fails for good.
                let served = counted.withLock { $0 }
                asking.script.change { said in
                    said.instead = { _, number in
                        number > served + 1 ? TestAPI.Reply(400) : nil
                    }
                }
                let (histories, app) = try (asking.histories, asking.stores.apps[0])
                do throws(DaemonError) {
                    let tally = try await histories.bring("1", of: app, page: { _ in })
                    #expect(stop == 6 && tally.texts == 3)
                } catch {
                    guard case .store(.refused(status: 400, code: nil)) = error else {
                        Issue.record("\(error)")
                        return
                    }
                    #expect(stop < 6)
                }
                counted.withLock { $0 = asking.production.calls.count }
                #expect(try await asking.head() == before + Int64(stop * 3))
            }
            let asked = asking.production.calls.map { $0.parameter("revision") ?? "-" }
            #expect(
                asked == [
                    "-", "r1", "r1", "r2", "r2", "r3", "r3", "r4", "r4", "r5", "r5",
                ])
        }
    }

    @Test("appends nothing of a page that was durable before its revision was kept")
    func repeats() async throws {
        try await AskingService.run { asking async throws in
            let pages = try pages(4, of: 3, asking.service)
            asking.script.change { $0.histories["1"] = pages }
            _ = try await asking.bring("1")
            let head = try await asking.head()
            let key = HistoryCursors.Key(
                bundle: "com.example.app", environment: "Production", asked: "1")
            // What a daemon leaves that is killed just before it keeps a revision.
            for revision in ["r3", "r2", "r1"] {
                let cursors = HistoryCursors(asking.service.ground.writePool)
                try await cursors.keep(revision, of: key, now: 0)
                let tally = try await asking.bring("1")
                #expect(tally.appended == 0)
                #expect(tally.known == 3 * (4 - (Int(revision.dropFirst()) ?? 0)))
            }
            #expect(try await asking.head() == head)
            // What Apple repeats because it was asked is no second delivery.
            let copies = try await asking.service.ground.writePool.query(
                "select count(*) from operation.redelivery")
            #expect(try copies.only().int8(0) == 0)
        }
    }

    @Test("of many thousand transactions, stopped half way, is whole in the end")
    func long() async throws {
        // 26,000 transactions in the long run.
        let count = cases(20, long: 1_300)
        try await AskingService.run { asking async throws in
            let pages = try pages(count, of: 20, asking.service)
            asking.script.change { $0.histories["1"] = pages }
            let before = try await asking.head()
            let (histories, place) = try (asking.histories, asking.stores.apps[0].places[0])
            let production = asking.production
            let task = Task {
                try await histories.bring("1", from: place) { _ in
                    if production.calls.count == count / 2 {
                        withUnsafeCurrentTask { $0?.cancel() }
                    }
                }
            }
            let stopped = await task.result
            #expect(throws: DaemonError.self) { try stopped.get() }
            #expect(try await asking.head() == before + Int64(count / 2 * 20))
            let tally = try await asking.bring("1")
            #expect(tally.texts == (count - count / 2) * 20)
            #expect(try await asking.head() == before + Int64(count * 20))
            #expect(try await asking.bring("1").texts == 0)
        }
    }

    @Test(
        "comes from Sandbox when Production does not know it, or knows no release of the app",
        arguments: [TestAPI.Reply.error(4_040_010), TestAPI.Reply(401)])
    func sandbox(reply: TestAPI.Reply) async throws {
        try await AskingService.run { asking async throws in
            let signed = try asking.sign(
                asking.service.transaction(
                    "1", line: "1", from: "2025-05-01", until: "2025-06-01",
                    environment: "Sandbox"))
            asking.script.change { $0.instead = { _, _ in reply } }
            asking.script.change("Sandbox") { $0.histories["1"] = [signed] }
            #expect(try await asking.bring("1").appended == 1)
            #expect(try await asking.entries("1", "Sandbox") == ["purchased serverAPI"])
            #expect(try await asking.entries("1") == [])
        }
    }

    @Test("is unknown unless both environments refuse the key")
    func neither() async throws {
        func error(_ production: TestAPI.Reply, _ sandbox: TestAPI.Reply) async throws
            -> ServerAPIError?
        {
            var found: ServerAPIError?
            try await AskingService.run { asking async throws in
                asking.script.change { $0.instead = { _, _ in production } }
                asking.script.change("Sandbox") { $0.instead = { _, _ in sandbox } }
                let (histories, app) = try (asking.histories, asking.stores.apps[0])
                do throws(DaemonError) {
                    _ = try await histories.bring("1", of: app, page: { _ in })
                } catch {
                    if case .store(let error) = error { found = error }
                }
            }
            return found
        }
        let unknown = TestAPI.Reply.error(4_040_010)
        #expect(try await error(unknown, unknown) == .unknown(code: 4_040_010))
        #expect(try await error(TestAPI.Reply(401), unknown) == .unknown(code: 4_040_010))
        #expect(try await error(TestAPI.Reply(401), TestAPI.Reply(401)) == .unauthorized)
        #expect(
            try await error(TestAPI.Reply(503), unknown) == .failing(status: 503, code: nil))
    }

    @Test("begins anew when Apple does not know its revision any more")
    func forgotten() async throws {
        try await AskingService.run { asking async throws in
            let pages = try pages(2, of: 1, asking.service)
            asking.script.change { said in
                said.histories["1"] = pages
                said.instead = { call, _ in
                    call.parameter("revision") == "old" ? .error(4_000_005) : nil
                }
            }
            let key = HistoryCursors.Key(
                bundle: "com.example.app", environment: "Production", asked: "1")
            let cursors = HistoryCursors(asking.service.ground.writePool)
            try await cursors.keep("old", of: key, now: 0)
            #expect(try await asking.bring("1").appended == 2)
            #expect(try await cursors.revision(key) == "r2")
        }
    }

    @Test("keeps what is not believed as the doors do, and goes on")
    func unbelieved() async throws {
        try await AskingService.run { asking async throws in
            let service = asking.service
            let foreign = service.transaction(
                "2", line: "2", from: "2025-05-01", until: "2025-06-01", bundle: "com.other")
            let good = service.transaction(
                "3", line: "3", from: "2025-05-01", until: "2025-06-01")
            let stranger = try TestStore()
            let forged = try stranger.sign(String(decoding: good.bytes(), as: UTF8.self))
            let signed = try asking.sign(foreign, good)
            asking.script.change { $0.histories["1"] = [[signed[0], forged, "x", signed[1]]] }
            let tally = try await asking.bring("1")
            #expect(
                tally.quarantined == ["wrong_app": 1, "untrusted_root": 1, "malformed": 1])
            #expect(tally.appended == 1)
            #expect(try await asking.entries("3") == ["purchased serverAPI"])
            let held = try await service.ask("GET", "/v1/quarantine")
            let reasons = ["quarantine", "samples"].map { list in
                held[list]?.elements?.compactMap { $0["reason"]?.text }.sorted()
            }
            #expect(reasons == [["wrong_app"], ["malformed", "untrusted_root"]])
        }
    }

    @Test("is not asked for with a key that cannot be used")
    func key() async throws {
        try await AskingService.run {
            $0.apps[0].serverAPI?.privateKey = .file("/nowhere/AuthKey.p8")
        } _: { asking async throws in
            do {
                _ = try asking.stores
                Issue.record("it was read")
            } catch let error as DaemonError {
                #expect(error.code == "SL079")
                #expect("\(error)".contains("com.example.app"))
            }
            // The daemon serves without.
            #expect(asking.service.service.schedule == nil)
            #expect(try await asking.service.ask("GET", "/readyz", key: nil).status == 200)
        }
    }
}
