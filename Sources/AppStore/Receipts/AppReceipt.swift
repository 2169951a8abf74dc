import Crypto
import Domain

/// What an app receipt says: the file that a device keeps of an app's purchases.
///
/// - Shape: members are absent where the receipt lacks them or leaves them empty; nothing has an
///   order but what its dates give it.
/// - Source: Apple, "Validating receipts on the device"; undocumented attributes as they were
///   found in genuine receipts.
public struct AppReceipt: Sendable, Hashable {
    /// Where it is from, such as `Production` or `ProductionSandbox`, as it says.
    public var receiptType: String?
    /// The app it is about.
    public var bundle: String
    /// Apple's number of the app.
    public var appAppleId: Int64?
    /// The app's version when the receipt was made.
    public var version: String?
    /// The version that was bought or installed first.
    public var originalVersion: String?
    /// When it was made, which is the instant its certificates are judged at.
    public var createdAt: Instant
    /// When the app itself was bought first.
    public var originallyPurchasedAt: Instant?
    /// When the receipt itself ends, for volume purchases.
    public var expiresAt: Instant?
    /// The purchases inside the app.
    public var rows: [Row]

    /// One purchase in a receipt.
    public struct Row: Sendable, Hashable {
        /// How many were bought.
        public var quantity: Int64?
        /// What was bought.
        public var product: String
        /// The id of this transaction.
        public var transaction: String
        /// The id of the transaction that began its line.
        public var original: String?
        /// When this transaction took place.
        public var purchasedAt: Instant?
        /// When its line began.
        public var originallyPurchasedAt: Instant?
        /// Apple's number for the kind of product, which Apple does not document.
        public var productType: Int64?
        /// When the paid access ends.
        public var expiresAt: Instant?
        /// The id of the subscription period.
        public var webOrderLineItem: String?
        /// When the purchase was taken back.
        public var cancelledAt: Instant?
        /// Whether the period is a free trial.
        public var isTrial: Bool?
        /// Whether the period is an introductory offer.
        public var isInIntroOffer: Bool?
    }

    /// The environment that its type belongs to.
    ///
    /// - Shape: `nil` for a type that is missing or unknown.
    public var environment: Environment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        case "Xcode": Environment("Xcode")
        default: nil
        }
    }
}

/// Why a receipt was refused.
public enum ReceiptRefusal: Error, Equatable, Sendable {
    /// It is no signed receipt at all.
    case malformed(String)
    /// It is one, and not the App Store's.
    case forged(Forgery, String)
    /// It is the App Store's, and an attribute of it cannot be read.
    case unparsable(String)

    /// The reason as the outside knows it.
    public var reason: String {
        switch self {
        case .malformed: "malformed"
        case .forged(let forgery, _): forgery.rawValue
        case .unparsable: HoldReason.unparsable.rawValue
        }
    }
}

extension AppReceipt {
    /// What a receipt says, proved to be the App Store's.
    ///
    /// Certificates are judged at the instant that the receipt says it was made at, so an archive
    /// verifies for ever (R10).
    ///
    /// - Throws: the first of these that is wrong: form, path to a trusted root, purpose of the
    ///   certificates, signature, attributes, dates of the certificates.
    public static func read(
        _ bytes: [UInt8], roots: [Certificate] = []
    ) throws(ReceiptRefusal) -> AppReceipt {
        let message: SignedData
        do throws(KeyError) {
            message = try SignedData(ber: bytes)
        } catch {
            throw .malformed("the receipt is no PKCS#7 signed data of one signer")
        }
        // The date is not proved yet: here it only chooses between chains to the same roots.
        let attributes = Result { () throws(ReceiptRefusal) in
            try AppReceipt(content: message.content)
        }
        let stated = (try? attributes.get())?.createdAt ?? Instant(milliseconds: 0)
        let trusted = Roots(roots).trusted(offered: message.certificates)
        guard let chain = message.chain(to: trusted, preferring: stated.milliseconds) else {
            throw .forged(.untrustedRoot, "no chain leads from the signer to a trusted root")
        }
        guard chain[0].signsPurchases, chain[1].appointsPurchaseSigners else {
            throw .forged(.wrongPurpose, "the certificates lack the marks of a purchase signer")
        }
        guard message.isSignatureValid else {
            throw .forged(.badSignature, "the signature is not this receipt's")
        }
        let receipt = try attributes.get()
        for certificate in chain where !certificate.isValid(at: receipt.createdAt.milliseconds) {
            throw .forged(
                .badCertificate,
                "a certificate did not hold at \(receipt.createdAt.milliseconds)")
        }
        return receipt
    }

    /// What a receipt in base64 says, proved to be the App Store's.
    ///
    /// - Shape: base64 as tolerant as that of every signed text (R18).
    /// - Throws: as reading its bytes does.
    public static func read(
        base64 text: String, roots: [Certificate] = []
    ) throws(ReceiptRefusal) -> AppReceipt {
        // A space is white space or a lost `+`: the reading that gives a message is taken.
        let readings = [Base64.Space.ignored, .plus].compactMap { Base64.decode(text, spaces: $0) }
        guard let first = readings.first else { throw .malformed("the receipt is not base64") }
        let bytes = readings.first { (try? SignedData(ber: $0)) != nil } ?? first
        return try read(bytes, roots: roots)
    }
}
