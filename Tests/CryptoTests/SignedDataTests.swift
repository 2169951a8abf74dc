import COpenSSL
import Crypto
import Testing
import TestSigner

@Suite("Signed data")
struct SignedDataTests {
    private static let content = Array("what is signed".utf8)
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    @Test("gives its content, its certificates and its signer")
    func parts() throws {
        let message = try SignedData(ber: ReceiptMaker.sign(Self.content, by: store))
        #expect(message.content == Self.content)
        #expect(message.signer.fingerprint == store.leaf.fingerprint)
        #expect(
            Set(message.certificates.map(\.fingerprint))
                == Set([store.leaf, store.intermediate, store.root].map(\.fingerprint)))
        #expect(message.isSignatureValid)
    }

    @Test("is read with lengths left open and octets in pieces")
    func open() throws {
        let content = [UInt8](repeating: 7, count: 10_000)
        let bytes = ReceiptMaker.sign(content, by: store, encoding: .open)
        #expect(bytes.prefix(2) == [0x30, 0x80])
        let message = try SignedData(ber: bytes)
        #expect(message.content == content)
        #expect(message.isSignatureValid)
    }

    @Test("is believed when signed with SHA-1, as old ones are")
    func oldDigest() throws {
        let message = try SignedData(
            ber: ReceiptMaker.sign(Self.content, by: store, bySHA1: true))
        #expect(message.isSignatureValid)
    }

    @Test("is believed when signed by an RSA key")
    func rsa() throws {
        let key = try #require(Self.rsaKey())
        let maker = CertificateMaker(name: "RSA Leaf")
        let leaf = try maker.certificate(
            of: key, issuer: "Test Intermediate", signedBy: store.intermediateKey.key)
        let message = try SignedData(
            ber: ReceiptMaker.sign(
                Self.content, leaf: leaf, key: key.pointer,
                others: [store.intermediate, store.root]))
        #expect(message.isSignatureValid)
        #expect(message.chain(to: [store.root], preferring: 1_700_000_000_000)?.count == 3)
    }

    @Test("is not believed when its content was changed")
    func changed() throws {
        var bytes = ReceiptMaker.sign(Self.content, by: store)
        let place = try #require(bytes.firstRange(of: Self.content)).lowerBound
        bytes[place] ^= 1
        #expect(try !SignedData(ber: bytes).isSignatureValid)
    }

    @Test("is not believed when its signature was changed")
    func otherSignature() throws {
        var bytes = ReceiptMaker.sign(Self.content, by: store)
        bytes[bytes.count - 1] ^= 1
        #expect(try !SignedData(ber: bytes).isSignatureValid)
    }

    @Test("leads to a root that is given, and to no other")
    func roots() throws {
        let message = try SignedData(ber: ReceiptMaker.sign(Self.content, by: store))
        let chain = try #require(
            message.chain(to: [store.root], preferring: 1_700_000_000_000))
        #expect(
            chain.map(\.fingerprint)
                == [store.leaf, store.intermediate, store.root].map(\.fingerprint))
        // The message carries its own root, which proves nothing.
        #expect(message.chain(to: [], preferring: 1_700_000_000_000) == nil)
        #expect(message.chain(to: [try TestStore().root], preferring: 1_700_000_000_000) == nil)
    }

    @Test("prefers a chain that holds at the instant")
    func renewedAuthority() throws {
        var old = CertificateMaker(name: "Test Intermediate")
        old.isAuthority = true
        old.notAfter = 1_600_000_000_000
        let expired = try old.certificate(
            of: store.intermediateKey, issuer: "Test Root", signedBy: store.rootKey)
        let message = try SignedData(
            ber: ReceiptMaker.sign(
                Self.content, leaf: store.leaf, key: store.key.key.pointer,
                others: [expired, store.intermediate]))
        func authority(at instant: Int64) -> Digest? {
            message.chain(to: [store.root], preferring: instant)?[1].fingerprint
        }
        #expect(authority(at: 1_700_000_000_000) == store.intermediate.fingerprint)
        #expect(authority(at: 1_590_000_000_000) != nil)
    }

    @Test("is refused when it is something else, has no certificate of its signer, or goes on")
    func unreadable() throws {
        let whole = ReceiptMaker.sign(Self.content, by: store)
        let foreign: [[UInt8]] = [
            [], [0x30], Array("a text".utf8), store.leaf.der, Array(whole.dropLast()),
            whole + [0],
        ]
        for bytes in foreign {
            #expect(throws: KeyError.unreadable(wanted: "PKCS#7 signed data")) {
                try SignedData(ber: bytes)
            }
        }
        let many = try (0..<16).map { _ in try TestStore().root }
        #expect(throws: KeyError.self) {
            try SignedData(
                ber: ReceiptMaker.sign(
                    Self.content, leaf: store.leaf, key: store.key.key.pointer, others: many))
        }
    }

    private static func rsaKey() -> KeyPointer? {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_keygen(context, &key) == 1 else {
            return nil
        }
        return key.map(KeyPointer.init)
    }
}
