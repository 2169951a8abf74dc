import COpenSSL
import Crypto

/// Answers questions for the status of certificates, as an authority would.
public struct StatusSigner: Sendable {
    /// What is said of every certificate.
    public enum Status: Sendable {
        /// The authority stands by it.
        case good
        /// The authority has taken it back.
        case revoked
        /// The authority does not know it.
        case unknown
    }

    /// What is said.
    public var status = Status.good
    /// Since when it holds, seen from now, in seconds.
    public var since = -600
    /// Until when it holds, seen from now, in seconds; `nil` when it does not say.
    public var until: Int? = 3_600
    /// Who signs instead of the issuer.
    public var delegate: (certificate: Certificate, key: P256.PrivateKey)?

    /// A signer that stands by everything.
    public init() {}

    /// An answer about one certificate, in DER.
    public func answer(
        on certificate: Certificate, issuer: Certificate, key: P256.PrivateKey, bySHA1: Bool = false
    ) -> [UInt8] {
        let basic = OCSP_BASICRESP_new()
        defer { OCSP_BASICRESP_free(basic) }
        let id = OCSP_cert_to_id(
            bySHA1 ? EVP_sha1() : EVP_sha256(), certificate.pointer, issuer.pointer)
        defer { OCSP_CERTID_free(id) }
        let revokedAt = instant(-600)
        let this = instant(since)
        let next = until.flatMap { instant($0) }
        defer { for time in [revokedAt, this, next] { ASN1_GENERALIZEDTIME_free(time) } }
        let code =
            switch status {
            case .good: V_OCSP_CERTSTATUS_GOOD
            case .revoked: V_OCSP_CERTSTATUS_REVOKED
            case .unknown: V_OCSP_CERTSTATUS_UNKNOWN
            }
        check(
            OCSP_basic_add1_status(
                basic, id, code, 0, status == .revoked ? revokedAt : nil, this, next) != nil)
        let signer = delegate ?? (issuer, key)
        check(
            OCSP_basic_sign(
                basic, signer.0.pointer, signer.1.key.pointer, EVP_sha256(), nil, 0) == 1)
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
        defer { OCSP_RESPONSE_free(response) }
        var bytes = [UInt8](repeating: 0, count: Int(i2d_OCSP_RESPONSE(response, nil)))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            check(i2d_OCSP_RESPONSE(response, &cursor) > 0)
        }
        return bytes
    }

    /// The answer of a store's authorities to a question; `nil` when it is about neither the leaf
    /// nor the intermediate.
    public func answer(to question: [UInt8], about store: TestStore) -> [UInt8]? {
        let asked = [
            (store.leaf, store.intermediate, store.intermediateKey),
            (store.intermediate, store.root, store.rootKey),
        ]
        for (certificate, issuer, key) in asked
        where (try? CertificateStatus.request(for: certificate, issuer: issuer)) == question {
            return answer(on: certificate, issuer: issuer, key: key)
        }
        return nil
    }

    private func instant(_ seconds: Int) -> UnsafeMutablePointer<ASN1_GENERALIZEDTIME>? {
        ASN1_GENERALIZEDTIME_set(nil, time(nil) + seconds)
    }

    private func check(_ succeeded: Bool) {
        precondition(succeeded, "libcrypto made no status")
    }
}
