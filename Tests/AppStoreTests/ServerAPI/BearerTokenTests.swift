import Crypto
import Domain
import Testing

@testable import AppStore

@Suite("A bearer token")
struct BearerTokenTests {
    private let key = P256.PrivateKey()
    private let now = Instant(milliseconds: 1_750_000_000_999)

    private func tokens() throws -> BearerTokens {
        BearerTokens(
            try ServerAPIKey(issuerID: "issuer-1", keyID: "KEY1", pem: key.pem()),
            bundleID: "com.example.app")
    }

    @Test("says who asks about which app, in whole seconds, and is signed with the key")
    func claims() throws {
        let parts = try tokens().token(now: now).text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let read = try parts.prefix(2).map { try JSON.parse(#require(Base64.decode($0))) }
        #expect(
            read[0]
                == JSON(members: [
                    "alg": .string("ES256"), "kid": .string("KEY1"), "typ": .string("JWT"),
                ]))
        #expect(
            read[1]
                == JSON(members: [
                    "iss": .string("issuer-1"), "iat": .integer(1_750_000_000),
                    "exp": .integer(1_750_000_900), "aud": .string("appstoreconnect-v1"),
                    "bid": .string("com.example.app"),
                ]))
        let signed = Array((parts[0] + "." + parts[1]).utf8)
        let signature = try #require(Base64.decode(parts[2]))
        #expect(try key.publicKey.isValid(signature, for: signed))
    }

    @Test("is used for ten minutes, and replaced five minutes before it ends")
    func reuse() throws {
        let tokens = try tokens()
        let first = try tokens.token(now: now)
        let last = try tokens.token(now: now.adding(milliseconds: 599_999))
        #expect(first.age == 0 && last.age == 599_999 && last.text == first.text)
        let next = try tokens.token(now: now.adding(milliseconds: 600_000))
        #expect(next.age == 0 && next.text != first.text)
    }

    @Test("of a clock that was put back is not used")
    func clock() throws {
        let tokens = try tokens()
        let first = try tokens.token(now: now)
        #expect(try tokens.token(now: now.adding(milliseconds: -1_000)).text != first.text)
    }

    @Test("is not used any more once it is forgotten, unless another was made meanwhile")
    func forget() throws {
        let tokens = try tokens()
        let first = try tokens.token(now: now)
        tokens.forget(first)
        let second = try tokens.token(now: now)
        #expect(second.text != first.text)
        tokens.forget(first)
        #expect(try tokens.token(now: now).text == second.text)
    }

    @Test("comes from a key that is never shown")
    func concealed() throws {
        let shown = try ServerAPIKey(issuerID: "issuer-1", keyID: "KEY1", pem: key.pem())
        var dumped = ""
        dump(shown, to: &dumped)
        let secret = try key.pem().split(separator: "\n")[1]
        for text in ["\(shown)", String(reflecting: shown), dumped] {
            #expect(text.contains("KEY1"))
            #expect(!text.contains(secret))
        }
    }
}
