import AppStore
import Domain
import TestApple
import Testing

@testable import Daemon

@Suite("The commands that ask Apple")
struct StoreCommandTests {
    private func run(
        _ asking: AskingService, _ command: Command, _ arguments: [String] = [],
        _ options: [String: [String]] = [:]
    ) async throws -> ExitCode {
        let invocation = Invocation(
            command: command, options: options.merging(["json": []]) { $1 },
            arguments: arguments)
        let configuration = asking.service.configuration
        return command == .backfill
            ? try await Backfilling(invocation, configuration).run()
            : try await Reconciling(invocation, configuration).run()
    }

    /// The code of the error that ends a command.
    private func failure(_ body: () async throws -> ExitCode) async -> String? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? DaemonError)?.code
        }
    }

    private func period(_ id: String, _ asking: AskingService) -> JSON {
        asking.service.transaction(id, line: id, from: "2025-05-01", until: "2025-06-01")
    }

    @Test("bring the history of every known line when no id is given")
    func all() async throws {
        try await AskingService.run { asking async throws in
            for id in ["1001", "1002", "1003"] {
                _ = try await asking.service.post(period(id, asking))
                let signed = try asking.sign(
                    asking.service.transaction(
                        id + "9", line: id, from: "2025-06-01", until: "2025-07-01"))
                asking.script.change { $0.histories[id] = [signed] }
            }
            _ = try await asking.service.post(
                asking.service.transaction(
                    "2001", line: "2001", from: "2025-05-01", until: "2025-06-01",
                    environment: "Sandbox"))
            #expect(try await run(asking, .backfill) == .done)
            for id in ["1001", "1002", "1003"] {
                #expect(try await asking.entries(id) == ["purchased app", "renewed serverAPI"])
            }
            // A line is asked about where it is known from, and Apple need not know it.
            #expect(asking.sandbox.calls.map(\.path) == ["/v2/history/2001"])
            #expect(asking.production.calls.count == 3)
        }
    }

    @Test("go on with the next customer after one that fails, and end with 1")
    func oneFails() async throws {
        try await AskingService.run { asking async throws in
            let signed = try asking.sign(period("3", asking))
            asking.script.change { said in
                said.histories["3"] = [signed]
                said.instead = { call, _ in
                    call.path.hasSuffix("/1") ? .error(4_000_006) : nil
                }
            }
            #expect(try await run(asking, .backfill, ["1", "2", "3"]) == .failed)
            #expect(try await asking.entries("3") == ["purchased serverAPI"])
            #expect(try await run(asking, .backfill, ["2"]) == .failed)
            #expect(try await run(asking, .backfill, ["3"]) == .done)
        }
    }

    @Test("end where no other question would be answered either")
    func fatal() async throws {
        try await AskingService.run { asking async throws in
            for environment in ["Production", "Sandbox"] {
                asking.script.change(environment) { $0.instead = { _, _ in TestAPI.Reply(401) } }
            }
            #expect(await failure { try await run(asking, .backfill, ["1", "2"]) } == "SL070")
            #expect(try await run(asking, .reconcile) == .failed)
        }
    }

    @Test("end with 3 when something was missing, and with 0 once it is there")
    func found() async throws {
        try await AskingService.run { asking async throws in
            let signed = try asking.sign(
                asking.service.notification("TEST", uuid: "U1", signed: "2025-05-01T00:00:05Z"))
            asking.script.change { $0.notifications = signed }
            #expect(try await run(asking, .reconcile) == .found)
            #expect(try await run(asking, .reconcile) == .done)
        }
    }

    @Test("compare no more than the span that is asked for")
    func span() async throws {
        try await AskingService.run { asking async throws in
            let now = SystemClock.now
            let (from, to) = (now.adding(days: -9), now.adding(days: -4))
            let options = ["from": ["\(from)"], "to": ["\(to)"], "app": ["com.example.app"]]
            #expect(try await run(asking, .reconcile, [], options) == .done)
            let asked = (asking.production.calls + asking.sandbox.calls).map(\.body)
            let body = JSON(members: [
                "startDate": .integer(from.milliseconds), "endDate": .integer(to.milliseconds),
            ])
            #expect(asked == [body, body])
            let backwards = ["from": ["\(to)"], "to": ["\(from)"]]
            #expect(await failure { try await run(asking, .reconcile, [], backwards) } == "SL036")
        }
    }

    @Test("want an app with a key, and to know which when several have one")
    func apps() async throws {
        try await AskingService.run { configuration in
            var other = configuration.apps[0]
            other.bundleID = "com.example.other"
            configuration.apps.append(other)
            other.bundleID = "com.example.keyless"
            other.serverAPI = nil
            configuration.apps.append(other)
        } _: { asking async throws in
            #expect(await failure { try await run(asking, .backfill, ["1"]) } == "SL036")
            #expect(await failure { try await run(asking, .backfill, ["a/b"]) } == "SL036")
            for app in ["com.example.keyless", "com.example.nobody"] {
                let options = ["app": [app]]
                #expect(await failure { try await run(asking, .reconcile, [], options) } == "SL079")
            }
            #expect(asking.production.calls.isEmpty)
        }
    }

    @Test("are told of an unusable key by doctor, without Apple being asked")
    func doctor() async throws {
        try await AskingService.run { asking async throws in
            let invocation = Invocation(command: .doctor, options: ["json": []])
            let good = Doctor(invocation, asking.service.configuration)
            #expect(await good.run() == .done)
            var configuration = asking.service.configuration
            configuration.apps[0].serverAPI?.privateKey = .file(
                configuration.apple.rootCertificates[0])
            #expect(await Doctor(invocation, configuration).run() == .found)
            #expect(asking.production.calls.isEmpty)
        }
    }
}
