import COpenSSL

/// An X.509 certificate.
public struct Certificate: Sendable {
    let owner: CertificatePointer
    /// The SHA-256 digest of the certificate's DER bytes.
    public let fingerprint: Digest
    /// Whom it is about, as RFC 2253 writes names.
    public let subject: String
    /// Who signed it, as RFC 2253 writes names.
    public let issuer: String
    /// The first millisecond at which it holds.
    ///
    /// - Units: milliseconds since 1970.
    public let notBefore: Int64
    /// The last second at which it holds, as written in the certificate.
    ///
    /// - Units: milliseconds since 1970.
    public let notAfter: Int64
    /// Whether it may sign certificates: a CA whose key usage, where stated, allows it.
    public let isAuthority: Bool

    /// The certificate with these DER bytes, and nothing after them.
    public init(der: [UInt8]) throws(KeyError) {
        let parsed = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            let found = d2i_X509(nil, &cursor, buffer.count)
            guard let found, let base = buffer.baseAddress, let cursor,
                cursor == base + buffer.count
            else {
                X509_free(found)
                ERR_clear_error()
                return nil
            }
            return found
        }
        guard let parsed else { throw .unreadable(wanted: "an X.509 certificate") }
        let owner = CertificatePointer(parsed)
        guard let notBefore = CertificatePointer.milliseconds(X509_get0_notBefore(parsed)),
            let notAfter = CertificatePointer.milliseconds(X509_get0_notAfter(parsed)),
            let subject = owner.text(of: X509_get_subject_name(parsed)),
            let issuer = owner.text(of: X509_get_issuer_name(parsed))
        else { throw .unreadable(wanted: "an X.509 certificate with names and dates") }
        self.owner = owner
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.subject = subject
        self.issuer = issuer
        fingerprint = SHA256.digest(of: der)
        isAuthority =
            X509_check_ca(parsed) == 1
            && X509_get_key_usage(parsed) & UInt32(KU_KEY_CERT_SIGN) != 0
    }

    /// The certificate in a file's bytes, PEM or DER.
    public init(file bytes: [UInt8]) throws(KeyError) {
        if bytes.first == 0x30 {
            try self.init(der: bytes)
            return
        }
        let der = Memory.read(bytes) { buffer -> [UInt8]? in
            guard let found = PEM_read_bio_X509(buffer, nil, nil, nil) else { return nil }
            defer { X509_free(found) }
            return CertificatePointer.der(of: found)
        }
        guard let der else { throw .unreadable(wanted: "an X.509 certificate in PEM or DER") }
        try self.init(der: der)
    }

    /// The DER bytes.
    public var der: [UInt8] { CertificatePointer.der(of: owner.pointer) ?? [] }

    /// libcrypto's own form, owned by this one.
    package var pointer: OpaquePointer { owner.pointer }

    /// Whether it holds at an instant.
    ///
    /// - Units: milliseconds since 1970.
    public func isValid(at milliseconds: Int64) -> Bool {
        // The end is written in whole seconds, and that second still counts.
        notBefore <= milliseconds && milliseconds < notAfter + 1_000
    }

    /// Whether an extension with this object identifier, in dotted digits, is present.
    public func hasExtension(oid: String) -> Bool {
        guard let object = OBJ_txt2obj(oid, 1) else {
            ERR_clear_error()
            return false
        }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(owner.pointer, object, -1) >= 0
    }

    /// Whether the other's name is this one's issuer and the other's key made this one's signature.
    public func isSigned(by other: Certificate) -> Bool {
        guard
            X509_NAME_cmp(
                X509_get_issuer_name(owner.pointer), X509_get_subject_name(other.owner.pointer))
                == 0,
            let key = X509_get0_pubkey(other.owner.pointer)
        else { return false }
        let verdict = X509_verify(owner.pointer, key)
        if verdict != 1 { ERR_clear_error() }
        return verdict == 1
    }

    /// Whether the other signed this one and may sign certificates.
    public func isIssued(by other: Certificate) -> Bool {
        other.isAuthority && isSigned(by: other)
    }

    /// The certificate's key, when it is on the curve P-256.
    public var p256: P256.PublicKey? {
        guard let key = X509_get_pubkey(owner.pointer) else {
            ERR_clear_error()
            return nil
        }
        return P256.PublicKey(KeyPointer(key))
    }
}

/// Owns one certificate of libcrypto.
///
/// `@unchecked` holds because the certificate is never changed, and what libcrypto derives
/// from its extensions is derived once, when it is made, before any other thread can see it.
final class CertificatePointer: @unchecked Sendable {
    /// `XN_FLAG_RFC2253`, a macro too complex to be imported.
    private static let rfc2253: UInt = 0x0111_0317

    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        // Any purpose question makes libcrypto read the extensions now.
        _ = X509_check_purpose(pointer, -1, 0)
        ERR_clear_error()
    }

    deinit {
        X509_free(pointer)
    }

    /// The DER bytes of a certificate that somebody else owns.
    static func der(of pointer: OpaquePointer) -> [UInt8]? {
        let count = i2d_X509(pointer, nil)
        guard count > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        let written = bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return i2d_X509(pointer, &cursor)
        }
        return written == count ? bytes : nil
    }

    /// Units: milliseconds since 1970.
    static func milliseconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        let epoch = ASN1_TIME_set(nil, 0)
        defer { ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard let time, let epoch, ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else {
            ERR_clear_error()
            return nil
        }
        return (Int64(days) * 86_400 + Int64(seconds)) * 1_000
    }

    func text(of name: OpaquePointer?) -> String? {
        let written = Memory.written { buffer in
            // An empty name writes nothing and is still a name.
            X509_NAME_print_ex(buffer, name, 0, Self.rfc2253) < 0 ? 0 : 1
        }
        return written.map { String(decoding: $0, as: UTF8.self) }
    }
}
