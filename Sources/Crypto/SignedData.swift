import COpenSSL

/// PKCS#7 signed data: a message that carries its signature and its signer's certificates.
///
/// Nothing here is trusted: `isSignatureValid` says that the carried signer signed the content, and
/// `chain` who stands behind that signer. The roots of the machine are never asked.
///
/// - Source: RFC 2315. Basic encoding rules are read too: lengths left open, octets in pieces.
public struct SignedData: Sendable {
    /// Most certificates that are looked at: each may cost signature checks.
    private static let certificateLimit = 16

    /// What was signed.
    public let content: [UInt8]
    /// The certificates that came along, in their order.
    public let certificates: [Certificate]
    /// Whose signature it claims to carry.
    public let signer: Certificate
    /// Whether that signer's key signed this content, with SHA-1 or one of the SHA-2 family.
    public let isSignatureValid: Bool

    /// The signed data in these bytes, and nothing after them.
    ///
    /// - Throws: unreadable, unless there are content, exactly one signer, and its certificate.
    public init(ber: [UInt8]) throws(KeyError) {
        guard let message = SignedMessage(ber: ber) else {
            throw .unreadable(wanted: "PKCS#7 signed data")
        }
        guard let content = message.content else {
            throw .unreadable(wanted: "PKCS#7 signed data with its content")
        }
        guard message.certificateCount <= SignedData.certificateLimit else {
            throw .unreadable(
                wanted:
                    "PKCS#7 signed data with at most \(SignedData.certificateLimit) certificates")
        }
        guard let signer = message.signer else {
            throw .unreadable(wanted: "PKCS#7 signed data of one signer, whose certificate it has")
        }
        self.content = content
        certificates = message.certificates
        self.signer = try Certificate(der: signer)
        isSignatureValid = message.isSignatureValid
    }

    /// The signer's certificate, the carried one of the authority that signed it, and the root
    /// that signed that.
    ///
    /// Their dates are for the caller to judge; of several chains one that holds at the instant is
    /// preferred.
    ///
    /// - Shape: three, the root last; `nil` when no such chain leads to one of these roots.
    /// - Units: `milliseconds` since 1970.
    public func chain(to roots: [Certificate], preferring milliseconds: Int64) -> [Certificate]? {
        var chains: [[Certificate]] = []
        // One authority between is all that is followed: each further one multiplies the checks
        // that a stranger can ask for.
        for authority in certificates where signer.isIssued(by: authority) {
            for root in roots where authority.isIssued(by: root) {
                chains.append([signer, authority, root])
            }
        }
        return chains.first { $0.allSatisfy { $0.isValid(at: milliseconds) } } ?? chains.first
    }
}

/// Owns one PKCS#7 message of libcrypto while it is taken apart.
private final class SignedMessage {
    private let message: UnsafeMutablePointer<PKCS7>
    private let signed: UnsafeMutablePointer<PKCS7_SIGNED>

    init?(ber: [UInt8]) {
        let parsed = ber.withUnsafeBufferPointer { buffer -> UnsafeMutablePointer<PKCS7>? in
            var cursor = buffer.baseAddress
            let found = d2i_PKCS7(nil, &cursor, buffer.count)
            guard let found, let base = buffer.baseAddress, cursor == base + buffer.count,
                OBJ_obj2nid(found.pointee.type) == NID_pkcs7_signed, found.pointee.d.sign != nil
            else {
                PKCS7_free(found)
                ERR_clear_error()
                return nil
            }
            return found
        }
        guard let parsed, let signed = parsed.pointee.d.sign else { return nil }
        message = parsed
        self.signed = signed
    }

    deinit {
        PKCS7_free(message)
    }

    /// The signed octets, joined when they came in pieces.
    var content: [UInt8]? {
        guard let inner = signed.pointee.contents,
            OBJ_obj2nid(inner.pointee.type) == NID_pkcs7_data, let octets = inner.pointee.d.data,
            let start = ASN1_STRING_get0_data(octets)
        else { return nil }
        return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(octets))))
    }

    var certificateCount: Int {
        signed.pointee.cert.map { Int(max(0, OPENSSL_sk_num($0))) } ?? 0
    }

    /// Those that can be read; others can be part of no chain.
    var certificates: [Certificate] {
        guard let stack = signed.pointee.cert else { return [] }
        return (0..<Int32(certificateCount)).compactMap { index in
            guard let der = SignedMessage.der(in: stack, at: index) else { return nil }
            return try? Certificate(der: der)
        }
    }

    /// The certificate that the only signer names by issuer and number.
    var signer: [UInt8]? {
        guard let signers = signed.pointee.signer_info, OPENSSL_sk_num(signers) == 1,
            let found = PKCS7_get0_signers(message, nil, 0)
        else {
            ERR_clear_error()
            return nil
        }
        defer { OPENSSL_sk_free(found) }
        return OPENSSL_sk_num(found) == 1 ? SignedMessage.der(in: found, at: 0) : nil
    }

    var isSignatureValid: Bool {
        guard let signers = signed.pointee.signer_info, OPENSSL_sk_num(signers) == 1,
            let first = OPENSSL_sk_value(signers, 0)
        else { return false }
        let info = first.assumingMemoryBound(to: PKCS7_SIGNER_INFO.self)
        guard let algorithm = info.pointee.digest_alg,
            [NID_sha1, NID_sha256, NID_sha384, NID_sha512]
                .contains(OBJ_obj2nid(algorithm.pointee.algorithm))
        else { return false }
        // Only the signature: whom to trust is decided elsewhere, without the machine's roots.
        let flags = PKCS7_NOVERIFY | PKCS7_BINARY | PKCS7_NOCRL
        let verdict = PKCS7_verify(message, nil, nil, nil, nil, flags)
        if verdict != 1 { ERR_clear_error() }
        return verdict == 1
    }

    private static func der(in stack: OpaquePointer, at index: Int32) -> [UInt8]? {
        guard let value = OPENSSL_sk_value(stack, index) else { return nil }
        return CertificatePointer.der(of: OpaquePointer(value))
    }
}
