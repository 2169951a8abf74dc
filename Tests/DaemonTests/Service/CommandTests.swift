import Domain
import HTTP
import Testing

@testable import Daemon

@Suite("A command")
struct CommandTests {
    private let month = JSON(members: [
        "entitlement": .string("pro"), "from": .string("2025-06-15"),
        "until": .string("2025-08-01"), "reason": .string("apology"),
    ])

    @Test("that grants is answered with the grant, and its repeat with the first result")
    func grants() async throws {
        try await TestService.run { service in
            let path = "/v1/customers/u_1/grants"
            let key = [Header("Idempotency-Key", "k1")]
            let first = try await service.ask("POST", path, month, headers: key)
            #expect(first.status == 201 && first["appended"] == .integer(1))
            let again = try await service.ask("POST", path, month, headers: key)
            #expect(again.status == 201 && again["appended"] == .integer(0))
            #expect(again["grant"] == first["grant"] && again["position"] == first["position"])
            let granted = try await service.pro("u_1", at: "2025-07-01")
            #expect(granted["state"] == .string("granted"))
            let grant = try #require(first["grant"]?.text)
            #expect(try await service.ask("DELETE", "\(path)/\(grant)").status == 200)
            #expect(try await service.pro("u_1", at: "2025-07-01")["active"] == .bool(true))
            #expect(try await service.ask("DELETE", "\(path)/nothing").status == 404)
        }
    }

    @Test("that merges makes one customer read as another until it is undone")
    func merges() async throws {
        try await TestService.run { service in
            _ = try await service.post(
                service.transaction("1001", from: "2025-06-01", until: "2025-07-01"),
                customer: "anon")
            func post(_ verb: String, _ customer: String, _ into: String, _ at: String)
                async throws -> TestService.Answer
            {
                try await service.ask(
                    "POST", "/v1/customers/\(customer)/\(verb)",
                    JSON(members: ["into": .string(into), "at": .string(at)]))
            }
            #expect(try await post("merge", "anon", "u_1", "2025-06-10").status == 200)
            #expect(try await post("merge", "u_1", "anon", "2025-06-11").status == 409)
            #expect(try await post("merge", "anon", "u_2", "2025-06-11").status == 409)
            #expect(try await service.pro("u_1", at: "2025-06-11")["active"] == .bool(true))
            #expect(try await service.pro("anon", at: "2025-06-11")["active"] == .bool(true))
            #expect(try await post("unmerge", "anon", "u_1", "2025-06-12").status == 200)
            #expect(try await service.pro("u_1", at: "2025-06-13")["active"] == .bool(false))
            #expect(try await post("unmerge", "u_9", "u_1", "2025-06-12").status == 409)
        }
    }

    @Test("that merges or unmerges is done once for its key, and its repeat undoes nothing since")
    func repeatedMerges() async throws {
        try await TestService.run { service in
            for number in 1...2 {
                _ = try await service.post(
                    service.transaction(
                        "100\(number)", line: "100\(number)", from: "2025-06-01",
                        until: "2025-07-01"), customer: number == 1 ? "anon" : "u_1")
            }
            func post(_ verb: String, _ at: String, _ key: String)
                async throws -> TestService.Answer
            {
                try await service.ask(
                    "POST", "/v1/customers/anon/\(verb)",
                    JSON(members: ["into": .string("u_1"), "at": .string(at)]),
                    headers: [Header("Idempotency-Key", key)])
            }
            let merged = try await post("merge", "2025-06-10", "k1")
            #expect(merged.status == 200 && merged["appended"] == .integer(1))
            let undone = try await post("unmerge", "2025-06-12", "k1")
            #expect(undone.status == 200 && undone["appended"] == .integer(1))
            for (verb, at, first) in [
                ("merge", "2025-06-14", merged), ("unmerge", "2025-06-14", undone),
            ] {
                let again = try await post(verb, at, "k1")
                #expect(again.status == 200 && again["appended"] == .integer(0))
                #expect(again["position"] == first["position"])
            }
            let timeline = try await service.ask("GET", "/v1/entries?kind=merged")
            #expect(timeline["entries"]?.elements?.count == 1)
            #expect(try await post("merge", "2025-06-14", "k2")["appended"] == .integer(1))
            #expect(try await post("merge", "2025-06-14", "").status == 400)
        }
    }

    @Test("that replaces the catalogue never rewrites what was known")
    func catalog() async throws {
        try await TestService.run { service in
            let bought = try await service.post(
                service.transaction(
                    "50", line: "50", product: "new.monthly", from: "2025-06-01",
                    until: "2025-07-01"), customer: "u_1")
            let known = try #require(bought["position"]?.integer)
            let product = JSON(members: [
                "kind": .string("autoRenewable"), "group": .string("G9"),
                "plan": .string("P1M"), "entitlements": .array([.string("pro")]),
            ])
            let body = JSON(members: ["products": JSON(members: ["new.monthly": product])])
            let replaced = try await service.ask("PUT", "/v1/catalog", body)
            #expect(replaced.status == 200 && replaced["appended"] == .integer(1))
            #expect(
                try await service.ask("PUT", "/v1/catalog", body)["appended"] == .integer(0))
            #expect(try await service.pro("u_1", at: "2025-06-10")["active"] == .bool(true))
            let then = try await service.pro(
                "u_1", at: "2025-06-10", more: "&asKnownPosition=\(known)")
            #expect(then["active"] == .bool(false))
            let wrong = try await service.ask(
                "PUT", "/v1/catalog",
                JSON(members: ["products": JSON(members: ["p": JSON(members: [:])])]))
            #expect(wrong.status == 400)
            #expect(wrong["detail"]?.text?.contains("products.p.kind") == true)
        }
    }

    @Test("that judges what is held again keeps the time at which it was received")
    func reprocess() async throws {
        try await TestService.run { service in
            let early = service.transaction(
                "1001", from: "2025-06-01", until: "2025-07-01",
                bundle: "com.example.later")
            let held = try await service.post(early)
            #expect(
                held["results"]?.elements?.first?["quarantined"] == .string("wrong_app"))
            let listed = try await service.ask("GET", "/v1/quarantine")
            #expect(listed["quarantine"]?.elements?.count == 1)
            let same = try await service.ask("POST", "/v1/quarantine/reprocess", .object([]))
            #expect(same["believed"] == .integer(0))
            #expect(same["held"] == .object([.init("wrong_app", .integer(1))]))
            try await service.restarted {
                $0.apps.append(
                    AppConfiguration(
                        bundleID: "com.example.later", appAppleID: 2, environments: [.production]))
            } then: { later in
                let judged = try await later.ask("POST", "/v1/quarantine/reprocess", .object([]))
                #expect(judged["believed"] == .integer(1))
                let line = try await later.ask("GET", "/v1/lines/Production/1001?at=2025-06-10")
                #expect(line["state"] == .string("active"))
                let received = listed["quarantine"]?.elements?.first?["receivedAt"]
                let entries = try await later.ask("GET", "/v1/entries?line=1001")
                #expect(entries["entries"]?.elements?.first?["observedAt"] == received)
                let rest = try await later.ask("GET", "/v1/quarantine")
                #expect(rest["quarantine"]?.elements == [])
            }
        }
    }
}

@Suite("The interface")
struct InterfaceTests {
    @Test("describes every route that there is, and no other")
    func described() async throws {
        try await TestService.run { service in
            let document = try await service.ask("GET", "/openapi.json", key: nil)
            var described: Set<String> = []
            for path in document["paths"]?.members ?? [] {
                for operation in path.value.members ?? [] {
                    described.insert("\(operation.name.uppercased()) \(path.name)")
                    #expect(operation.value["summary"]?.text?.isEmpty == false)
                }
            }
            #expect(described == Set(OpenAPI.about.keys))
            #expect(described == Set(service.routes.map { "\($0.method) \($0.path)" }))
        }
    }

    @Test("answers many customers as of one position, and a transaction by any of its ids")
    func many() async throws {
        try await TestService.run { service in
            for number in 1...3 {
                _ = try await service.post(
                    service.transaction(
                        "10\(number)", line: "10\(number)", from: "2025-06-01",
                        until: "2025-07-01"), customer: "u_\(number)")
            }
            let customers = JSON(members: [
                "customers": .array(["u_2", "u_9", "u_1"].map(JSON.string))
            ])
            let bulk = try await service.ask(
                "POST", "/v1/entitlements?at=2025-06-10", customers)
            let answers = bulk["entitlements"]?.elements ?? []
            #expect(answers.map { $0["customer"]?.text } == ["u_2", "u_9", "u_1"])
            #expect(
                answers.map { $0["entitlements"]?["pro"]?["active"] } == [
                    .bool(true), nil, .bool(true),
                ])
            #expect(Set(answers.map { $0["position"] }) == [bulk["position"]])
            let found = try await service.ask("GET", "/v1/transactions/Production/102")
            #expect(found["originalTransactionId"] == .string("102"))
            #expect(found["period"]?["product"] == .string("pro.monthly"))
            #expect(try await service.ask("GET", "/v1/transactions/Sandbox/102").status == 404)
            let export = try await service.ask("GET", "/v1/customers/u_1/export")
            #expect((export["entries"]?.elements?.count ?? 0) == 2)
        }
    }
}
