import AppStore
import Crypto
import Domain
import TestSigner

/// A store, an app that trusts it, and what the store may say.
struct Sample {
    static let receivedAt = Instant(milliseconds: 1_750_000_000_000)
    static let token = "957A6481-d9b4-4fe5-b099-141dfe8623f6"

    let store: TestStore
    let interpreter: Interpreter
    let verifier: Verifier

    init(_ store: TestStore? = nil, environments: [Environment] = [.production, .sandbox]) throws {
        let store = try store ?? TestStore()
        self.store = store
        verifier = Verifier(roots: [store.root])
        interpreter = Interpreter(
            apps: [
                App(bundleId: "com.example.app", appAppleId: 1_001, environments: environments)
            ], verifier: verifier)
    }

    /// A signed transaction whose members are added to, or replaced by, these.
    func transaction(_ changes: [String: String?] = [:]) throws -> String {
        try store.sign(Sample.transactionPayload(changes))
    }

    /// A signed renewal info whose members are added to, or replaced by, these.
    func renewal(_ changes: [String: String?] = [:]) throws -> String {
        try store.sign(
            Sample.object(
                [
                    "originalTransactionId": "\"1001\"", "productId": "\"pro.monthly\"",
                    "autoRenewProductId": "\"pro.yearly\"", "autoRenewStatus": "1",
                    "renewalDate": "1752500000000", "signedDate": "1749999990000",
                    "environment": "\"Sandbox\"", "appAccountToken": "\"\(Sample.token)\"",
                ], changes))
    }

    /// A signed notification about that transaction and renewal info.
    func notification(
        _ changes: [String: String?] = [:], data: [String: String?] = [:]
    ) throws -> String {
        let body = Sample.object(
            [
                "bundleId": "\"com.example.app\"", "environment": "\"Sandbox\"", "status": "1",
                "signedTransactionInfo": "\"\(try transaction())\"",
                "signedRenewalInfo": "\"\(try renewal())\"",
            ], data)
        return try store.sign(
            Sample.object(
                [
                    "notificationType": "\"DID_RENEW\"",
                    "notificationUUID": "\"00000000-0000-4000-8000-000000000001\"",
                    "version": "\"2.0\"", "signedDate": "1749999990000", "data": body,
                ], changes))
    }

    static func transactionPayload(_ changes: [String: String?] = [:]) -> String {
        object(
            [
                "transactionId": "\"1002\"", "originalTransactionId": "\"1001\"",
                "webOrderLineItemId": "\"9002\"", "bundleId": "\"com.example.app\"",
                "productId": "\"pro.monthly\"", "purchaseDate": "1749900000000",
                "originalPurchaseDate": "1740000000000", "expiresDate": "1752500000000",
                "quantity": "1", "type": "\"Auto-Renewable Subscription\"",
                "inAppOwnershipType": "\"PURCHASED\"", "signedDate": "1749999990000",
                "environment": "\"Sandbox\"", "transactionReason": "\"RENEWAL\"",
                "price": "9990", "currency": "\"USD\"", "appAccountToken": "\"\(token)\"",
            ], changes)
    }

    static func object(_ members: [String: String], _ changes: [String: String?]) -> String {
        var members = members
        for (name, value) in changes { members[name] = value }
        let texts = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
        return "{" + texts.joined(separator: ",") + "}"
    }

    func notify(_ text: String, at instant: Instant = receivedAt) -> Outcome {
        interpreter.notification(Array(text.utf8), receivedAt: instant)
    }

    func state(_ text: String, at instant: Instant = receivedAt) -> Outcome {
        interpreter.transaction(Array(text.utf8), receivedAt: instant)
    }
}
