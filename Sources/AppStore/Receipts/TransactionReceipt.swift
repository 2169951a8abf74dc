import Crypto
import Domain

/// What a transaction receipt claims: the older form, one purchase as a property list in text.
///
/// Nothing in it is proved here: only Apple can say whether it is true.
///
/// - Source: receipts of iOS 6 and earlier. Dates are not read: they come in three spellings, and
///   Apple's answer has them all.
public struct TransactionReceipt: Sendable, Hashable {
    /// The app that it claims to be about.
    public var bundle: String?
    /// The product that it claims was bought.
    public var product: String?
    /// The id of the transaction that it claims to prove.
    public var transaction: String?
    /// The id of the transaction that began its line.
    public var original: String?
    /// The environment that it names; Production's name none.
    public var environment: Environment

    /// The receipt in these bytes.
    ///
    /// - Shape: `nil` when they are anything else.
    public init?(_ bytes: [UInt8]) {
        guard let outer = PropertyListText.members(of: bytes),
            let written = outer["purchase-info"], let inner = Base64.decode(written),
            let members = PropertyListText.members(of: inner)
        else { return nil }
        bundle = members["bid"]
        product = members["product-id"]
        transaction = members["transaction-id"]
        original = members["original-transaction-id"]
        environment = outer["environment"].map(Environment.init) ?? .production
    }

    /// The receipt in base64.
    public init?(base64 text: String) {
        guard let bytes = Base64.decode(text) else { return nil }
        self.init(bytes)
    }
}

/// A property list of texts, in the style of NeXT: `{ "key" = "value"; }`.
enum PropertyListText {
    /// The members of the list.
    ///
    /// - Shape: the last of equal names counts; `nil` for anything but a flat list of texts.
    static func members(of bytes: [UInt8]) -> [String: String]? {
        var rest = bytes[...]
        guard take("{", &rest) else { return nil }
        var members: [String: String] = [:]
        while !take("}", &rest) {
            guard let name = text(&rest), take("=", &rest), let value = text(&rest),
                take(";", &rest)
            else { return nil }
            members[name] = value
        }
        skipBlank(&rest)
        return rest.isEmpty ? members : nil
    }

    private static func skipBlank(_ rest: inout ArraySlice<UInt8>) {
        rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
    }

    private static func take(_ mark: Unicode.Scalar, _ rest: inout ArraySlice<UInt8>) -> Bool {
        skipBlank(&rest)
        guard rest.first == UInt8(ascii: mark) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// A quoted text, or a word without quotes.
    private static func text(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard take("\"", &rest) else { return word(&rest) }
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(validating: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                bytes.append(escaped)
            default: bytes.append(byte)
            }
        }
        return nil
    }

    private static func word(_ rest: inout ArraySlice<UInt8>) -> String? {
        let word = rest.prefix { byte in
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte & 0xDF
                || [UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ".")].contains(byte)
        }
        rest = rest.dropFirst(word.count)
        return word.isEmpty ? nil : String(decoding: word, as: UTF8.self)
    }
}
