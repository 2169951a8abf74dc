import Domain
import HTTP
import TestLives
import Testing

@testable import StoreSimulator

@Suite("verifyReceipt")
struct ReceiptTests {
    private func store(
        _ steps: [(String, Step)], until end: String, secret: String? = nil
    ) throws -> Store {
        let folder = try TestFolder()
        var app = StoreApp()
        app.sharedSecret = secret
        var world = World(
            app: app, pace: .life, products: Play.products, start: Play.start, seed: 7)
        let ada = world.add("ada", environment: .production)
        for (instant, step) in steps { world.agenda.add(.step(person: ada, step), at: at(instant)) }
        world.advance(to: at(end))
        return Store(
            authority: try Authority(directory: folder.path), world: world,
            clock: SimulatedClock(start: at(end), factor: 0), notifyURL: nil, retries: nil,
            faults: Faults())
    }

    private func ask(
        _ store: Store, _ body: String, in environment: Environment = .production,
        method: String = "POST"
    ) async throws -> JSON {
        let request = try Request(
            method: method, target: "/verifyReceipt", body: Array(body.utf8))
        let response = await store.verifyReceipt(request, in: environment)
        guard case .bytes(let bytes) = response.body else { return .null }
        return try JSON.parse(bytes)
    }

    private let receipt = ReceiptText(environment: .production, customer: "ada").text

    @Test("gives every period as rows of texts, the newest alone when that is asked for")
    func rows() async throws {
        let store = try store(
            [
                ("2025-01-01", .buy("pro.monthly")), ("2025-01-05", .buy("coins.100")),
                ("2025-02-10", .refund(.latest, percentage: 100_000)),
            ], until: "2025-03-15")
        let all = try await ask(store, "{\"receipt-data\":\"\(receipt)\"}")
        #expect(all["status"] == .integer(0))
        #expect(all["environment"] == .string("Production"))
        let rows = all["latest_receipt_info"]?.elements ?? []
        #expect(rows.count == 2)
        #expect(all["receipt"]?["in_app"]?.elements?.count == 3)
        #expect(rows.first?["expires_date_ms"] == .string("1740787200000"))
        #expect(rows.first?["expires_date"] == .string("2025-03-01 00:00:00 Etc/GMT"))
        #expect(
            rows.first?["expires_date_pst"] == .string("2025-02-28 16:00:00 America/Los_Angeles"))
        #expect(rows.first?["cancellation_date_ms"] == .string("1739145600000"))
        let pending = all["pending_renewal_info"]?.elements?.first
        #expect(pending?["auto_renew_status"] == .string("0"))
        let newest = try await ask(
            store, "{\"receipt-data\":\"\(receipt)\",\"exclude-old-transactions\":true}")
        #expect(newest["latest_receipt_info"]?.elements?.count == 1)
    }

    @Test("refuses with its statuses")
    func statuses() async throws {
        let store = try store(
            [("2025-01-01", .buy("pro.monthly"))], until: "2025-01-15", secret: "secret")
        func status(_ body: String, in environment: Environment = .production) async throws -> JSON?
        {
            try await ask(store, body, in: environment)["status"]
        }
        let good = "{\"receipt-data\":\"\(receipt)\",\"password\":\"secret\"}"
        #expect(try await status(good) == .integer(0))
        #expect(try await status(good, in: .sandbox) == .integer(21_008))
        let sandbox = ReceiptText(environment: .sandbox, customer: "ada").text
        #expect(try await status("{\"receipt-data\":\"\(sandbox)\"}") == .integer(21_007))
        #expect(try await status("{\"receipt-data\":\"\(receipt)\"}") == .integer(21_004))
        #expect(try await status("{\"receipt-data\":\"%%\"}") == .integer(21_002))
        #expect(try await status("{}") == .integer(21_002))
        let forged = ReceiptText(environment: .production, customer: "nobody").text
        #expect(try await status("{\"receipt-data\":\"\(forged)\"}") == .integer(21_003))
        let got = try await ask(store, "{}", method: "GET")["status"]
        #expect(got == .integer(21_000))
    }
}
