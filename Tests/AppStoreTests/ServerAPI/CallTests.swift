import AppStore
import Domain
import HTTP
import TestApple
import Testing

@Suite("A call to the server API")
struct CallTests {
    /// Method, path, query and body of the one call that a body makes.
    private func made(
        _ reply: TestAPI.Reply, _ body: @Sendable (ServerAPI) async throws -> Void
    ) async throws -> String {
        var made = ""
        try await TestAPI.run { _, _ in
            reply
        } _: { api async throws in
            try await body(Asker().ask(api))
            let call = try #require(api.calls.first)
            #expect(api.calls.count == 1)
            made = "\(call.method) \(call.path)"
            if !call.query.isEmpty {
                made += "?" + call.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
            }
            if let body = call.body { made += " " + String(decoding: body.bytes(), as: UTF8.self) }
        }
        return made
    }

    private func reply(_ text: String) throws -> TestAPI.Reply {
        TestAPI.Reply(200, try JSON.parse(text))
    }

    @Test("asks for a history with the same filters on each page, and escapes what it names")
    func history() async throws {
        var filter = HistoryFilter()
        filter.from = Instant(milliseconds: 5)
        filter.to = Instant(milliseconds: 9)
        filter.products = ["a b", "c&d"]
        filter.types = ["CONSUMABLE"]
        filter.groups = ["G1"]
        filter.isRevoked = false
        let wanted = filter
        try await TestAPI.run { call, number in
            .history(
                ["signed\(number)"], revision: "r\(number)/=", hasMore: number < 3,
                environment: "Production")
        } _: { api async throws in
            var pages = try Asker().ask(api).history(of: "10/02", filter: wanted)
            var items: [String] = []
            while let page = try await pages.next() { items += page.items }
            #expect(items == ["signed1", "signed2", "signed3"])
            #expect(Set(api.calls.map(\.path)) == ["/v2/history/10%2F02"])
            let filters = [
                "startDate=5", "endDate=9", "revoked=false", "productId=a b", "productId=c&d",
                "productType=CONSUMABLE", "subscriptionGroupIdentifier=G1",
            ]
            let queries = api.calls.map { $0.query.map { "\($0.name)=\($0.value)" } }
            #expect(
                queries == [
                    filters, filters + ["revision=r1/="], filters + ["revision=r2/="],
                ])
        }
    }

    @Test("stops behind a page whose revision does not move on, and gives what is on it first")
    func stuck() async throws {
        for revision in ["r1", nil] {
            try await TestAPI.run { _, _ in
                .history(["a"], revision: revision, hasMore: true, environment: "Sandbox")
            } _: { api async throws in
                var pages = try Asker().ask(api).history(of: "1", after: "r1")
                #expect(try await pages.next()?.items == ["a"])
                for _ in 0..<2 {
                    await #expect(throws: ServerAPIError.stuck) { try await pages.next() }
                }
                #expect(api.calls.count == 1)
            }
        }
    }

    @Test("reads every line of every group of the statuses")
    func statuses() async throws {
        let answer = try reply(
            """
            {"environment": "Sandbox", "data": [{"subscriptionGroupIdentifier": "G1",
            "lastTransactions": [{"status": 2, "originalTransactionId": "1001",
            "signedTransactionInfo": "t1", "signedRenewalInfo": "r1"}]},
            {"subscriptionGroupIdentifier": "G2", "lastTransactions": [
            {"status": 9, "originalTransactionId": "1003", "signedTransactionInfo": "t3"}]}]}
            """)
        let made = try await made(answer) { server async throws in
            let page = try await server.statuses(of: "1003")
            #expect(page.environment == .sandbox)
            #expect(page.items.map(\.original) == ["1001", "1003"])
            #expect(page.items.map(\.status) == [2, 9])
            #expect(page.items.map(\.signedTransaction) == ["t1", "t3"])
            #expect(page.items.map(\.signedRenewal) == ["r1", nil])
        }
        #expect(made == "GET /v1/subscriptions/1003")
    }

    @Test("reads notifications with the attempts to send them, and pages by their token")
    func notifications() async throws {
        let item = #"{"signedPayload": "n", "sendAttempts": ["#
        let pages = [
            item + #"{"attemptDate": 7, "sendAttemptResult": "TIMED_OUT"}]}"#, item + "]}",
        ]
        try await TestAPI.run { call, number in
            let more = number == 1 ? #", "paginationToken": "p1", "hasMore": true"# : ""
            let text = #"{"notificationHistory": [\#(pages[number - 1])]\#(more)}"#
            return TestAPI.Reply(200, try? JSON.parse(text))
        } _: { api async throws in
            var pages = try Asker().ask(api).notifications(
                from: Instant(milliseconds: 3), to: Instant(milliseconds: 8))
            let first = try await pages.next()
            #expect(first?.items.first?.attempts.first?.at == Instant(milliseconds: 7))
            #expect(first?.items.first?.attempts.first?.result == "TIMED_OUT")
            #expect(try await pages.next()?.items.first?.attempts == [])
            #expect(try await pages.next() == nil)
            let body = JSON(members: ["startDate": .integer(3), "endDate": .integer(8)])
            #expect(api.calls.map(\.body) == [body, body])
            #expect(api.calls.map { $0.parameter("paginationToken") } == [nil, "p1"])
            #expect(api.calls.map(\.method) == ["POST", "POST"])
            #expect(api.calls.map(\.path).last == "/v1/notifications/history")
        }
    }

    @Test("asks for refunds, orders and tests where Apple answers them")
    func lookUps() async throws {
        let signed = try reply(#"{"signedTransactions": ["t"], "status": 0, "hasMore": false}"#)
        let refunds = try await made(signed) { server async throws in
            var pages = server.refunds(of: "1", after: "r7")
            #expect(try await pages.next()?.items == ["t"])
        }
        #expect(refunds == "GET /v2/refund/lookup/1?revision=r7")
        let order = try await made(signed) { server async throws in
            #expect(try await server.order("W1") == ["t"])
        }
        #expect(order == "GET /v1/lookup/W1")
        let none = try reply(#"{"signedTransactions": [], "status": 1}"#)
        _ = try await made(none) { server async throws in
            #expect(try await server.order("W2") == [])
        }
        let token = try reply(#"{"testNotificationToken": "abc"}"#)
        let test = try await made(token) { server async throws in
            #expect(try await server.requestTest() == "abc")
        }
        #expect(test == "POST /v1/notifications/test")
        let sent = try reply(#"{"signedPayload": "n", "sendAttempts": []}"#)
        let result = try await made(sent) { server async throws in
            #expect(try await server.test("abc").signedPayload == "n")
        }
        #expect(result == "GET /v1/notifications/test/abc")
    }

    @Test("changes at Apple what it is told to")
    func changes() async throws {
        let extended = try reply(#"{"success": true, "effectiveDate": 99}"#)
        let extending = try await made(extended) { server async throws in
            let given = Extension(days: 9, reason: .outage, request: "q1")
            #expect(try await server.extend("1001", by: given) == Instant(milliseconds: 99))
        }
        #expect(
            extending == #"PUT /v1/subscriptions/extend/1001 {"extendByDays":9,"#
                + #""extendReasonCode":3,"requestIdentifier":"q1"}"#)
        let telling = try await made(TestAPI.Reply(202)) { server async throws in
            let told = Consumption(delivery: "DELIVERED", hadSample: false, preference: "DECLINE")
            try await server.send(told, for: "1002")
        }
        #expect(
            telling == #"PUT /v2/transactions/consumption/1002 {"customerConsented":true,"#
                + #""deliveryStatus":"DELIVERED","sampleContentProvided":false,"#
                + #""refundPreference":"DECLINE"}"#)
        let setting = try await made(TestAPI.Reply(200)) {
            try await $0.setToken("u-1", on: "1001")
        }
        #expect(
            setting == #"PUT /v1/transactions/1001/appAccountToken {"appAccountToken":"u-1"}"#)
    }
}
