import COpenSSL

/// ECDSA on the curve P-256 with SHA-256: what JWS calls ES256.
public enum P256 {
    /// How many bytes a raw signature has: r and s, 32 each.
    public static let signatureByteCount = 64

    /// The number of points of the curve, which r and s are below.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63,
        0x25, 0x51,
    ]

    static func isOnCurve(_ key: KeyPointer) -> Bool {
        guard EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_EC else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key.pointer, &name, name.count, &length) == 1 else {
            return false
        }
        return name.prefix(length).elementsEqual("prime256v1".utf8.map { CChar(bitPattern: $0) })
    }

    /// The ASN.1 form of a raw signature.
    ///
    /// - Shape: `nil` unless it has 64 bytes and r and s are from 1 to the curve's order less 1.
    static func encoded(_ raw: [UInt8]) -> [UInt8]? {
        guard raw.count == signatureByteCount else { return nil }
        var body: [UInt8] = []
        for number in [raw[..<32], raw[32...]] {
            guard number.contains(where: { $0 != 0 }), number.lexicographicallyPrecedes(order)
            else { return nil }
            let digits = number.drop { $0 == 0 }
            // A leading bit would read as a minus sign.
            let sign: [UInt8] = (digits.first ?? 0) & 0x80 == 0 ? [] : [0]
            body += [0x02, UInt8(digits.count + sign.count)] + sign + digits
        }
        return [0x30, UInt8(body.count)] + body
    }

    /// The raw form of a signature in ASN.1.
    static func raw(_ encoded: [UInt8]) -> [UInt8]? {
        let signature = encoded.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &cursor, buffer.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        var raw = [UInt8](repeating: 0, count: signatureByteCount)
        let written = raw.withUnsafeMutableBufferPointer { buffer -> Bool in
            guard let base = buffer.baseAddress else { return false }
            return BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + 32, 32) == 32
        }
        return written ? raw : nil
    }

    /// A key that verifies.
    public struct PublicKey: Sendable {
        package let key: KeyPointer

        init?(_ key: KeyPointer) {
            guard isOnCurve(key) else { return nil }
            self.key = key
        }

        /// The key in a PEM text.
        public init(pem: String) throws(KeyError) {
            guard let key = KeyPointer.publicKey(pem: pem), let found = PublicKey(key) else {
                throw .unreadable(wanted: "a P-256 public key in PEM")
            }
            self = found
        }

        /// The key as a PEM text.
        public func pem() throws(KeyError) -> String {
            try key.publicPEM()
        }

        /// Whether a raw signature is of these bytes by this key's owner.
        ///
        /// - Shape: false, never an error, for a signature of any other length or range.
        public func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
            isValid(signature, forDigest: SHA256.digest(of: message))
        }

        /// Whether a raw signature is of bytes that have this digest.
        public func isValid(_ signature: [UInt8], forDigest digest: Digest) -> Bool {
            guard let encoded = P256.encoded(signature),
                let context = EVP_PKEY_CTX_new(key.pointer, nil)
            else { return false }
            defer { EVP_PKEY_CTX_free(context) }
            guard EVP_PKEY_verify_init(context) == 1 else { return false }
            let verdict = digest.withUnsafeBytes { memory in
                EVP_PKEY_verify(
                    context, encoded, encoded.count,
                    memory.baseAddress?.assumingMemoryBound(to: UInt8.self), memory.count)
            }
            if verdict != 1 { ERR_clear_error() }
            return verdict == 1
        }
    }

    /// A key that signs.
    public struct PrivateKey: Sendable {
        package let key: KeyPointer

        /// A fresh key.
        public init() {
            key = KeyPointer.generate(EVP_PKEY_EC) { context in
                EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1
            }
        }

        /// The key in a PEM text, as in the `.p8` files that Apple hands out.
        public init(pem: String) throws(KeyError) {
            guard let key = KeyPointer.privateKey(pem: pem), isOnCurve(key) else {
                throw .unreadable(wanted: "a P-256 private key in PEM")
            }
            self.key = key
        }

        /// The key as a PEM text (PKCS#8, not encrypted).
        public func pem() throws(KeyError) -> String {
            try key.privatePEM()
        }

        /// The key that verifies what this one signs.
        public var publicKey: PublicKey {
            get throws(KeyError) { try PublicKey(pem: key.publicPEM()) }
        }

        /// The raw signature of these bytes: r and s, 64 bytes.
        public func signature(for message: [UInt8]) throws(KeyError) -> [UInt8] {
            let digest = SHA256.digest(of: message).bytes
            var signature = [UInt8](repeating: 0, count: 128)
            var count = signature.count
            let context = EVP_PKEY_CTX_new(key.pointer, nil)
            defer { EVP_PKEY_CTX_free(context) }
            guard let context, EVP_PKEY_sign_init(context) == 1,
                EVP_PKEY_sign(context, &signature, &count, digest, digest.count) == 1,
                let raw = P256.raw(Array(signature.prefix(count)))
            else { throw .refused(operation: "sign with a P-256 key") }
            return raw
        }
    }
}
