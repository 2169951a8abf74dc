import Crypto
import Testing

@Suite("A P-256 key")
struct P256Tests {
    private let message = Array("header.payload".utf8)

    @Test("verifies what its owner signed, and nothing else")
    func verifies() throws {
        let key = P256.PrivateKey()
        let signature = try key.signature(for: message)
        #expect(signature.count == 64)
        let publicKey = try key.publicKey
        #expect(publicKey.isValid(signature, for: message))
        #expect(!publicKey.isValid(signature, for: message + [0]))
        #expect(try !P256.PrivateKey().publicKey.isValid(signature, for: message))
        for index in signature.indices {
            var tampered = signature
            tampered[index] ^= 1
            #expect(!publicKey.isValid(tampered, for: message))
        }
    }

    @Test("verifies the example of RFC 7515, appendix A.3")
    func example() throws {
        let pem = """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
            6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
            -----END PUBLIC KEY-----

            """
        let signed =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
            + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let signature = try #require(
            Base64.decode(
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
            ))
        #expect(try P256.PublicKey(pem: pem).isValid(signature, for: Array(signed.utf8)))
    }

    @Test("refuses signatures of wrong length or range without harm")
    func wrongShapes() throws {
        let key = P256.PrivateKey()
        let publicKey = try key.publicKey
        let signature = try key.signature(for: message)
        for count in [0, 1, 63, 65, 72, 1_000] {
            #expect(!publicKey.isValid([UInt8](repeating: 1, count: count), for: message))
        }
        let zero = [UInt8](repeating: 0, count: 32)
        let all = [UInt8](repeating: 0xFF, count: 32)
        for half in [zero, all] {
            #expect(!publicKey.isValid(half + signature[32...], for: message))
            #expect(!publicKey.isValid(signature[..<32] + half, for: message))
        }
    }

    @Test("survives being written and read as PEM")
    func pem() throws {
        let key = P256.PrivateKey()
        let read = try P256.PrivateKey(pem: key.pem())
        let signature = try read.signature(for: message)
        #expect(try P256.PublicKey(pem: key.publicKey.pem()).isValid(signature, for: message))
        #expect(throws: KeyError.self) { try P256.PrivateKey(pem: "no key") }
        #expect(throws: KeyError.self) { try P256.PrivateKey(pem: Ed25519.PrivateKey().pem()) }
    }
}

@Suite("An Ed25519 key")
struct Ed25519Tests {
    @Test("signs the first example of RFC 8032")
    func example() throws {
        let seed = try #require(
            Hex.decode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
        let key = try Ed25519.PrivateKey(raw: seed)
        #expect(
            Hex.encode(key.publicKey.raw)
                == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        #expect(
            Hex.encode(try key.signature(for: []))
                == "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33b"
                + "acc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b")
    }

    @Test("verifies what its owner signed, and nothing else")
    func verifies() throws {
        let key = Ed25519.PrivateKey()
        let message = Array("head 4711".utf8)
        let signature = try key.signature(for: message)
        let copy = try Ed25519.PublicKey(raw: key.publicKey.raw)
        #expect(copy.isValid(signature, for: message))
        #expect(!copy.isValid(signature, for: message + [0]))
        #expect(!copy.isValid(Array(signature.dropLast()), for: message))
        #expect(!Ed25519.PrivateKey().publicKey.isValid(signature, for: message))
    }

    @Test("survives being written and read as PEM and as bytes")
    func forms() throws {
        let key = Ed25519.PrivateKey()
        #expect(try Ed25519.PrivateKey(pem: key.pem()).raw == key.raw)
        #expect(try Ed25519.PublicKey(pem: key.publicKey.pem()).raw == key.publicKey.raw)
        #expect(throws: KeyError.self) { try Ed25519.PrivateKey(raw: [1]) }
        #expect(throws: KeyError.self) {
            try Ed25519.PublicKey(pem: P256.PrivateKey().publicKey.pem())
        }
    }
}
