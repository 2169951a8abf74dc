import Crypto
import Glibc
import TestSigner
import Testing

@Suite("The status of a certificate")
struct CertificateStatusTests {
    private let store: TestStore

    init() throws {
        var chain = TestStore.Chain()
        chain.responder = "http://127.0.0.1:9/status"
        store = try TestStore(chain)
    }

    private func verdict(
        bySHA1: Bool = false, later seconds: Int64 = 0, _ change: (inout StatusSigner) -> Void
    ) -> CertificateStatus.Verdict {
        var signer = StatusSigner()
        change(&signer)
        let answer = signer.answer(
            on: store.leaf, issuer: store.intermediate, key: store.intermediateKey, bySHA1: bySHA1)
        return CertificateStatus.verdict(
            of: answer, on: store.leaf, issuer: store.intermediate, now: clock() + seconds * 1_000)
    }

    private func clock() -> Int64 {
        Int64(time(nil)) * 1_000
    }

    @Test("is asked for where the certificate says")
    func address() throws {
        #expect(CertificateStatus.responder(of: store.leaf) == "http://127.0.0.1:9/status")
        #expect(CertificateStatus.responder(of: store.root) == nil)
    }

    @Test("is good or revoked when the issuer says so")
    func said() {
        #expect(verdict { _ in } == .good)
        #expect(verdict(bySHA1: true) { _ in } == .good)
        #expect(verdict { $0.status = .revoked } == .revoked)
    }

    @Test("is not known when the issuer does not know the certificate")
    func unknown() {
        #expect(
            verdict { $0.status = .unknown }
                == .unusable("the responder does not know the certificate"))
    }

    @Test("is said for a time, with a minute for clocks that differ")
    func times() {
        let ended = CertificateStatus.Verdict.unusable(
            "the responder's answer does not hold any more")
        let early = CertificateStatus.Verdict.unusable("the responder's answer does not hold yet")
        #expect(verdict(later: 3_600 + 50) { _ in } == .good)
        #expect(verdict(later: 3_600 + 70) { _ in } == ended)
        #expect(verdict(later: -600 - 50) { _ in } == .good)
        #expect(verdict(later: -600 - 70) { _ in } == early)
        #expect(
            verdict { $0.until = nil }
                == .unusable("the responder's answer does not say when it holds"))
    }

    @Test("is believed from whom the issuer appointed for it, and from nobody else")
    func delegates() throws {
        func delegate(
            _ issuer: Certificate, _ key: P256.PrivateKey, appointed: Bool = true,
            until: Int64? = nil
        ) throws -> (Certificate, P256.PrivateKey) {
            let own = P256.PrivateKey()
            var maker = CertificateMaker(name: "Test Responder")
            maker.signsStatuses = appointed
            if let until { maker.notAfter = until }
            return (
                try maker.certificate(of: own, issuer: name(of: issuer), signedBy: key), own
            )
        }
        let unsigned = CertificateStatus.Verdict.unusable(
            "the responder's answer is not signed for the certificate's issuer")
        let appointed = try delegate(store.intermediate, store.intermediateKey)
        #expect(verdict { $0.delegate = appointed } == .good)
        let unappointed = try delegate(
            store.intermediate, store.intermediateKey, appointed: false)
        #expect(verdict { $0.delegate = unappointed } == unsigned)
        let expired = try delegate(
            store.intermediate, store.intermediateKey, until: 1_600_000_000_000)
        #expect(verdict { $0.delegate = expired } == unsigned)
        let ofAnother = try delegate(store.root, store.rootKey)
        #expect(verdict { $0.delegate = ofAnother } == unsigned)
        #expect(verdict { $0.delegate = (store.leaf, store.key) } == unsigned)
    }

    @Test("is not believed when a date of the signed answer was changed")
    func changed() {
        let answer = StatusSigner().answer(
            on: store.leaf, issuer: store.intermediate, key: store.intermediateKey)
        // Dates are written as GeneralizedTime, fifteen characters; the last digit is a second.
        let dates = answer.indices.dropLast(17).filter {
            answer[$0] == 0x18 && answer[$0 + 1] == 0x0F && answer[$0 + 16] == UInt8(ascii: "Z")
        }
        #expect(dates.count == 3)
        for date in dates {
            var copy = answer
            copy[date + 15] ^= 1
            let verdict = CertificateStatus.verdict(
                of: copy, on: store.leaf, issuer: store.intermediate, now: clock())
            #expect(
                verdict
                    == .unusable(
                        "the responder's answer is not signed for the certificate's issuer"))
        }
    }

    private func name(of certificate: Certificate) -> String {
        String(certificate.subject.dropFirst("CN=".count))
    }

    @Test("is not read from an answer about another certificate, nor from what is no answer")
    func others() throws {
        let answer = StatusSigner().answer(
            on: store.intermediate, issuer: store.root, key: store.rootKey)
        let verdict = CertificateStatus.verdict(
            of: answer, on: store.leaf, issuer: store.root, now: clock())
        #expect(verdict == .unusable("the responder's answer is about other certificates"))
        for bytes in [[], [0x30, 0x00], Array("sorry".utf8), Array(answer.dropLast())] {
            let verdict = CertificateStatus.verdict(
                of: bytes, on: store.leaf, issuer: store.intermediate, now: clock())
            #expect(verdict == .unusable("the responder's answer holds no status"))
        }
    }
}
