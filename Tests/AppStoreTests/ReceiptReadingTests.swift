import AppStore
import Domain
import Foundation
import Testing

@Suite("An answer about a receipt")
struct ReceiptReadingTests {
    private let interpreter = Interpreter(
        apps: [
            App(
                bundleId: "com.example.app", appAppleId: 1,
                environments: [.production, .sandbox])
        ], verifier: Verifier())

    private func origin(_ source: Source = .importedAnswer) -> AnswerOrigin {
        AnswerOrigin(
            bundle: "com.example.app", environment: nil, askedAt: nil,
            receivedAt: Instant("2026-01-01")!, source: source)
    }

    private func read(_ text: String, _ source: Source = .importedAnswer) throws(AnswerRefusal)
        -> ReceiptReading
    {
        try interpreter.answer(Array(text.utf8), from: origin(source))
    }

    private static func row(_ more: String = "") -> String {
        #"{"transaction_id": "11", "original_transaction_id": 10, "product_id": "pro", "#
            + #""purchase_date_ms": "1748736000000", "expires_date_ms": "1751328000000"\#(more)}"#
    }

    @Test("is read whatever its lists are, and its rows are one statement each")
    func shapes() throws {
        let shapes = [
            #"{"status": 0, "environment": "Production", "latest_receipt_info": [\#(Self.row())]}"#,
            #"{"status": "0", "environment": "PROD", "latest_receipt_info": \#(Self.row())}"#,
            #"{"status": 21006, "receipt": {"receipt_type": "Production", "bid": "com.example.app", "transaction_id": "11", "product_id": "old"}, "latest_expired_receipt_info": \#(Self.row())}"#,
            #"{"status": 0, "receipt": {"receipt_type": "Production", "in_app": [\#(Self.row())]}}"#,
        ]
        for (index, shape) in shapes.enumerated() {
            let reading = try read(shape)
            let statement = try #require(reading.observations.first?.transaction?.content)
            #expect(reading.observations.count == 1)
            #expect(statement.transaction == "11")
            #expect(statement.original == "10")
            #expect(statement.product == "pro")
            #expect(statement.environment == .production)
            #expect(statement.isPartial == (index == 3))
            // Nothing says when it was asked, so it is as old as its newest purchase.
            #expect(statement.signedAt == Instant("2025-06-01"))
        }
    }

    @Test("has dates in five notations, of which milliseconds win")
    func dates() throws {
        let notations = [
            #""cancellation_date_ms": "1749556680000", "cancellation_date": "2020-01-01 00:00:00 Etc/GMT""#,
            #""cancellation_date": "2025-06-10 11:58:00 Etc/GMT""#,
            #""cancellation_date": "1749556680000""#,
            #""cancellation_date_pst": "2025-06-10 04:58:00 America/Los_Angeles""#,
            #""cancellation_date_formatted": "2025-06-10 11:58:00 Etc/GMT""#,
        ]
        for notation in notations {
            let reading = try read(
                #"{"status": 0, "environment": "Sandbox", "latest_receipt_info": [\#(Self.row(", " + notation))]}"#
            )
            let statement = reading.observations.first?.transaction?.content
            #expect(statement?.revokedAt == Instant("2025-06-10T11:58:00Z"), "\(notation)")
        }
        let winter = try read(
            #"{"status": 0, "environment": "Sandbox", "latest_receipt_info": [\#(Self.row(#", "cancellation_date_pst": "2025-01-10 03:58:00 America/Los_Angeles""#))]}"#
        )
        #expect(
            winter.observations.first?.transaction?.content.revokedAt
                == Instant("2025-01-10T11:58:00Z"))
    }

    @Test("keeps what can be read of it, and says what cannot")
    func unreadable() throws {
        let broken = #"{"transaction_id": "12", "product_id": "pro", "purchase_date_ms": "soon"}"#
        let reading = try read(
            #"{"status": 0, "environment": "Sandbox", "latest_receipt_info": [\#(broken), \#(Self.row())]}"#
        )
        #expect(reading.observations.count == 1)
        #expect(reading.unreadable.count == 1)
        #expect(reading.unreadable[0].contains("purchase_date_ms"))
    }

    @Test("that is a version 1 notification is recorded as one, without the shared secret")
    func versionOne() throws {
        let body = { (rows: String) in
            #"{"notification_type": "CONSUMPTION_REQUEST", "environment": "PROD", "bid": "com.example.app", "password": "a-secret", "unified_receipt": {"status": 0, "environment": "Production", "latest_receipt_info": [\#(rows)]}}"#
        }
        let empty = try read(body(""))
        #expect(empty.observations.count == 1)
        #expect(empty.observations[0].notice?.type == "CONSUMPTION_REQUEST")
        #expect(empty.observations[0].stream?.line == nil)
        #expect(!String(decoding: empty.text, as: UTF8.self).contains("a-secret"))
        let full = try read(body(Self.row()))
        #expect(full.observations.count == 2)
        #expect(full.observations.allSatisfy { $0.stream?.line?.original == "10" })
    }

    @Test("is of another statement when the same words were asked for at another time")
    func sameness() throws {
        let asked = { (time: String) in
            #"{"status": 0, "environment": "Sandbox", "receipt": {"request_date_ms": "\#(time)"}, "latest_receipt_info": [\#(Self.row())]}"#
        }
        let prints = try ["1750000000000", "1750000000000", "1750000000001"].map {
            try read(asked($0)).observations.first?.transaction?.fingerprint
        }
        #expect(prints[0] == prints[1])
        #expect(prints[1] != prints[2])
    }

    @Test("is refused for its status, for another app and for what the app does not list")
    func refused() {
        #expect(throws: AnswerRefusal.status(21_003, .refused)) { try read(#"{"status": 21003}"#) }
        #expect(throws: AnswerRefusal.self) { try read("[]") }
        let other =
            #"{"status": 0, "environment": "Sandbox", "receipt": {"bundle_id": "com.example.other"}}"#
        let nobody = #"{"status": 0, "environment": "Sandbox"}"#
        for (text, source, reason) in [
            (other, Source.importedAnswer, HoldReason.wrongApp),
            (nobody, .receipt, .wrongApp),
            (#"{"status": 0, "environment": "Xcode"}"#, .importedAnswer, .environmentNotAllowed),
            (#"{"status": 0}"#, .importedAnswer, .environmentUnknown),
            (
                #"{"status": 0, "environment": "Sandbox", "receipt": {"request_date_ms": "1800000000000"}}"#,
                .importedAnswer, .futureSigned
            ),
        ] {
            do {
                _ = try read(text, source)
                Issue.record("believed: \(text)")
            } catch {
                guard case .held(reason, _) = error else {
                    Issue.record("\(error): \(text)")
                    continue
                }
            }
        }
    }

    @Test("has statuses of which each asks for one thing")
    func statuses() {
        let kinds: [(Int64, Bool?, ReceiptStatus)] = [
            (0, nil, .valid), (21_006, nil, .valid), (21_007, nil, .otherEnvironment),
            (21_008, nil, .otherEnvironment), (21_002, nil, .unreadable),
            (21_000, nil, .misconfigured), (21_004, nil, .misconfigured), (21_003, nil, .refused),
            (21_010, nil, .refused), (21_005, nil, .unavailable), (21_009, nil, .unavailable),
            (21_100, true, .unavailable), (21_150, nil, .unavailable), (21_199, false, .refused),
        ]
        for (status, isRetryable, kind) in kinds {
            #expect(ReceiptStatus(status, isRetryable: isRetryable) == kind, "\(status)")
        }
    }
}
