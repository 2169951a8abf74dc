import COpenSSL

/// Ed25519 signatures (RFC 8032).
public enum Ed25519 {
    /// A key that verifies.
    public struct PublicKey: Sendable {
        private let key: KeyPointer

        fileprivate init(_ key: KeyPointer) {
            self.key = key
        }

        /// The key with these 32 bytes.
        public init(raw: [UInt8]) throws(KeyError) {
            guard raw.count == 32,
                let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, raw, raw.count)
            else { throw .unreadable(wanted: "a raw Ed25519 public key") }
            self.key = KeyPointer(key)
        }

        /// The key in a PEM text.
        public init(pem: String) throws(KeyError) {
            guard let key = KeyPointer.publicKey(pem: pem),
                EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_ED25519
            else { throw .unreadable(wanted: "an Ed25519 public key in PEM") }
            self.key = key
        }

        /// The key's 32 bytes.
        public var raw: [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 32)
            var count = bytes.count
            let read = EVP_PKEY_get_raw_public_key(key.pointer, &bytes, &count)
            precondition(read == 1 && count == 32, "an Ed25519 key has 32 bytes")
            return bytes
        }

        /// The key as a PEM text.
        public func pem() throws(KeyError) -> String {
            try key.publicPEM()
        }

        /// Whether a signature of 64 bytes is of this message by this key's owner.
        public func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
            guard signature.count == 64, let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestVerifyInit(context, nil, nil, nil, key.pointer) == 1 else {
                return false
            }
            let verdict = EVP_DigestVerify(
                context, signature, signature.count, message, message.count)
            if verdict != 1 { ERR_clear_error() }
            return verdict == 1
        }
    }

    /// A key that signs.
    public struct PrivateKey: Sendable {
        private let key: KeyPointer

        /// A fresh key.
        public init() {
            key = KeyPointer.generate(EVP_PKEY_ED25519)
        }

        /// The key with this seed of 32 bytes.
        public init(raw: [UInt8]) throws(KeyError) {
            guard raw.count == 32,
                let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, raw, raw.count)
            else { throw .unreadable(wanted: "a raw Ed25519 private key") }
            self.key = KeyPointer(key)
        }

        /// The key in a PEM text.
        public init(pem: String) throws(KeyError) {
            guard let key = KeyPointer.privateKey(pem: pem),
                EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_ED25519
            else { throw .unreadable(wanted: "an Ed25519 private key in PEM") }
            self.key = key
        }

        /// The key as a PEM text (PKCS#8, not encrypted).
        public func pem() throws(KeyError) -> String {
            try key.privatePEM()
        }

        /// The key's seed of 32 bytes.
        public var raw: [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 32)
            var count = bytes.count
            let read = EVP_PKEY_get_raw_private_key(key.pointer, &bytes, &count)
            precondition(read == 1 && count == 32, "an Ed25519 key has 32 bytes")
            return bytes
        }

        /// The key that verifies what this one signs.
        public var publicKey: PublicKey {
            // The same pointer serves: a private key contains its public one.
            PublicKey(key)
        }

        /// The signature of this message: 64 bytes.
        public func signature(for message: [UInt8]) throws(KeyError) -> [UInt8] {
            var signature = [UInt8](repeating: 0, count: 64)
            var count = signature.count
            let context = EVP_MD_CTX_new()
            defer { EVP_MD_CTX_free(context) }
            guard let context,
                EVP_DigestSignInit(context, nil, nil, nil, key.pointer) == 1,
                EVP_DigestSign(context, &signature, &count, message, message.count) == 1,
                count == 64
            else { throw .refused(operation: "sign with an Ed25519 key") }
            return signature
        }
    }
}
