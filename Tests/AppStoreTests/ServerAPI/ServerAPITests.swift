import AppStore
import Domain
import HTTP
import TestApple
import Testing

@Suite("The server API")
struct ServerAPITests {
    private static let answer = TestAPI.Reply(
        200, JSON(members: ["signedTransactionInfo": .string("signed")]))

    /// What asking for a transaction came to when the first answers were these and all others good.
    private func ask(
        _ replies: [TestAPI.Reply], _ check: (Result<String, ServerAPIError>, Asker) -> Void
    ) async throws {
        try await TestAPI.run { _, number in
            number <= replies.count ? replies[number - 1] : Self.answer
        } _: { api async throws in
            let asker = Asker()
            let server = try asker.ask(api)
            do throws(ServerAPIError) {
                check(.success(try await server.transaction("1002")), asker)
            } catch {
                check(.failure(error), asker)
            }
        }
    }

    @Test(
        "is asked again, with growing pauses, after what may pass",
        arguments: [
            .error(4_040_002), .error(4_040_004), .error(4_040_006), .error(5_000_001),
            TestAPI.Reply(500), TestAPI.Reply(502), TestAPI.Reply(503, .string("busy")),
        ])
    func passing(reply: TestAPI.Reply) async throws {
        try await ask([reply, reply, reply]) { result, asker in
            #expect(result == .success("signed"))
            #expect(asker.pauses == [50, 100, 200].map { .milliseconds($0) })
        }
        try await ask(Array(repeating: reply, count: 4)) { result, asker in
            guard case .failure(.failing) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(asker.steps.last == "transaction failed SL074")
            #expect(asker.steps.count { $0 == "transaction asked" } == 4)
            #expect(asker.steps.count { $0 == "transaction retried" } == 3)
        }
    }

    @Test(
        "is asked once where Apple's answer is final",
        arguments: [
            (.error(4_040_010), .unknown(code: 4_040_010)),
            (.error(4_040_001), .unknown(code: 4_040_001)),
            (.error(4_040_005), .unknown(code: 4_040_005)),
            (.error(4_040_003), .refused(status: 404, code: 4_040_003)),
            (.error(4_000_006), .refused(status: 400, code: 4_000_006)),
            (.error(4_030_004), .refused(status: 403, code: 4_030_004)),
            (TestAPI.Reply(400), .refused(status: 400, code: nil)),
            (TestAPI.Reply(302), .refused(status: 302, code: nil)),
            (TestAPI.Reply(401), .unauthorized),
            (TestAPI.Reply(200, .string("x")), .unreadable("it is a text, not an object")),
            (
                TestAPI.Reply(200, JSON(members: [:])),
                .unreadable("`signedTransactionInfo` is no text")
            ),
        ] as [(TestAPI.Reply, ServerAPIError)])
    func final(reply: TestAPI.Reply, expected: ServerAPIError) async throws {
        try await ask([reply]) { result, asker in
            #expect(result == .failure(expected))
            #expect(asker.pauses.isEmpty)
        }
    }

    @Test("is not asked for long after a general failure, which may be the question's own")
    func general() async throws {
        try await ask(Array(repeating: .error(5_000_000), count: 9)) { result, asker in
            #expect(result == .failure(.failing(status: 500, code: 5_000_000)))
            #expect(asker.steps.count { $0 == "transaction asked" } == 3)
        }
    }

    @Test("is not asked before the instant that Apple names when too much was asked")
    func limited() async throws {
        let until = Asker().now.adding(milliseconds: 90_000)
        let header = Header("Retry-After", String(until.milliseconds))
        try await ask([.error(4_290_000, headers: [header])]) { result, asker in
            #expect(result == .success("signed"))
            #expect(asker.pauses == [.milliseconds(90_050)])
        }
    }

    @Test("is asked after a pause of our own when that instant is past, and no more when too far")
    func limits() async throws {
        let past = Header("Retry-After", "1749556680000")
        try await ask([.error(4_290_000, headers: [past])]) { result, asker in
            #expect(result == .success("signed"))
            #expect(asker.pauses == [.milliseconds(50)])
        }
        let until = Asker().now.adding(milliseconds: 601_000)
        let far = Header("Retry-After", String(until.milliseconds))
        try await ask([.error(4_290_000, headers: [far])]) { result, asker in
            #expect(result == .failure(.limited(until: until)))
            #expect(asker.pauses.isEmpty)
        }
    }

    @Test("gets a new token when an old one is refused, and not again when a new one is")
    func unauthorized() async throws {
        try await TestAPI.run { _, number in
            number >= 2 ? TestAPI.Reply(401) : Self.answer
        } _: {
            api async throws in
            let asker = Asker()
            let server = try asker.ask(api)
            _ = try await server.transaction("1002")
            asker.pass(.seconds(61))
            for calls in [3, 4] {
                await #expect(throws: ServerAPIError.unauthorized) {
                    try await server.transaction("1002")
                }
                #expect(api.calls.count == calls)
            }
            #expect(Set(api.calls.map(\.token)).count == 2)
        }
    }

    @Test("is not asked any more by a task that was cancelled")
    func cancelled() async throws {
        try await TestAPI.run { _, _ in
            TestAPI.Reply(503)
        } _: { api async throws in
            let server = try Asker().ask(api)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await #expect(throws: ServerAPIError.cancelled) {
                    try await server.transaction("1002")
                }
            }
            await task.value
        }
    }

    @Test("is unreachable where nobody answers")
    func nobody() async throws {
        let api = try TestAPI { _, _ in Self.answer }
        await api.end()
        let asker = Asker()
        let server = try asker.ask(api, attempts: 2)
        do throws(ServerAPIError) {
            _ = try await server.transaction("1002")
            Issue.record("somebody answered")
        } catch {
            guard case .unreachable(.unreachable) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(asker.pauses == [.milliseconds(50)])
        }
    }
}
