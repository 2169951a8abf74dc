import Crypto
import Domain
import Foundation
import HTTP
import Operation
import TestApple
import TestSigner
import Testing

@testable import Daemon

@Suite("A receipt at the door")
struct ReceiptDoorTests {
    private static let customer = "/v1/customers/u_1/entitlements/pro?at=2025-06-15"

    /// An answer of verifyReceipt with one subscription row.
    private static func answer(
        _ status: Int64 = 0, bundle: String = "com.example.app", asked: String = "2025-06-02"
    ) -> JSON {
        let row = JSON(members: [
            "transaction_id": .string("1001"), "original_transaction_id": .string("1001"),
            "product_id": .string("pro.monthly"), "web_order_line_item_id": .string("91"),
            "purchase_date_ms": .string(String(instant("2025-06-01"))),
            "expires_date_ms": .string(String(instant("2025-07-01"))),
        ])
        return JSON(members: [
            "status": .integer(status),
            "receipt": JSON(members: [
                "bundle_id": .string(bundle),
                "request_date_ms": .string(String(instant(asked))),
            ]), "latest_receipt_info": .array([row]),
        ])
    }

    private static func instant(_ text: String) -> Int64 { Instant(text)!.milliseconds }

    /// Runs a test with a service whose receipts are asked about at two stand-ins.
    private func run(
        production: @escaping @Sendable (TestAPI.Call, Int) -> JSON,
        sandbox: @escaping @Sendable (TestAPI.Call, Int) -> JSON = { _, _ in
            JSON(members: ["status": .integer(21_008)])
        },
        _ body: (TestService, TestAPI, TestAPI) async throws -> Void
    ) async throws {
        try await TestAPI.run {
            TestAPI.Reply(200, production($0, $1))
        } _: { first async throws in
            try await TestAPI.run {
                TestAPI.Reply(200, sandbox($0, $1))
            } _: { second async throws in
                try await TestService.run { configuration in
                    let path = configuration.dataDirectory + "/secret"
                    _ = FileManager.default.createFile(
                        atPath: path, contents: Data("shared-secret".utf8))
                    configuration.apps[0].sharedSecret = .file(path)
                    configuration.apple.verifyReceipt = AppleEndpoints(
                        production: first.address + "/inApps/verifyReceipt",
                        sandbox: second.address + "/inApps/verifyReceipt")
                } _: { service async throws in
                    try await body(service, first, second)
                }
            }
        }
    }

    private func post(
        _ service: TestService, _ receipt: String = "cmVjZWlwdA==", customer: String? = "u_1"
    ) async throws -> TestService.Answer {
        try await service.ask(
            "POST", "/v1/apple/receipts",
            JSON(members: [
                "bundleId": .string("com.example.app"), "receiptData": .string(receipt),
                "customer": .text(customer),
            ]))
    }

    @Test("is asked about with the shared secret, and is the presenter's")
    func valid() async throws {
        try await run { _, _ in
            Self.answer()
        } _: { service, production, _ async throws in
            let answer = try await post(service, " cmVj\r\nZWlwdA ")
            #expect(answer.status == 200)
            #expect(answer["status"] == .integer(0))
            #expect(answer["environment"] == .string("Production"))
            let sent = production.calls[0].body
            #expect(sent?["receipt-data"] == .string("cmVjZWlwdA=="))
            #expect(sent?["password"] == .string("shared-secret"))
            #expect(sent?["exclude-old-transactions"] == nil)
            let held = try await service.ask("GET", Self.customer)
            #expect(held["active"] == .bool(true))
            #expect(held["until"] == .string("2025-07-01T00:00:00.000Z"))
            let again = try await post(service)
            #expect(again["duplicate"] == .bool(true))
            #expect(again["appended"] == .integer(0))
            #expect(again["position"] == answer["position"])
        }
    }

    @Test("of the sandbox is asked about there once, and no more when both point at each other")
    func environments() async throws {
        let other: @Sendable (TestAPI.Call, Int) -> JSON = { _, _ in
            JSON(members: ["status": .integer(21_007)])
        }
        try await run(production: other) { _, number in
            number == 1 ? Self.answer() : JSON(members: ["status": .integer(21_008)])
        } _: { service, production, sandbox async throws in
            #expect(try await post(service)["environment"] == .string("Sandbox"))
            #expect(try await post(service).status == 503)
            #expect(production.calls.count == 2)
            #expect(sandbox.calls.count == 2)
        }
    }

    @Test("is asked about again while Apple cannot say, and not once Apple said no")
    func statuses() async throws {
        let expected: [(status: Int64, answer: Int, code: String, calls: Int)] = [
            (21_005, 503, "SL132", 3), (21_199, 503, "SL132", 3), (21_002, 422, "SL133", 3),
            (21_003, 422, "SL133", 1), (21_010, 422, "SL133", 1),
        ]
        for (status, wanted, code, calls) in expected {
            try await run { _, _ in
                JSON(members: ["status": .integer(status)])
            } _: { service, production, _ async throws in
                let answer = try await post(service)
                #expect(answer.status == wanted, "\(status)")
                #expect(answer["code"] == .string(code), "\(status)")
                #expect(answer["retryable"] == .bool(wanted == 503), "\(status)")
                #expect(production.calls.count == calls, "\(status)")
                #expect(try await service.ask("GET", Self.customer)["active"] == .bool(false))
            }
        }
    }

    @Test("whose shared secret is refused raises an alarm that the doctor hears")
    func misconfigured() async throws {
        try await run { _, number in
            number == 1 ? JSON(members: ["status": .integer(21_004)]) : Self.answer()
        } _: { service, _, _ async throws in
            let gauge = "subledger_apple_misconfigured{app=\"com.example.app\"}"
            #expect(try await post(service)["code"] == .string("SL131"))
            #expect(try await figures(service).contains(gauge + " 1"))
            let heard = await Doctor.refusedSecret(service.ground, now: SystemClock.now)
            #expect(heard?.contains("com.example.app") == true)
            #expect(try await post(service).status == 200)
            #expect(try await figures(service).contains(gauge + " 0"))
        }
    }

    private func figures(_ service: TestService) async throws -> String {
        let response = try await service.ask("GET", "/metrics").response
        guard case .bytes(let bytes) = response.body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("of another app unlocks nothing")
    func bundles() async throws {
        try await run { _, _ in
            Self.answer(bundle: "com.example.other")
        } _: { service, _, _ async throws in
            let answer = try await post(service)
            #expect(answer.status == 422)
            #expect(answer["reason"] == .string("wrong_app"))
            #expect(try await service.ask("GET", Self.customer)["active"] == .bool(false))
        }
    }

    /// A receipt that a store signed, about one transaction.
    private func signed(_ store: TestStore, _ transaction: String) -> String {
        let purchase = ReceiptMaker.attributes([
            (1702, ReceiptMaker.text("pro.monthly")), (1703, ReceiptMaker.text(transaction)),
            (1704, ReceiptMaker.date("2025-06-01T00:00:00Z")),
            (1708, ReceiptMaker.date("2025-07-01T00:00:00Z")),
        ])
        return Base64.encode(
            ReceiptMaker.sign(
                ReceiptMaker.attributes([
                    (0, ReceiptMaker.text("Production")),
                    (2, ReceiptMaker.text("com.example.app")),
                    (12, ReceiptMaker.date("2025-06-02T10:00:00Z")), (17, purchase),
                ]), by: store))
    }

    @Test("leads to the history of whoever it is of, when an app is configured so")
    func history() async throws {
        try await AskingService.run { configuration in
            configuration.apps[0].receipts = .serverAPI
        } _: { asking async throws in
            let service = asking.service
            let page = try asking.sign(
                service.transaction("1001", from: "2025-06-01", until: "2025-07-01"))
            asking.script.change { $0.histories["1001"] = [page] }
            let forged = try await post(service, signed(try TestStore(), "1001"))
            #expect(forged["reason"] == .string("untrusted_root"))
            #expect(asking.production.calls.isEmpty)
            let unknown = try await post(service, signed(service.store, "1009"))
            #expect(unknown["reason"] == .string("unknown_transaction"))
            let answer = try await post(service, signed(service.store, "1001"))
            #expect(answer.status == 200)
            #expect(try await service.ask("GET", Self.customer)["active"] == .bool(true))
            #expect(
                try await asking.entries("1001") == ["purchased serverAPI", "linked serverAPI"])
            // Another's receipt of the same purchase is a claim, however far the history was read.
            let other = try await post(service, signed(service.store, "1001"), customer: "u_2")
            #expect(other["appended"] == .integer(1))
            #expect(try await asking.entries("1001").count == 3)
        }
    }

    @Test("of the older form says what to ask for, and speaks for nobody")
    func older() async throws {
        try await AskingService.run { configuration in
            configuration.apps[0].receipts = .serverAPI
        } _: { asking async throws in
            let page = try asking.sign(
                asking.service.transaction("1001", from: "2025-06-01", until: "2025-07-01"))
            asking.script.change { $0.histories["1001"] = [page] }
            let claims = Base64.encode(
                Array("{\"bid\" = \"com.example.app\"; \"transaction-id\" = \"1001\";}".utf8))
            let receipt = Base64.encode(
                Array("{\"purchase-info\" = \"\(claims)\"; \"signature\" = \"AA==\";}".utf8))
            #expect(try await post(asking.service, receipt).status == 200)
            #expect(try await asking.entries("1001") == ["purchased serverAPI"])
            #expect(
                try await asking.service.ask("GET", Self.customer)["active"] == .bool(false))
        }
    }
}
