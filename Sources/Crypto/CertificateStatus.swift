import COpenSSL

/// Asks for, and reads, what an authority says of a certificate now: OCSP.
///
/// - Source: RFC 6960, without a nonce: answers may be shared and kept until they expire.
public enum CertificateStatus {
    /// What an answer comes to.
    public enum Verdict: Sendable, Equatable {
        /// The authority stands by the certificate.
        case good
        /// The authority has taken the certificate back.
        case revoked
        /// The answer says nothing that could be relied on, and why.
        case unusable(String)
    }

    /// How far another clock may be from ours. Units: milliseconds.
    static let clockSkew: Int64 = 60_000

    /// Where a certificate says that its status can be asked for.
    ///
    /// - Shape: the first address of its Authority Information Access extension; `nil` when it
    ///   names none.
    public static func responder(of certificate: Certificate) -> String? {
        guard let addresses = X509_get1_ocsp(certificate.pointer) else {
            ERR_clear_error()
            return nil
        }
        defer { X509_email_free(addresses) }
        guard OPENSSL_sk_num(addresses) > 0, let first = OPENSSL_sk_value(addresses, 0) else {
            return nil
        }
        return String(cString: first.assumingMemoryBound(to: CChar.self))
    }

    /// The request that asks for the status of a certificate.
    public static func request(
        for certificate: Certificate, issuer: Certificate
    ) throws(KeyError) -> [UInt8] {
        let request = OCSP_REQUEST_new()
        defer { OCSP_REQUEST_free(request) }
        let id = OCSP_cert_to_id(EVP_sha256(), certificate.pointer, issuer.pointer)
        guard let request, let id, OCSP_request_add0_id(request, id) != nil else {
            throw .refused(operation: "ask for a certificate's status")
        }
        let count = i2d_OCSP_REQUEST(request, nil)
        var bytes = [UInt8](repeating: 0, count: max(0, Int(count)))
        let written = bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return i2d_OCSP_REQUEST(request, &cursor)
        }
        guard count > 0, written == count else {
            throw .refused(operation: "write a question for a certificate's status")
        }
        return bytes
    }

    /// What an answer says of a certificate at an instant.
    ///
    /// It must be signed by the issuer, or by somebody whom the issuer made a certificate for
    /// signing such answers; it must be about this certificate; and it must hold at the instant.
    ///
    /// - Units: `now` is in milliseconds since 1970.
    public static func verdict(
        of response: [UInt8], on certificate: Certificate, issuer: Certificate, now: Int64
    ) -> Verdict {
        defer { ERR_clear_error() }
        guard let basic = basic(response) else {
            return .unusable("the responder's answer holds no status")
        }
        defer { OCSP_BASICRESP_free(basic) }
        guard isSigned(basic, for: issuer, now: now) else {
            return .unusable("the responder's answer is not signed for the certificate's issuer")
        }
        guard let single = single(basic, certificate, issuer) else {
            return .unusable("the responder's answer is about other certificates")
        }
        var this: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var next: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status = OCSP_single_get0_status(single, nil, nil, &this, &next)
        guard let since = CertificatePointer.milliseconds(this),
            let until = CertificatePointer.milliseconds(next)
        else { return .unusable("the responder's answer does not say when it holds") }
        guard since <= now + clockSkew else {
            return .unusable("the responder's answer does not hold yet")
        }
        guard until >= now - clockSkew else {
            return .unusable("the responder's answer does not hold any more")
        }
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: return .good
        case V_OCSP_CERTSTATUS_REVOKED: return .revoked
        default: return .unusable("the responder does not know the certificate")
        }
    }

    private static func basic(_ bytes: [UInt8]) -> OpaquePointer? {
        let response = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            return d2i_OCSP_RESPONSE(nil, &cursor, buffer.count)
        }
        guard let response else { return nil }
        defer { OCSP_RESPONSE_free(response) }
        guard OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL else { return nil }
        return OCSP_response_get1_basic(response)
    }

    /// What is said of a certificate, named by SHA-256 or, as some responders do, by SHA-1.
    private static func single(
        _ basic: OpaquePointer, _ certificate: Certificate, _ issuer: Certificate
    ) -> OpaquePointer? {
        for algorithm in [EVP_sha256(), EVP_sha1()] {
            let id = OCSP_cert_to_id(algorithm, certificate.pointer, issuer.pointer)
            defer { OCSP_CERTID_free(id) }
            let place = OCSP_resp_find(basic, id, -1)
            if id != nil, place >= 0 { return OCSP_resp_get0(basic, place) }
        }
        return nil
    }

    /// Whether the issuer, or one whom it appointed, made the signature.
    private static func isSigned(_ basic: OpaquePointer, for issuer: Certificate, now: Int64)
        -> Bool
    {
        let signers = [issuer] + delegates(basic, of: issuer, now: now)
        let stack = OPENSSL_sk_new_null()
        defer { OPENSSL_sk_free(stack) }
        for signer in signers {
            guard OPENSSL_sk_push(stack, UnsafeRawPointer(signer.pointer)) > 0 else { return false }
        }
        return withExtendedLifetime(signers) {
            // The signers are the only ones looked at, and judged already: only the signature
            // is left to be checked.
            OCSP_basic_verify(
                basic, stack, nil, UInt(OCSP_NOINTERN) | UInt(OCSP_TRUSTOTHER)) == 1
        }
    }

    private static func delegates(_ basic: OpaquePointer, of issuer: Certificate, now: Int64)
        -> [Certificate]
    {
        guard let offered = OCSP_resp_get0_certs(basic) else { return [] }
        // Two are more than any responder sends; each costs a signature check.
        return (0..<min(4, max(0, OPENSSL_sk_num(offered)))).compactMap { index in
            guard let pointer = OPENSSL_sk_value(offered, index),
                let der = CertificatePointer.der(of: OpaquePointer(pointer)),
                let delegate = try? Certificate(der: der),
                delegate.signsStatuses, delegate.isValid(at: now), delegate.isIssued(by: issuer)
            else { return nil }
            return delegate
        }
    }
}

extension Certificate {
    /// Whether its issuer meant it for signing statuses of certificates.
    fileprivate var signsStatuses: Bool {
        // Without the extension libcrypto says that every usage is allowed.
        X509_get_extension_flags(pointer) & UInt32(EXFLAG_XKUSAGE) != 0
            && X509_get_extended_key_usage(pointer) & UInt32(XKU_OCSP_SIGN) != 0
    }
}
