import COpenSSL

/// SHA-256, in one step or in pieces.
///
/// ```swift
/// var hash = SHA256()
/// hash.update(first)
/// hash.update(second)
/// let digest = hash.finish()
/// ```
public struct SHA256: ~Copyable {
    private let context: OpaquePointer

    /// A hash of nothing yet.
    public init() {
        guard let context = EVP_MD_CTX_new() else {
            preconditionFailure("no memory for a hash")
        }
        self.context = context
        let started = EVP_DigestInit_ex2(context, MessageDigest.sha256.pointer, nil)
        precondition(started == 1, "SHA-256 did not start")
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// Adds bytes to what is hashed.
    public mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// Adds borrowed bytes to what is hashed.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        let updated = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        precondition(updated == 1, "SHA-256 did not take bytes")
    }

    /// Adds another digest to what is hashed.
    public mutating func update(_ digest: Digest) {
        digest.withUnsafeBytes { update($0) }
    }

    /// The digest of all that was added.
    public consuming func finish() -> Digest {
        withUnsafeTemporaryAllocation(byteCount: Digest.byteCount, alignment: 8) { memory in
            let finished = EVP_DigestFinal_ex(
                context, memory.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
            precondition(finished == 1, "SHA-256 did not finish")
            return Digest(reading: UnsafeRawBufferPointer(memory))
        }
    }

    /// The digest of these bytes.
    public static func digest(of bytes: [UInt8]) -> Digest {
        bytes.withUnsafeBytes { digest(of: $0) }
    }

    /// The digest of these bytes.
    public static func digest(of bytes: ArraySlice<UInt8>) -> Digest {
        bytes.withUnsafeBytes { digest(of: $0) }
    }

    /// The digest of the text's UTF-8 bytes.
    public static func digest(of text: String) -> Digest {
        digest(of: Array(text.utf8))
    }

    /// The digest of borrowed bytes.
    public static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        withUnsafeTemporaryAllocation(byteCount: Digest.byteCount, alignment: 8) { memory in
            let hashed = EVP_Digest(
                bytes.baseAddress, bytes.count,
                memory.baseAddress?.assumingMemoryBound(to: UInt8.self), nil,
                MessageDigest.sha256.pointer, nil)
            precondition(hashed == 1, "SHA-256 did not hash")
            return Digest(reading: UnsafeRawBufferPointer(memory))
        }
    }
}

/// A fetched hash algorithm: fetching once saves a search of the provider for each hash.
///
/// `@unchecked` holds because a fetched algorithm is a constant: nothing changes it after it is
/// fetched, and each hash has a context of its own.
final class MessageDigest: @unchecked Sendable {
    static let sha256 = MessageDigest(named: "SHA256")

    let pointer: OpaquePointer

    private init(named name: String) {
        guard let pointer = EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("libcrypto has no \(name)")
        }
        self.pointer = pointer
    }

    deinit {
        EVP_MD_free(pointer)
    }
}
