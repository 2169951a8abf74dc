import COpenSSL
import Crypto

/// Says that the certificates of a chain are good, as an authority's responder does.
///
/// - Source: RFC 6960.
struct StatusResponder: Sendable {
    /// A certificate that may be asked about, who issued it, and the issuer's key.
    struct Issued: Sendable {
        let certificate: Certificate
        let issuer: Certificate
        let key: P256.PrivateKey
    }

    let issued: [Issued]

    /// How long an answer holds. Units: seconds.
    private static let validity = 3_600

    /// The answer to a question in DER; `nil` when it is no question about one of these.
    func answer(to question: [UInt8]) -> [UInt8]? {
        let request = question.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return d2i_OCSP_REQUEST(nil, &cursor, buffer.count)
        }
        defer { OCSP_REQUEST_free(request) }
        guard let request, OCSP_request_onereq_count(request) == 1,
            let one = OCSP_request_onereq_get0(request, 0),
            let id = OCSP_onereq_get0_id(one), let asked = issued.first(where: { $0.matches(id) })
        else {
            ERR_clear_error()
            return nil
        }
        return answer(on: id, asked)
    }

    private func answer(on id: OpaquePointer, _ asked: Issued) -> [UInt8]? {
        let basic = OCSP_BASICRESP_new()
        defer { OCSP_BASICRESP_free(basic) }
        let now = time(nil)
        let from = ASN1_GENERALIZEDTIME_set(nil, now - 60)
        let until = ASN1_GENERALIZEDTIME_set(nil, now + Self.validity)
        defer { for instant in [from, until] { ASN1_GENERALIZEDTIME_free(instant) } }
        // The responder is named by its key, as Apple's are.
        guard OCSP_basic_add1_status(basic, id, V_OCSP_CERTSTATUS_GOOD, 0, nil, from, until) != nil,
            OCSP_basic_sign(
                basic, asked.issuer.pointer, asked.key.key.pointer, EVP_sha256(), nil,
                UInt(OCSP_RESPID_KEY)) == 1
        else { return nil }
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
        defer { OCSP_RESPONSE_free(response) }
        var bytes = [UInt8](repeating: 0, count: max(0, Int(i2d_OCSP_RESPONSE(response, nil))))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            _ = i2d_OCSP_RESPONSE(response, &cursor)
        }
        return bytes
    }
}

extension StatusResponder.Issued {
    /// Whether a question names this certificate, under whichever digest it was written.
    fileprivate func matches(_ id: OpaquePointer) -> Bool {
        [EVP_sha256(), EVP_sha1()].contains { digest in
            let own = OCSP_cert_to_id(digest, certificate.pointer, issuer.pointer)
            defer { OCSP_CERTID_free(own) }
            return OCSP_id_cmp(own, id) == 0
        }
    }
}
