import Crypto
import Testing

@Suite("A digest")
struct DigestTests {
    @Test("is what FIPS 180 says it is")
    func knownValues() {
        #expect(
            SHA256.digest(of: "").description
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            SHA256.digest(of: "abc").description
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test("is the same in one step and in pieces")
    func pieces() {
        let bytes = randomBytes(1_000)
        var hash = SHA256()
        hash.update(Array(bytes[..<13]))
        hash.update([])
        hash.update(Array(bytes[13...]))
        #expect(hash.finish() == SHA256.digest(of: bytes))
        #expect(SHA256.digest(of: bytes[100...]) == SHA256.digest(of: Array(bytes[100...])))
    }

    @Test("reads its own text, in either case, and no other")
    func text() {
        let digest = SHA256.digest(of: "abc")
        #expect(Digest(hex: digest.description) == digest)
        #expect(Digest(hex: digest.description.uppercased()) == digest)
        #expect(Digest(digest.bytes) == digest)
        #expect(Digest(hex: "ab") == nil)
        #expect(Digest(hex: String(repeating: "g", count: 64)) == nil)
        #expect(Digest([1, 2, 3]) == nil)
    }

    @Test("sorts as its text does")
    func order() {
        let digests = (0..<50).map { SHA256.digest(of: String($0)) }
        #expect(
            digests.sorted().map(\.description) == digests.map(\.description).sorted())
    }

    @Test("under a key is what RFC 4231 says it is")
    func authentication() {
        let code = HMAC.sha256(
            Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(
            code.description == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            HMAC.sha256([], key: []).description
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
        #expect(
            HMAC.isValid(
                code.bytes, for: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)
            ))
        #expect(!HMAC.isValid(code.bytes, for: Array("nothing".utf8), key: Array("Jefe".utf8)))
        #expect(!HMAC.isValid([], for: [], key: []))
    }

    @Test("comparison without haste tells equal from different")
    func comparison() {
        #expect(constantTimeEqual([], []))
        #expect(constantTimeEqual([1, 2], [1, 2]))
        #expect(!constantTimeEqual([1, 2], [1, 3]))
        #expect(!constantTimeEqual([1, 2], [1, 2, 3]))
    }

    @Test("of random bytes never repeats")
    func random() {
        #expect(randomBytes(0).isEmpty)
        #expect(Set((0..<100).map { _ in SHA256.digest(of: randomBytes(16)) }).count == 100)
        #expect(Set((0..<100).map { _ in randomInt64() }).count == 100)
        #expect((0..<100).allSatisfy { _ in randomInt64() > 0 })
    }
}
