import COpenSSL
import Crypto

/// Makes app receipts to test against: attributes, signed as PKCS#7.
public enum ReceiptMaker {
    /// How a message is written.
    public enum Encoding: Sendable {
        /// Every length said beforehand.
        case definite
        /// Lengths left open, octets in pieces.
        case open
    }

    /// An element with a tag and bytes.
    public static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var digits: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            digits.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        let length =
            content.count < 0x80
            ? [UInt8(content.count)] : [0x80 | UInt8(digits.count)] + digits
        return [tag] + length + content
    }

    /// A text as an element.
    public static func text(_ text: String) -> [UInt8] {
        element(BERElement.Tag.utf8, Array(text.utf8))
    }

    /// A date as an element.
    public static func date(_ text: String) -> [UInt8] {
        element(BERElement.Tag.ascii, Array(text.utf8))
    }

    /// A whole number as an element.
    public static func number(_ number: Int64) -> [UInt8] {
        var bytes = withUnsafeBytes(of: number.bigEndian) { Array($0) }
        while bytes.count > 1, bytes[0] == 0, bytes[1] < 0x80 { bytes.removeFirst() }
        return element(BERElement.Tag.integer, bytes)
    }

    /// A set of attributes, in the order given.
    public static func attributes(_ attributes: [(type: Int64, value: [UInt8])]) -> [UInt8] {
        let all = attributes.flatMap { attribute in
            element(
                0x20 | BERElement.Tag.sequence,
                number(attribute.type) + number(1)
                    + element(BERElement.Tag.octets, attribute.value))
        }
        return element(0x20 | BERElement.Tag.set, all)
    }

    /// Content signed by a store's key.
    public static func sign(
        _ content: [UInt8], by store: TestStore, encoding: Encoding = .definite,
        bySHA1: Bool = false
    ) -> [UInt8] {
        sign(
            content, leaf: store.leaf, key: store.key.key.pointer,
            others: [store.intermediate, store.root], encoding: encoding, bySHA1: bySHA1)
    }

    /// Content signed by a key that has a certificate.
    public static func sign(
        _ content: [UInt8], leaf: Certificate, key: OpaquePointer, others: [Certificate],
        encoding: Encoding = .definite, bySHA1: Bool = false
    ) -> [UInt8] {
        let flags = PKCS7_BINARY | PKCS7_NOATTR | PKCS7_PARTIAL
        let data = BIO_new_mem_buf(content, Int32(content.count))
        defer { BIO_free(data) }
        let message = PKCS7_sign(nil, nil, nil, data, flags)
        defer { PKCS7_free(message) }
        check(
            PKCS7_sign_add_signer(
                message, leaf.pointer, key, bySHA1 ? EVP_sha1() : EVP_sha256(), flags) != nil)
        for other in others { check(PKCS7_add_certificate(message, other.pointer) == 1) }
        let output = BIO_new(BIO_s_mem())
        defer { BIO_free(output) }
        switch encoding {
        case .definite:
            check(PKCS7_final(message, data, flags) == 1)
            check(i2d_PKCS7_bio(output, message) == 1)
        case .open:
            check(i2d_PKCS7_bio_stream(output, message, data, flags | PKCS7_STREAM) == 1)
        }
        var bytes = [UInt8](repeating: 0, count: content.count + 16_384)
        let count = BIO_read(output, &bytes, Int32(bytes.count))
        check(count > 0 && count < bytes.count)
        return Array(bytes.prefix(Int(count)))
    }

    private static func check(_ succeeded: Bool) {
        precondition(succeeded, "libcrypto signed no message")
    }
}
