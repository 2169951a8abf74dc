import COpenSSL
import Crypto

/// Makes certificates to test against, on keys of P-256.
public struct CertificateMaker {
    /// The two extensions by which Apple marks its certificates.
    public enum Marker {
        /// On the leaf that signs purchases.
        public static let leaf = "1.2.840.113635.100.6.11.1"
        /// On the intermediate authority.
        public static let intermediate = "1.2.840.113635.100.6.2.1"
    }

    /// Whom the certificate is about.
    public var name: String
    /// Its first instant, in milliseconds since 1970.
    public var notBefore: Int64 = 1_577_836_800_000  // 2020
    /// Its last instant, in milliseconds since 1970.
    public var notAfter: Int64 = 2_208_988_800_000  // 2040
    /// Whether it is marked as an authority.
    public var isAuthority = false
    /// An extension it carries, in dotted digits.
    public var marker: String?
    /// Where its status can be asked for.
    public var responder: String?
    /// Whether it is meant for signing statuses.
    public var signsStatuses = false

    /// A certificate about somebody.
    public init(name: String) {
        self.name = name
    }

    /// The certificate of a key, signed by an issuer (itself when there is none).
    public func certificate(
        of key: P256.PrivateKey, issuer: String? = nil, signedBy signer: P256.PrivateKey? = nil
    ) throws -> Certificate {
        try certificate(of: key.key, issuer: issuer, signedBy: signer?.key)
    }

    /// The certificate of a key of any algorithm.
    package func certificate(
        of key: KeyPointer, issuer: String? = nil, signedBy signer: KeyPointer? = nil
    ) throws -> Certificate {
        let certificate = X509_new()
        defer { X509_free(certificate) }
        check(X509_set_version(certificate, 2))
        check(ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), randomInt64() >> 1))
        check(ASN1_TIME_set(X509_getm_notBefore(certificate), time_t(notBefore / 1_000)) != nil)
        check(ASN1_TIME_set(X509_getm_notAfter(certificate), time_t(notAfter / 1_000)) != nil)
        check(X509_set_pubkey(certificate, key.pointer))
        put(name, into: X509_get_subject_name(certificate))
        put(issuer ?? name, into: X509_get_issuer_name(certificate))
        add(
            "basicConstraints", isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE",
            to: certificate)
        add(
            "keyUsage", isAuthority ? "critical,keyCertSign" : "critical,digitalSignature",
            to: certificate)
        if let marker { add(marker, "DER:0500", to: certificate) }
        if let responder { add("authorityInfoAccess", "OCSP;URI:" + responder, to: certificate) }
        if signsStatuses { add("extendedKeyUsage", "OCSPSigning", to: certificate) }
        check(X509_sign(certificate, (signer ?? key).pointer, EVP_sha256()))
        return try Certificate(der: der(of: certificate))
    }

    private func put(_ name: String, into target: OpaquePointer?) {
        check(
            X509_NAME_add_entry_by_txt(target, "CN", 0x1001, name, -1, -1, 0))
    }

    private func add(_ name: String, _ value: String, to certificate: OpaquePointer?) {
        let made = X509V3_EXT_nconf(nil, nil, name, value)
        defer { X509_EXTENSION_free(made) }
        check(X509_add_ext(certificate, made, -1))
    }

    private func der(of certificate: OpaquePointer?) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(i2d_X509(certificate, nil)))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            check(i2d_X509(certificate, &cursor))
        }
        return bytes
    }

    private func check(_ result: Int32) {
        check(result > 0)
    }

    private func check(_ succeeded: Bool) {
        precondition(succeeded, "libcrypto made no certificate")
    }
}
