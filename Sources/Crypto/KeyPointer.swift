import COpenSSL

/// Owns one key of libcrypto.
///
/// `@unchecked` holds because the key is never changed after it is made, and libcrypto
/// allows concurrent use of an unchanging key, each operation in a context of its own.
package final class KeyPointer: @unchecked Sendable {
    package let pointer: OpaquePointer

    /// Takes ownership.
    package init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    /// A fresh key of an algorithm.
    static func generate(
        _ algorithm: Int32, configure: (OpaquePointer) -> Bool = { _ in true }
    ) -> KeyPointer {
        var key: OpaquePointer?
        let context = EVP_PKEY_CTX_new_id(algorithm, nil)
        defer { EVP_PKEY_CTX_free(context) }
        guard let context, EVP_PKEY_keygen_init(context) == 1, configure(context),
            EVP_PKEY_keygen(context, &key) == 1, let key
        else { preconditionFailure("libcrypto made no key") }
        return KeyPointer(key)
    }

    /// The private key that a PEM text holds.
    static func privateKey(pem: String) -> KeyPointer? {
        Memory.read(Array(pem.utf8)) { buffer in
            // Without a passphrase callback libcrypto would ask on the terminal.
            PEM_read_bio_PrivateKey(buffer, nil, { _, _, _, _ in -1 }, nil).map(KeyPointer.init)
        }
    }

    /// The public key that a PEM text holds.
    static func publicKey(pem: String) -> KeyPointer? {
        Memory.read(Array(pem.utf8)) { buffer in
            PEM_read_bio_PUBKEY(buffer, nil, nil, nil).map(KeyPointer.init)
        }
    }

    func privatePEM() throws(KeyError) -> String {
        let written = Memory.written { buffer in
            PEM_write_bio_PKCS8PrivateKey(buffer, pointer, nil, nil, 0, nil, nil)
        }
        guard let written else { throw .refused(operation: "write a private key") }
        return String(decoding: written, as: UTF8.self)
    }

    func publicPEM() throws(KeyError) -> String {
        guard let written = Memory.written({ PEM_write_bio_PUBKEY($0, pointer) }) else {
            throw .refused(operation: "write a public key")
        }
        return String(decoding: written, as: UTF8.self)
    }
}
