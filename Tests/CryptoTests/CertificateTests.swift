import Crypto
import Testing
import TestSigner

@Suite("A certificate")
struct CertificateTests {
    @Test("says whom it is about, who signed it, and when it holds")
    func fields() throws {
        var chain = TestStore.Chain()
        chain.leafValidity = (1_700_000_000_000, 1_800_000_000_000)
        let store = try TestStore(chain)
        #expect(store.leaf.subject == "CN=Test Leaf")
        #expect(store.leaf.issuer == "CN=Test Intermediate")
        #expect(store.leaf.notBefore == 1_700_000_000_000)
        #expect(store.leaf.notAfter == 1_800_000_000_000)
        #expect(!store.leaf.isValid(at: 1_699_999_999_999))
        #expect(store.leaf.isValid(at: 1_700_000_000_000))
        #expect(store.leaf.isValid(at: 1_800_000_000_999))
        #expect(!store.leaf.isValid(at: 1_800_000_001_000))
        #expect(store.leaf.fingerprint == SHA256.digest(of: store.leaf.der))
    }

    @Test("knows its extensions and whether it may sign others")
    func purpose() throws {
        let store = try TestStore()
        #expect(store.leaf.hasExtension(oid: CertificateMaker.Marker.leaf))
        #expect(!store.leaf.hasExtension(oid: CertificateMaker.Marker.intermediate))
        #expect(store.intermediate.hasExtension(oid: CertificateMaker.Marker.intermediate))
        #expect(!store.leaf.hasExtension(oid: "no digits"))
        #expect(!store.leaf.isAuthority)
        #expect(store.intermediate.isAuthority)
        #expect(store.root.isAuthority)
    }

    @Test("is issued by the one that signed it, not by another of the same name")
    func issuing() throws {
        let store = try TestStore()
        let other = try TestStore()
        #expect(store.leaf.isIssued(by: store.intermediate))
        #expect(store.intermediate.isIssued(by: store.root))
        #expect(store.root.isIssued(by: store.root))
        #expect(!store.leaf.isIssued(by: store.root))
        #expect(!store.leaf.isIssued(by: other.intermediate))
        #expect(!store.intermediate.isIssued(by: other.root))
        var chain = TestStore.Chain()
        chain.intermediateIsAuthority = false
        let weak = try TestStore(chain)
        #expect(weak.leaf.isSigned(by: weak.intermediate))
        #expect(!weak.leaf.isIssued(by: weak.intermediate))
    }

    @Test("gives the key that verifies its owner's signatures")
    func key() throws {
        let store = try TestStore()
        let signature = try store.key.signature(for: [1, 2, 3])
        #expect(store.leaf.p256?.isValid(signature, for: [1, 2, 3]) == true)
    }

    @Test("is read from DER and PEM files, and from nothing else")
    func files() throws {
        let der = try TestStore().root.der
        let lines = Base64.encode(der)
        var pem = "-----BEGIN CERTIFICATE-----\n"
        for (index, character) in lines.enumerated() {
            if index > 0, index.isMultiple(of: 64) { pem += "\n" }
            pem.append(character)
        }
        pem += "\n-----END CERTIFICATE-----\n"
        #expect(try Certificate(file: der).der == der)
        #expect(try Certificate(file: Array(pem.utf8)).der == der)
        #expect(throws: KeyError.self) { try Certificate(der: der + [0]) }
        #expect(throws: KeyError.self) { try Certificate(der: Array(der.dropLast())) }
        #expect(throws: KeyError.self) { try Certificate(der: []) }
        #expect(throws: KeyError.self) { try Certificate(file: [1, 2, 3]) }
    }
}
