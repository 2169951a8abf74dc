import Crypto
import Domain
import Foundation
import HTTP
import Ledger
import Operation
import TestSigner
import TestSupport

@testable import Daemon

/// A daemon's work on a database of its own, without doors: requests go to its router.
struct TestService {
    let store: TestStore
    let configuration: Configuration
    let key: String
    let ground: Ground
    let service: Service
    /// What ends what waits.
    let ending: Ending

    /// Products of the tests' catalogue.
    static let products: [ProductConfiguration] = [
        ProductConfiguration(
            id: "pro.monthly",
            terms: .autoRenewable(group: "G1", level: 2, plan: CalendarLength("P1M")!),
            entitlements: ["pro"]),
        ProductConfiguration(id: "pro.lifetime", terms: .nonConsumable, entitlements: ["pro"]),
    ]

    /// Runs a test on a service of its own.
    static func run(
        store: TestStore? = nil, change: (inout Configuration) -> Void = { _ in },
        _ body: (TestService) async throws -> Void
    ) async throws {
        await gate.enter()
        do {
            let service = try await TestService(store: store ?? TestStore(), change: change)
            do {
                try await body(service)
            } catch {
                await service.stop()
                throw error
            }
            await service.stop()
        } catch {
            await gate.leave()
            throw error
        }
        await gate.leave()
    }

    /// Each service has several sessions with the one server of the tests.
    private static let gate = Gate(width: 6)

    private actor Gate {
        private var free: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(width: Int) { free = width }

        func enter() async {
            if free > 0 {
                free -= 1
            } else {
                await withCheckedContinuation { waiting.append($0) }
            }
        }

        func leave() {
            if waiting.isEmpty {
                free += 1
            } else {
                waiting.removeFirst().resume()
            }
        }
    }

    private init(store: TestStore, change: (inout Configuration) -> Void) async throws {
        self.store = store
        let directory = NSTemporaryDirectory() + "subledger-daemon-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let root = directory + "/root.der"
        _ = FileManager.default.createFile(atPath: root, contents: Data(store.root.der))
        var configuration = Configuration(dataDirectory: directory)
        configuration.database = Concealed(try await TestCluster.freshDatabase())
        configuration.apple.rootCertificates = [root]
        configuration.products = TestService.products
        configuration.apps = [
            AppConfiguration(
                bundleID: "com.example.app", appAppleID: 1, environments: [.production, .sandbox],
                gracePeriodDays: 16)
        ]
        change(&configuration)
        self.configuration = configuration
        ground = try await Ground.open(configuration, migrate: true)
        key = try await ground.keys.create(
            name: "test", roles: Set(Role.allCases), now: 0
        ).secret
        ending = Ending()
        service = try await Service.start(ground, adoptSettings: false, ending: ending)
    }

    private func stop() async {
        await service.stop()
        await ground.close()
        try? FileManager.default.removeItem(atPath: configuration.dataDirectory)
    }

    /// Judges again what waits for an authority's word; how many were believed.
    func retryPending() async throws -> Int? {
        try await service.pending?.retry().believed
    }

    /// Listens, for what only a connection shows.
    func listen() throws -> Server {
        try Server(
            host: "127.0.0.1", port: 0, on: [ground.outer], bodyLimit: { _, _ in 1 << 20 },
            problem: { status, _ in Response(status: status) }, handler: service.router.answer)
    }

    /// The routes that there are.
    var routes: [Route] { service.router.routes }

    /// Runs a second daemon on the same database, with another configuration.
    func restarted(
        _ change: (inout Configuration) -> Void, then body: (TestService) async throws -> Void
    ) async throws {
        var changed = configuration
        change(&changed)
        let ground = try await Ground.open(changed, migrate: false)
        let second = TestService(
            store: store, configuration: changed, key: key, ground: ground,
            service: try await Service.start(ground, adoptSettings: true))
        do {
            try await body(second)
        } catch {
            await second.service.stop()
            await ground.close()
            throw error
        }
        await second.service.stop()
        await ground.close()
    }

    private init(
        store: TestStore, configuration: Configuration, key: String, ground: Ground,
        service: Service
    ) {
        self.store = store
        self.configuration = configuration
        self.key = key
        self.ground = ground
        self.service = service
        ending = Ending()
    }

    /// Makes a key with these roles.
    func key(_ roles: Set<Role>) async throws -> String {
        try await ground.keys.create(name: "test", roles: roles, now: 0).secret
    }

    /// An answer: its status, its fields, its body.
    struct Answer {
        let status: Int
        let response: Response
        let json: JSON

        subscript(_ name: String) -> JSON? { json[name] }
    }

    /// Asks the router.
    func ask(
        _ method: String, _ target: String, _ body: JSON? = nil, key: String? = "",
        headers: [Header] = []
    ) async throws -> Answer {
        try await ask(method, target, bytes: body?.bytes() ?? [], key: key, headers: headers)
    }

    /// Asks the router with a body of any bytes.
    func ask(
        _ method: String, _ target: String, bytes: [UInt8], key: String? = "",
        headers: [Header] = []
    ) async throws -> Answer {
        var fields = headers
        if let key {
            fields.append(Header("Authorization", "Bearer \(key.isEmpty ? self.key : key)"))
        }
        let request = try Request(
            method: method, target: target, headers: fields, body: bytes, peer: "127.0.0.1")
        let response = await service.router.answer(request)
        guard case .bytes(let bytes) = response.body else { preconditionFailure("a stream") }
        return Answer(
            status: response.status, response: response,
            json: bytes.isEmpty ? .null : (try? JSON.parse(bytes)) ?? .null)
    }
}

extension TestService {
    /// A transaction's payload, as the App Store would write it.
    func transaction(
        _ id: String, line: String = "1001", product: String = "pro.monthly", from: String,
        until: String? = nil, signed: String? = nil, token: String? = nil,
        environment: String = "Production", bundle: String = "com.example.app",
        more: [JSON.Member] = []
    ) -> JSON {
        let start = instant(from)
        return .object(
            JSON(members: [
                "transactionId": .string(id), "originalTransactionId": .string(line),
                "bundleId": .string(bundle), "productId": .string(product),
                "purchaseDate": .integer(start), "environment": .string(environment),
                "expiresDate": until.map { .integer(instant($0)) },
                "webOrderLineItemId": until == nil ? nil : .string("9" + id),
                "type": .string(until == nil ? "Non-Consumable" : "Auto-Renewable Subscription"),
                "inAppOwnershipType": .string("PURCHASED"), "price": .integer(9990),
                "currency": .string("USD"), "appAccountToken": .text(token),
                "transactionReason": .string(id == line ? "PURCHASE" : "RENEWAL"),
                "signedDate": .integer(signed.map(instant) ?? start + 5000),
            ]).members! + more)
    }

    /// A notification's payload around signed parts.
    func notification(
        _ type: String, subtype: String? = nil, uuid: String, signed: String,
        transaction: JSON? = nil, renewal: JSON? = nil, status: Int64? = nil
    ) throws -> JSON {
        JSON(members: [
            "notificationType": .string(type), "subtype": .text(subtype),
            "notificationUUID": .string(uuid), "version": .string("2.0"),
            "signedDate": .integer(instant(signed)),
            "data": JSON(members: [
                "bundleId": .string("com.example.app"), "appAppleId": .integer(1),
                "environment": .string("Production"), "status": .whole(status),
                "signedTransactionInfo": try transaction.map { .string(try sign($0)) },
                "signedRenewalInfo": try renewal.map { .string(try sign($0)) },
            ]),
        ])
    }

    /// Signs a payload with the trusted chain.
    func sign(_ payload: JSON) throws -> String {
        try store.sign(String(decoding: payload.bytes(), as: UTF8.self))
    }

    /// Posts a notification.
    func post(notification: JSON) async throws -> Answer {
        try await ask(
            "POST", "/v1/apple/notifications",
            JSON(members: ["signedPayload": .string(try sign(notification))]), key: nil)
    }

    /// Posts transactions, presented by a customer or by nobody.
    func post(_ transactions: JSON..., customer: String? = nil) async throws -> Answer {
        try await ask(
            "POST", "/v1/apple/transactions",
            JSON(members: [
                "signedTransactions": .array(try transactions.map { .string(try sign($0)) }),
                "customer": .text(customer),
            ]))
    }

    /// What a metric stands at; `nil` when there is none of this name and labels.
    func metric(_ name: String) async throws -> Double? {
        let answer = try await ask("GET", "/metrics", key: nil)
        guard case .bytes(let bytes) = answer.response.body else { return nil }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            guard let space = line.lastIndex(of: " "), line[..<space] == name else { continue }
            return Double(line[line.index(after: space)...])
        }
        return nil
    }

    /// The entitlement `pro` of a customer at an instant.
    func pro(_ customer: String, at instant: String, more: String = "") async throws -> Answer {
        try await ask(
            "GET", "/v1/customers/\(customer)/entitlements/pro?at=\(instant)\(more)")
    }

    private func instant(_ text: String) -> Int64 { Instant(text)!.milliseconds }
}
