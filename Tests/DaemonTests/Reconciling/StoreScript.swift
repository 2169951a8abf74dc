import AppStore
import Crypto
import Domain
import Foundation
import Ledger
import Operation
import Synchronization
import TestApple
import TestSigner

@testable import Daemon

/// What Apple's servers say in a test, one stand-in for each environment.
final class StoreScript: Sendable {
    /// What one environment says.
    struct Said {
        /// Pages of signed transactions by the id that is asked with.
        var histories: [String: [[String]]] = [:]
        /// Answers about statuses by id.
        var statuses: [String: JSON] = [:]
        /// Signed notifications, whatever span is asked for.
        var notifications: [String] = []
        /// What is said in place of all that; `nil` for calls that it leaves alone.
        var instead: (@Sendable (TestAPI.Call, Int) -> TestAPI.Reply?)?
    }

    private let said: Mutex<[String: Said]>

    init() {
        said = Mutex(["Production": Said(), "Sandbox": Said()])
    }

    /// Changes what an environment says.
    func change(_ environment: String = "Production", _ change: (inout Said) -> Void) {
        said.withLock { said in change(&said[environment, default: Said()]) }
    }

    func answer(_ call: TestAPI.Call, _ number: Int, in environment: String) -> TestAPI.Reply {
        let said = said.withLock { $0[environment] ?? Said() }
        if let instead = said.instead?(call, number) { return instead }
        let id = String(call.path.split(separator: "/").last ?? "")
        if call.path.hasPrefix("/v2/history/") {
            guard let pages = said.histories[id] else { return .error(4_040_010) }
            let page = call.parameter("revision").flatMap { Int($0.dropFirst()) } ?? 0
            guard page < pages.count else {
                return .history([], revision: "r\(page)", hasMore: false, environment: environment)
            }
            return .history(
                pages[page], revision: "r\(page + 1)", hasMore: page + 1 < pages.count,
                environment: environment)
        }
        if call.path.hasPrefix("/v1/subscriptions/") {
            return said.statuses[id].map { TestAPI.Reply(200, $0) } ?? .error(4_040_010)
        }
        let items = said.notifications.map {
            JSON(members: ["signedPayload": .string($0), "sendAttempts": .array([])])
        }
        return TestAPI.Reply(
            200, JSON(members: ["notificationHistory": .array(items), "hasMore": .bool(false)]))
    }
}

/// A service, and stand-ins for Apple that it asks.
struct AskingService {
    let service: TestService
    let script: StoreScript
    let production: TestAPI
    let sandbox: TestAPI

    /// Runs a test with a service that has a key for the server API.
    static func run(
        change: (inout Configuration) -> Void = { _ in },
        _ body: (AskingService) async throws -> Void
    ) async throws {
        let script = StoreScript()
        try await TestAPI.run {
            script.answer($0, $1, in: "Production")
        } _: { production async throws in
            try await TestAPI.run {
                script.answer($0, $1, in: "Sandbox")
            } _: { sandbox async throws in
                try await TestService.run { configuration in
                    let path = configuration.dataDirectory + "/AuthKey.p8"
                    let pem = (try? P256.PrivateKey().pem()) ?? ""
                    _ = FileManager.default.createFile(atPath: path, contents: Data(pem.utf8))
                    configuration.apps[0].serverAPI = ServerAPIConfiguration(
                        issuerID: "issuer", keyID: "KEY1", privateKey: .file(path))
                    configuration.apple.serverAPI = AppleEndpoints(
                        production: production.address, sandbox: sandbox.address)
                    change(&configuration)
                } _: { service async throws in
                    try await body(
                        AskingService(
                            service: service, script: script, production: production,
                            sandbox: sandbox))
                }
            }
        }
    }

    /// A world in which waiting takes no time.
    private static let waiting = Waiting(
        now: { SystemClock.now }, chance: { 0.5 },
        sleep: { (_) async throws(CancellationError) in
            if Task.isCancelled { throw CancellationError() }
            await Task.yield()
        })

    var stores: StoreApps {
        get throws {
            try StoreApps(
                service.configuration,
                manner: StoreApps.Manner(
                    waiting: AskingService.waiting,
                    patience: Patience(
                        attempts: 2, first: .milliseconds(1), longest: .milliseconds(1),
                        total: .seconds(60)), share: 1_000))
        }
    }

    var intake: Intake {
        get throws {
            Intake(
                service.ground, service.service.writer, try service.configuration.interpreter(),
                nil)
        }
    }

    var histories: Histories {
        get throws {
            Histories(intake: try intake, cursors: HistoryCursors(service.ground.writePool))
        }
    }

    /// Brings a history over.
    func bring(_ id: String) async throws -> Histories.Tally {
        try await histories.bring(id, of: stores.apps[0], page: { _ in })
    }

    /// Signs payloads.
    func sign(_ payloads: JSON...) throws -> [String] { try payloads.map(service.sign) }

    /// The kinds and sources of a line's entries, in order.
    func entries(_ line: String, _ environment: String = "Production") async throws -> [String] {
        try await service.ground.reader.entries(
            of: [.line(Environment(environment), line)]
        ).map { "\($0.event.kind.name) \($0.event.source.rawValue)" }
    }

    /// The last position.
    func head() async throws -> Int64 { try await service.ground.reader.head().position.number }
}
