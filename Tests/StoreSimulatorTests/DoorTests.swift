import Crypto
import Domain
import HTTP
import TestLives
import Testing

@testable import StoreSimulator

/// A store behind its doors, whose clock stands still until it is moved.
private struct Shop {
    let store: Store
    private let folder: TestFolder

    init(_ steps: [(String, Step)], until end: String, notify: String? = nil) throws {
        folder = try TestFolder()
        store = Store(
            authority: try Authority(directory: folder.path), world: Play(steps, until: end).world,
            clock: SimulatedClock(start: at(end), factor: 0), notifyURL: notify, retries: nil,
            faults: Faults())
    }

    /// What the server API answers, past its guards.
    func ask(
        _ method: String = "GET", _ target: String, _ body: JSON? = nil,
        in environment: Environment = .production
    ) async throws -> (status: Int, json: JSON) {
        let request = try Request(
            method: method, target: target, body: body?.bytes() ?? [])
        let call = APICall(
            environment: environment, method: method, path: request.segments,
            query: request.query, body: request.body)
        let response = await store.answer(past: call)
        guard case .bytes(let bytes) = response.body, !bytes.isEmpty else {
            return (response.status, .null)
        }
        return (response.status, try JSON.parse(bytes))
    }

    /// The payloads of signed texts.
    static func payloads(_ list: JSON?) -> [JSON] {
        (list?.elements ?? []).compactMap { payload($0.text) }
    }

    static func payload(_ text: String?) -> JSON? {
        guard let part = text?.split(separator: ".").dropFirst().first,
            let bytes = Base64.decode(String(part))
        else { return nil }
        return try? JSON.parse(bytes)
    }

    /// All pages of a history.
    func pages(_ target: String) async throws -> (ids: [String], sizes: [Int], revision: String) {
        var ids: [String] = []
        var sizes: [Int] = []
        var revision: String?
        while true {
            let mark = target.contains("?") ? "&" : "?"
            let more = revision.map { "\(mark)revision=\($0)" } ?? ""
            let page = try await ask("GET", target + more).json
            let found = Shop.payloads(page["signedTransactions"])
            ids += found.compactMap { $0["transactionId"]?.text }
            sizes.append(found.count)
            revision = page["revision"]?.text
            if page["hasMore"]?.bool != true { return (ids, sizes, revision ?? "") }
        }
    }
}

extension Store {
    /// Answers a call that has shown who it is.
    fileprivate func answer(past call: APICall) -> Response {
        advance()
        do throws(APIError) {
            return try route(call)
        } catch {
            return error.response()
        }
    }

    fileprivate func take(_ step: Step) -> String? { world.take(step, by: 0) }
}

@Suite("The server API's door")
struct DoorTests {
    private let long: [(String, Step)] = (0..<45).map { day in
        (at("2025-01-01").adding(days: day).description, .buy("coins.100"))
    }

    @Test("gives a history by twenties, in the order of change, each transaction once")
    func pages() async throws {
        let shop = try Shop(long, until: "2025-03-01")
        let world = await shop.store.world
        let all = world.transactions.map(\.id)
        let up = try await shop.pages("/inApps/v2/history/\(all[7])")
        #expect(up.ids == all)
        #expect(up.sizes == [20, 20, 5])
        let down = try await shop.pages("/inApps/v2/history/\(all[7])?sort=DESCENDING")
        #expect(down.ids == all.reversed())
    }

    @Test("gives from a final revision on only what changed since")
    func resumes() async throws {
        let shop = try Shop(long, until: "2025-03-01")
        let all = await shop.store.world.transactions.map(\.id)
        let target = "/inApps/v2/history/\(all[0])"
        let revision = try await shop.pages(target).revision
        let nothing = try await shop.ask("GET", "\(target)?revision=\(revision)").json
        #expect(nothing["signedTransactions"] == .array([]))
        #expect(nothing["hasMore"] == .bool(false))
        #expect(nothing["revision"] == .string(revision))
        #expect(await shop.store.take(.refund(.transaction(all[3]), percentage: 100_000)) == nil)
        #expect(await shop.store.take(.buy("coins.100")) == nil)
        let changed = try await shop.ask("GET", "\(target)?revision=\(revision)").json
        let payloads = Shop.payloads(changed["signedTransactions"])
        #expect(payloads.first?["transactionId"] == .string(all[3]))
        #expect(payloads.first?["revocationType"] == .string("REFUND_FULL"))
        #expect(payloads.count == 2)
        let refunds = try await shop.ask("GET", "/inApps/v2/refund/lookup/\(all[0])").json
        #expect(
            Shop.payloads(refunds["signedTransactions"]).map { $0["transactionId"] }
                == [.string(all[3])])
    }

    @Test("takes a revision under the same filters only")
    func filters() async throws {
        let shop = try Shop(long, until: "2025-03-01")
        let id = await shop.store.world.transactions[0].id
        let target = "/inApps/v2/history/\(id)?productType=CONSUMABLE"
        let revision = try await shop.pages(target).revision
        let same = try await shop.ask("GET", "\(target)&revision=\(revision)")
        #expect(same.status == 200)
        let other = try await shop.ask("GET", "/inApps/v2/history/\(id)?revision=\(revision)")
        #expect(other.json["errorCode"] == .integer(4_000_005))
        let none = try await shop.ask("GET", "/inApps/v2/history/\(id)?productType=AUTO_RENEWABLE")
        #expect(none.json["signedTransactions"] == .array([]))
        let early = try await shop.ask(
            "GET",
            "/inApps/v2/history/\(id)?endDate=\(at("2025-01-04").milliseconds)&revoked=False")
        #expect(Shop.payloads(early.json["signedTransactions"]).count == 3)
    }

    @Test(
        "refuses with the store's own codes",
        arguments: [
            ("/inApps/v1/transactions/1", 404, 4_040_010),
            ("/inApps/v1/transactions/abc", 400, 4_000_006),
            ("/inApps/v2/history/ID?sort=UP", 400, 4_000_021),
            ("/inApps/v2/history/ID?startDate=2&endDate=1", 400, 4_000_013),
            ("/inApps/v2/history/ID?revision=x", 400, 4_000_005),
            ("/inApps/v2/history/ID?revoked=maybe", 400, 4_000_030),
            ("/inApps/v1/subscriptions/ID?status=9", 400, 4_000_031),
            ("/inApps/v1/notifications/test/x_1", 404, 4_040_008),
        ])
    func refuses(target: String, status: Int, code: Int64) async throws {
        let shop = try Shop([("2025-01-01", .buy("pro.monthly"))], until: "2025-01-15")
        let id = await shop.store.world.transactions[0].id
        let answer = try await shop.ask("GET", target.replacing("ID", with: id))
        #expect(answer.status == status)
        #expect(answer.json["errorCode"] == .integer(code))
        let elsewhere = try await shop.ask("GET", "/inApps/v1/transactions/\(id)", in: .sandbox)
        #expect(elsewhere.json["errorCode"] == .integer(4_040_010))
    }

    @Test("tells statuses with the latest transaction and renewal info of each chain")
    func statuses() async throws {
        let shop = try Shop(
            [("2025-01-01", .buy("pro.monthly")), ("2025-01-10", .fail)], until: "2025-02-03")
        let id = await shop.store.world.transactions[0].id
        let answer = try await shop.ask("GET", "/inApps/v1/subscriptions/\(id)").json
        let group = try #require(answer["data"]?.elements?.first)
        let last = try #require(group["lastTransactions"]?.elements?.first)
        #expect(group["subscriptionGroupIdentifier"] == .string("G1"))
        #expect(last["status"] == .integer(4))
        let renewal = try #require(Shop.payload(last["signedRenewalInfo"]?.text))
        #expect(renewal["gracePeriodExpiresDate"] == .instant(at("2025-02-17")))
        #expect(renewal["isInBillingRetryPeriod"] == .bool(true))
        let filtered = try await shop.ask("GET", "/inApps/v1/subscriptions/\(id)?status=1").json
        #expect(filtered["data"] == .array([]))
    }

    @Test("extends a period twice a year, and once for one request")
    func extends() async throws {
        let shop = try Shop([("2025-01-01", .buy("pro.monthly"))], until: "2025-01-15")
        let id = await shop.store.world.transactions[0].id
        func extend(_ request: String, days: Int64 = 10) async throws -> (status: Int, json: JSON) {
            try await shop.ask(
                "PUT", "/inApps/v1/subscriptions/extend/\(id)",
                JSON(members: [
                    "extendByDays": .integer(days), "extendReasonCode": .integer(1),
                    "requestIdentifier": .string(request),
                ]))
        }
        #expect(try await extend("a").json["effectiveDate"] == .instant(at("2025-02-11")))
        #expect(try await extend("a").json["effectiveDate"] == .instant(at("2025-02-11")))
        #expect(try await extend("b").json["effectiveDate"] == .instant(at("2025-02-21")))
        #expect(try await extend("c").json["errorCode"] == .integer(4_030_005))
        #expect(try await extend("d", days: 91).json["errorCode"] == .integer(4_000_009))
        #expect(
            await shop.store.world.notices.map(\.type).suffix(2) == [
                "RENEWAL_EXTENDED", "RENEWAL_EXTENDED",
            ])
    }

    @Test("gives the notifications between two instants by twenties")
    func notificationHistory() async throws {
        let shop = try Shop(long, until: "2025-03-01")
        var found: [String] = []
        var token: String?
        let body = JSON(members: [
            "startDate": .instant(at("2025-01-11")), "endDate": .instant(at("2025-02-10")),
        ])
        var sizes: [Int] = []
        repeat {
            let query = token.map { "?paginationToken=\($0)" } ?? ""
            let page = try await shop.ask("POST", "/inApps/v1/notifications/history\(query)", body)
            let items = page.json["notificationHistory"]?.elements ?? []
            found += items.compactMap {
                Shop.payload($0["signedPayload"]?.text)?["notificationUUID"]?.text
            }
            sizes.append(items.count)
            token = page.json["paginationToken"]?.text
        } while token != nil
        let expected = await shop.store.world.notices
            .filter { at("2025-01-11") <= $0.signedAt && $0.signedAt < at("2025-02-10") }
        #expect(found == expected.map(\.uuid))
        #expect(sizes == [20, 10])
        let both = try await shop.ask(
            "POST", "/inApps/v1/notifications/history",
            JSON(members: [
                "startDate": .integer(1_740_000_000_000), "endDate": .integer(1_745_000_000_000),
                "notificationType": .string("TEST"), "transactionId": .string("1"),
            ]))
        #expect(both.json["errorCode"] == .integer(4_000_019))
        let old = try await shop.ask(
            "POST", "/inApps/v1/notifications/history",
            JSON(members: ["startDate": .integer(0), "endDate": .integer(1)]))
        #expect(old.json["errorCode"] == .integer(4_000_012))
    }

    @Test("gives a chain's next transactions the token that was set")
    func token() async throws {
        let shop = try Shop([("2025-01-01", .buy("pro.monthly"))], until: "2025-01-15")
        let id = await shop.store.world.transactions[0].id
        let token = "0f0e0d0c-0b0a-4908-8706-050403020100"
        let set = try await shop.ask(
            "PUT", "/inApps/v1/transactions/\(id)/appAccountToken",
            JSON(members: ["appAccountToken": .string(token)]))
        #expect(set.status == 200)
        let info = try await shop.ask("GET", "/inApps/v1/transactions/\(id)").json
        #expect(
            Shop.payload(info["signedTransactionInfo"]?.text)?["appAccountToken"]
                == .string(token))
        let bad = try await shop.ask(
            "PUT", "/inApps/v1/transactions/\(id)/appAccountToken",
            JSON(members: ["appAccountToken": .string("x")]))
        #expect(bad.json["errorCode"] == .integer(4_000_183))
    }
}
