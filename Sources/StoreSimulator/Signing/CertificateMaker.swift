import COpenSSL
import Crypto

/// Makes certificates on P-256 as an authority like Apple's does.
struct CertificateMaker {
    /// The two extensions by which Apple marks its certificates.
    ///
    /// - Source: Apple, the certificates that sign purchases.
    enum Marker {
        /// On the leaf that signs purchases.
        static let leaf = "1.2.840.113635.100.6.11.1"
        /// On the intermediate authority.
        static let intermediate = "1.2.840.113635.100.6.2.1"
    }

    /// Whom the certificate is about.
    var name: String
    /// Whether it is an authority.
    var isAuthority = false
    /// The mark it carries, in dotted digits.
    var marker: String?

    /// Where its status can be asked for.
    var responder: String?

    /// 2010 to 2090, so that simulated times are within. Units: seconds since 1970.
    private static let validity: (from: time_t, through: time_t) = (1_262_304_000, 3_786_912_000)

    /// The certificate of a key, signed by an issuer; by itself when there is none.
    func certificate(
        of key: P256.PrivateKey,
        issuer: (certificate: Certificate, key: P256.PrivateKey, name: String)?
    ) throws(KeyError) -> Certificate {
        guard let made = X509_new() else { throw .refused(operation: "make a certificate") }
        defer { X509_free(made) }
        var isMade =
            X509_set_version(made, 2) == 1
            && ASN1_INTEGER_set_int64(X509_get_serialNumber(made), randomInt64() >> 1) == 1
            && ASN1_TIME_set(X509_getm_notBefore(made), Self.validity.from) != nil
            && ASN1_TIME_set(X509_getm_notAfter(made), Self.validity.through) != nil
            && X509_set_pubkey(made, key.key.pointer) == 1
            && put(name, into: X509_get_subject_name(made))
            && put(issuer?.name ?? name, into: X509_get_issuer_name(made))
        for (extensionName, value) in extensions(isRoot: issuer == nil) {
            isMade =
                isMade
                && add(extensionName, value, to: made, issuer: issuer?.certificate.pointer ?? made)
        }
        isMade = isMade && X509_sign(made, (issuer?.key ?? key).key.pointer, EVP_sha256()) > 0
        guard isMade else {
            ERR_clear_error()
            throw .refused(operation: "make a certificate")
        }
        return try Certificate(der: der(of: made))
    }

    private func extensions(isRoot: Bool) -> [(String, String)] {
        var extensions = [
            ("basicConstraints", isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE"),
            (
                "keyUsage",
                isAuthority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"
            ),
            ("subjectKeyIdentifier", "hash"),
        ]
        // Strict checks want to know which key signed, of all but the root.
        if !isRoot { extensions.append(("authorityKeyIdentifier", "keyid")) }
        if let marker { extensions.append((marker, "DER:0500")) }
        if let responder { extensions.append(("authorityInfoAccess", "OCSP;URI:" + responder)) }
        return extensions
    }

    private func put(_ name: String, into target: OpaquePointer?) -> Bool {
        // 0x1001 is `MBSTRING_UTF8`, a macro too complex to be imported.
        X509_NAME_add_entry_by_txt(target, "CN", 0x1001, name, -1, -1, 0) == 1
    }

    private func add(
        _ name: String, _ value: String, to certificate: OpaquePointer, issuer: OpaquePointer
    ) -> Bool {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        guard let made = X509V3_EXT_nconf(nil, &context, name, value) else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(certificate, made, -1) == 1
    }

    private func der(of certificate: OpaquePointer) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(0, Int(i2d_X509(certificate, nil))))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            _ = i2d_X509(certificate, &cursor)
        }
        return bytes
    }
}
