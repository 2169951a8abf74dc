import Crypto
import Domain
import Testing

@testable import Daemon

@Suite("The feed")
struct FeedTests {
    @Test("gives entries in order, by filters, page by page")
    func pages() async throws {
        try await TestService.run { service in
            for number in 1...5 {
                let line = "10\(number)"
                _ = try await service.post(
                    service.transaction(line, line: line, from: "2025-05-01", until: "2025-06-01"),
                    customer: "u_\(number)")
            }
            let page = try await service.ask("GET", "/v1/entries?after=2&limit=3")
            let positions = (page["entries"]?.elements ?? []).compactMap { $0["position"]?.integer }
            #expect(positions == [3, 4, 5] && page["next"] == .integer(5))
            let line = try await service.ask("GET", "/v1/entries?line=103&kind=purchased")
            #expect(line["entries"]?.elements?.count == 1 && line["next"] == nil)
            let customer = try await service.ask("GET", "/v1/entries?customer=u_2")
            let streams = (customer["entries"]?.elements ?? []).map { $0["stream"]?.text }
            #expect(streams == ["apple/Production/102", "apple/Production/102"])
        }
    }

    @Test("waits for an entry that is not there yet")
    func waits() async throws {
        try await TestService.run { service in
            async let waiting = service.ask("GET", "/v1/entries?after=2&wait=20")
            let posted = try await service.post(
                service.transaction("1001", from: "2025-05-01", until: "2025-06-01"))
            let answer = try await waiting
            #expect(answer["entries"]?.elements?.first?["position"] == posted["position"])
        }
    }

    @Test("has a head whose signature covers the rest of it")
    func head() async throws {
        try await TestService.run { service in
            let answer = try await service.ask("GET", "/v1/ledger/head", key: nil)
            let said = JSON.object((answer.json.members ?? []).filter { $0.name != "signature" })
            let signature = try #require(Base64.decode(answer["signature"]?.text ?? ""))
            let key = try HeadKey.load(service.configuration.dataDirectory)
            #expect(key.publicKey.isValid(signature, for: said.canonicalBytes()))
        }
    }
}
