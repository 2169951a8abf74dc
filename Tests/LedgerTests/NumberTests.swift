import Domain
import Ledger
import Postgres
import Testing

private let token = "6f1c6ad5-2c4f-4a50-8f5f-3a1d1f6cc0a1"

@Suite("The numbers of customers and tokens")
struct NumberTests {
    private func numbers(_ ledger: TestLedger) async throws -> [String: Int64] {
        let rows = try await ledger.superuser.query(
            """
            select 'token ' || token, number from operation.token \
            union all select 'customer ' || id, number from operation.customer
            """)
        return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.text(0), try $0.int8(1)) })
    }

    @Test("are drawn once and stored together with the entries that name them")
    func drawn() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let first = try await writer.append(Command.bind(token, to: "Ann"))
            _ = try await writer.append(Command.bind(token, to: "Ann"))
            let refusal = await failure { () throws(AppendError) in
                try await writer.append(Command.bind(token, to: "Bob"))
            }
            #expect(refusal == .refused(.tokenBoundToOther))
            await writer.close()
            let numbers = try await numbers(ledger)
            // Nothing names Bob, so nothing is known of him.
            #expect(Set(numbers.keys) == ["token \(token)", "customer Ann"])
            #expect(first.known.customers["Ann"]?.number == numbers["customer Ann"])
            #expect(
                try await ledger.entries().map(\.event.subject?.number) == [numbers["customer Ann"]]
            )
        }
    }

    @Test(
        "are one when a customer's id is a token, in whatever case and order they come",
        arguments: [token, token.uppercased()], [0, 1, 2])
    func unified(_ id: String, _ order: Int) async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let customer = Command.meet(customer: id)
            let asToken = Command.meet(token: token)
            switch order {
            case 0:
                _ = try await writer.append(customer)
                _ = try await writer.append(asToken)
            case 1:
                _ = try await writer.append(asToken)
                _ = try await writer.append(customer)
            default:
                async let first = writer.append(customer)
                async let second = writer.append(asToken)
                _ = try await (first, second)
            }
            await writer.close()
            // Whoever starts anew finds the same number.
            let other = ledger.writer()
            let again = try await other.append(Command.meet(customer: id, token: token))
            await other.close()
            let numbers = try await numbers(ledger)
            #expect(Set(numbers.keys) == ["token \(token)", "customer \(id)"])
            #expect(Set(numbers.values).count == 1)
            #expect(again.known.customers[id] == again.known.tokens[token])
            #expect(Set(try await ledger.entries().map(\.event.stream)).count == 1)
        }
    }

    @Test("are one for both spellings of a UUID, and two for other ids that differ in case")
    func spellings() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            let ids = [token, token.uppercased(), "Ann", "ann"]
            let answers = try await withThrowingTaskGroup(of: Appended.self) { group in
                for id in ids {
                    group.addTask { try await writer.append(Command.meet(customer: id)) }
                }
                return try await group.reduce(into: [Appended]()) { $0.append($1) }
            }
            var numbers: [String: CustomerNumber] = [:]
            for answer in answers { numbers.merge(answer.known.customers) { $1 } }
            #expect(Set(numbers.keys) == Set(ids))
            #expect(numbers[token] == numbers[token.uppercased()])
            #expect(numbers["Ann"] != numbers["ann"])
            await writer.close()
            #expect(try await ledger.number("select count(*) from operation.customer") == 3)
        }
    }

    @Test("of a token in held evidence is that of the customer whose id it is")
    func held() async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            _ = try await writer.append(Command.meet(customer: token.uppercased()))
            _ = try await HeldStore(ledger.pool).keep(
                .sample("held", header: "header", tokens: [token]), reason: "wrong_app",
                detail: "", draw: drawAnyNumber)
            let met = try await writer.append(Command.meet(token: token))
            await writer.close()
            #expect(Set(try await numbers(ledger).values).count == 1)
            #expect(met.known.tokens[token] != nil)
        }
    }

    @Test("are what is kept of those who presented held evidence, and forgotten with them")
    func presenters() async throws {
        try await withLedger { ledger in
            let store = HeldStore(ledger.pool)
            let reader = HeldReader(ledger.pool)
            let writer = ledger.writer()
            let ann = try await writer.append(Command.meet(customer: "Ann")).known.customers["Ann"]
            await writer.close()
            func hold(_ presenter: String?, _ milliseconds: Int64) async throws {
                var evidence = Evidence.sample("held", header: "header")
                evidence.receivedAt = base.adding(milliseconds: milliseconds)
                _ = try await store.keep(
                    evidence, reason: "wrong_app", detail: "", presenter: presenter,
                    draw: drawAnyNumber)
            }
            func presenters() async throws -> [String] {
                try await reader.pieces(atMost: 10).flatMap { piece in
                    piece.presenters.map {
                        "\($0.customer) \($0.at.milliseconds - base.milliseconds)"
                    }
                }
            }
            try await hold("Ann", 1)
            for (presenter, at) in [("Bob B", 2), (nil, 3), ("Ann", 4), ("Bob B", 5)] {
                try await hold(presenter, Int64(at))
            }
            #expect(try await presenters() == ["Ann 1", "Bob B 2"])
            #expect(
                try await ledger.number("select presented_by from ledger.held") == ann?.number)
            #expect(try await ledger.number("select count(*) from operation.customer") == 2)
            try await ledger.superuser.execute(
                script: "delete from operation.customer where id = 'Ann'")
            #expect(try await presenters() == ["Bob B 2"])
        }
    }

    @Test("of a presenter whose id is a token is that of the token")
    func presentingToken() async throws {
        try await withLedger { ledger in
            let store = HeldStore(ledger.pool)
            for (name, presenter) in [("a", token.uppercased()), ("b", token)] {
                _ = try await store.keep(
                    .sample(name, header: "header", tokens: [token]), reason: "wrong_app",
                    detail: "", presenter: presenter, draw: drawAnyNumber)
            }
            let numbers = try await numbers(ledger)
            #expect(Set(numbers.keys) == ["token \(token)", "customer \(token.uppercased())"])
            #expect(Set(numbers.values).count == 1)
        }
    }
}
