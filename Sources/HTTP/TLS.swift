internal import COpenSSL

/// Why a certificate and its key cannot be served.
public enum IdentityError: Error, Equatable, Sendable {
    /// The text has no PEM certificate at its beginning.
    case certificateUnreadable
    /// The text has no PEM private key without a pass phrase.
    case keyUnreadable
    /// The key is not the certificate's.
    case keyDoesNotMatch
}

/// A certificate, those that lead from it to its root, and its private key.
public final class TLSIdentity: Sendable {
    /// `nonisolated(unsafe)` holds because it is only read once `init` has made it, and OpenSSL counts
    /// references to it atomically.
    nonisolated(unsafe) let context: OpaquePointer

    /// Reads PEM texts: the server's own certificate first, then its issuers.
    public init(certificates: [UInt8], key: [UInt8]) throws(IdentityError) {
        guard let context = SSL_CTX_new(TLS_server_method()) else {
            preconditionFailure("OpenSSL could not make a context")
        }
        self.context = context
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // No renegotiation and no compression; OpenSSL spells both as macros.
        SSL_CTX_set_options(context, 1 << 30 | 1 << 17)
        try Self.addCertificates(certificates, to: context)
        try Self.addKey(key, to: context)
    }

    deinit {
        SSL_CTX_free(context)
    }

    private static func addCertificates(
        _ text: [UInt8], to context: OpaquePointer
    ) throws(IdentityError) {
        let source = BIO_new_mem_buf(text, Int32(text.count))
        defer { BIO_free(source) }
        guard let own = PEM_read_bio_X509(source, nil, nil, nil) else {
            throw .certificateUnreadable
        }
        defer { X509_free(own) }
        guard SSL_CTX_use_certificate(context, own) == 1 else { throw .certificateUnreadable }
        while let issuer = PEM_read_bio_X509(source, nil, nil, nil) {
            // The context takes the issuer over.
            guard
                SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 0, UnsafeMutableRawPointer(issuer)) == 1
            else { throw .certificateUnreadable }
        }
        ERR_clear_error()
    }

    private static func addKey(
        _ text: [UInt8], to context: OpaquePointer
    ) throws(IdentityError) {
        let source = BIO_new_mem_buf(text, Int32(text.count))
        defer { BIO_free(source) }
        // Without this a pass phrase would be asked for on the terminal.
        let refusal:
            @convention(c) (
                UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?
            ) -> Int32 = { _, _, _, _ in -1 }
        guard let key = PEM_read_bio_PrivateKey(source, nil, refusal, nil) else {
            ERR_clear_error()
            throw .keyUnreadable
        }
        defer { EVP_PKEY_free(key) }
        guard SSL_CTX_use_PrivateKey(context, key) == 1, SSL_CTX_check_private_key(context) == 1
        else {
            ERR_clear_error()
            throw .keyDoesNotMatch
        }
    }
}

/// One connection's encryption, between memory and memory.
final class TLSSession {
    enum Outcome {
        case bytes(Int)
        case needsMore
        case ended
        case failed
    }

    private let session: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer

    init(_ identity: TLSIdentity) {
        guard let session = SSL_new(identity.context), let incoming = BIO_new(BIO_s_mem()),
            let outgoing = BIO_new(BIO_s_mem())
        else { preconditionFailure("OpenSSL could not make a session") }
        self.session = session
        self.incoming = incoming
        self.outgoing = outgoing
        SSL_set_bio(session, incoming, outgoing)  // which takes both over
        SSL_set_accept_state(session)
    }

    deinit {
        SSL_free(session)
    }

    var hasOutput: Bool { BIO_ctrl_pending(outgoing) > 0 }

    /// Takes bytes from the wire.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        let count = BIO_write(incoming, bytes.baseAddress, Int32(bytes.count))
        precondition(count == bytes.count, "OpenSSL did not take what it has memory for")
    }

    /// Decrypts some of what was taken; shakes hands first.
    func read(into space: UnsafeMutableRawBufferPointer) -> Outcome {
        ERR_clear_error()
        let count = SSL_read(session, space.baseAddress, Int32(space.count))
        if count > 0 { return .bytes(Int(count)) }
        switch SSL_get_error(session, count) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .needsMore
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            ERR_clear_error()
            return .failed
        }
    }

    /// Encrypts all bytes and moves what is to be sent to the end of `sealed`.
    func seal(_ bytes: inout [UInt8], into sealed: inout [UInt8]) -> Bool {
        if !bytes.isEmpty {
            ERR_clear_error()
            let count = bytes.withUnsafeBytes { all in
                SSL_write(session, all.baseAddress, Int32(clamping: all.count))
            }
            guard count == bytes.count else {
                ERR_clear_error()
                return false
            }
            bytes.removeAll(keepingCapacity: bytes.capacity <= 64 * 1_024)
        }
        let pending = BIO_ctrl_pending(outgoing)
        guard pending > 0 else { return true }
        let start = sealed.count
        sealed.append(contentsOf: repeatElement(0, count: pending))
        let count = sealed.withUnsafeMutableBytes { all in
            BIO_read(outgoing, all.baseAddress.map { $0 + start }, Int32(pending))
        }
        return count == pending
    }

    /// Puts the closing word in the output.
    func shutdown() {
        ERR_clear_error()
        SSL_shutdown(session)
        ERR_clear_error()
    }
}
