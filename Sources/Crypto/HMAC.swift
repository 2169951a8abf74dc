import COpenSSL

/// HMAC-SHA256: a digest that only the holder of a key can make.
public enum HMAC {
    /// The authentication code of a message under a key.
    public static func sha256(_ message: [UInt8], key: [UInt8]) -> Digest {
        // An empty buffer may have no address, and libcrypto takes a missing key for "keep the old".
        let key = key.isEmpty ? [0] : key
        return withUnsafeTemporaryAllocation(byteCount: Digest.byteCount, alignment: 8) { memory in
            let made = EVP_Q_mac(
                nil, "HMAC", nil, "SHA256", nil, key, key.count, message, message.count,
                memory.baseAddress?.assumingMemoryBound(to: UInt8.self), memory.count, nil)
            precondition(made != nil, "HMAC-SHA256 was not made")
            return Digest(reading: UnsafeRawBufferPointer(memory))
        }
    }

    /// Whether a code is the message's, in time that does not depend on where they differ.
    public static func isValid(_ code: [UInt8], for message: [UInt8], key: [UInt8]) -> Bool {
        constantTimeEqual(sha256(message, key: key).bytes, code)
    }
}

/// Whether two byte strings are equal, in time that depends on their lengths alone.
public func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && (left.isEmpty || CRYPTO_memcmp(left, right, left.count) == 0)
}
