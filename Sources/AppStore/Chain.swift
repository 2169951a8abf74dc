import Crypto
import Domain

/// The certificates of one JWS header, with a path to a trusted root.
struct Chain: Sendable {
    /// The key that signed.
    let key: P256.PublicKey
    /// SHA-256 of the header segment that carries the chain.
    let headerDigest: Digest
    private let certificates: [Certificate]

    /// The certificates, each with its issuer's.
    var signers: SigningChain {
        SigningChain(
            header: headerDigest, leaf: certificates[0], intermediate: certificates[1],
            root: certificates[2])
    }

    /// The path from a header's certificates to a root.
    ///
    /// Its dates are not judged here: they depend on when the text was signed.
    init(header: Segment, roots: Roots) throws(Refusal) {
        let entries = try Chain.entries(header.bytes)
        var parsed: [Certificate] = []
        for der in entries {
            do throws(KeyError) {
                parsed.append(try Certificate(der: der))
            } catch {
                throw .forged(.badCertificate, "x5c[\(parsed.count)] is no certificate")
            }
        }
        let (leaf, intermediate) = (parsed[0], parsed[1])
        guard let root = roots.issuer(of: intermediate, offered: parsed[2]) else {
            throw .forged(.untrustedRoot, "x5c[1] is not signed by a trusted root")
        }
        guard leaf.isSigned(by: intermediate) else {
            throw .forged(.untrustedRoot, "x5c[0] is not signed by x5c[1]")
        }
        guard let key = leaf.p256 else {
            throw .forged(.badCertificate, "x5c[0] has no key on P-256")
        }
        certificates = [leaf, intermediate, root]
        self.key = key
        headerDigest = SHA256.digest(of: header.text)
    }

    /// The three certificates of a header that says what Apple's must say.
    private static func entries(_ header: [UInt8]) throws(Refusal) -> [[UInt8]] {
        guard let json = try? JSON.parse(header), json.members != nil else {
            throw .malformed("the header is no JSON object")
        }
        guard json["alg"]?.text == "ES256" else {
            throw .forged(.badHeader, "alg is not ES256")
        }
        // An extension that must be understood is none that we understand.
        guard json["crit"] == nil else {
            throw .forged(.badHeader, "crit names an unknown extension")
        }
        guard let entries = json["x5c"]?.elements, entries.count == 3 else {
            throw .forged(.badHeader, "x5c has not exactly three entries")
        }
        var certificates: [[UInt8]] = []
        for entry in entries {
            guard let text = entry.text, let der = Base64.decode(text), !der.isEmpty else {
                throw .forged(.badHeader, "x5c[\(certificates.count)] is not base64")
            }
            certificates.append(der)
        }
        return certificates
    }

    /// Refuses the chain when a certificate did not hold at an instant.
    func judge(at instant: Instant) throws(Refusal) {
        for (name, certificate) in zip(["x5c[0]", "x5c[1]", "the root"], certificates)
        where !certificate.isValid(at: instant.milliseconds) {
            throw .forged(.badCertificate, "\(name) did not hold at \(instant.milliseconds)")
        }
    }

    /// Refuses a chain that Apple does not use for purchases.
    func judgePurpose() throws(Refusal) {
        guard certificates[0].signsPurchases else {
            throw .forged(.wrongPurpose, "x5c[0] lacks the mark of a purchase signer")
        }
        guard certificates[1].appointsPurchaseSigners else {
            throw .forged(.wrongPurpose, "x5c[1] lacks the mark of Apple's intermediate authority")
        }
        guard certificates[1].isAuthority, certificates[2].isAuthority else {
            throw .forged(.wrongPurpose, "an issuing certificate is no authority")
        }
    }
}

/// - Source: Apple's markers, in its certificate policy: leaf and intermediate carry one each.
extension Certificate {
    /// Whether Apple made it for signing purchases and receipts.
    var signsPurchases: Bool { hasExtension(oid: "1.2.840.113635.100.6.11.1") }

    /// Whether it is of the authority that makes such certificates.
    var appointsPurchaseSigners: Bool { hasExtension(oid: "1.2.840.113635.100.6.2.1") }
}

/// The certificates that stand behind a signed text.
public struct SigningChain: Sendable {
    /// SHA-256 of the header segment that carried them.
    public let header: Digest
    /// Of the key that signed.
    public let leaf: Certificate
    /// Of the authority that signed the leaf.
    public let intermediate: Certificate
    /// Of the trusted authority that signed the intermediate.
    public let root: Certificate
}

/// The roots that are trusted.
struct Roots: Sendable {
    /// Apple Root CA - G3, and Apple Inc. Root CA.
    private static let apple: Set<Digest> = Set(
        [
            "63343ABFB89A6A03EBB57E9B3F5FA7BE7C4F5C756F3017B3A8C488C3653E9179",
            "B0B1730ECBC7FF4505142C49F1295E6EDA6BCAED7E2C68C5BE91B5A11001F024",
        ].compactMap(Digest.init(hex:)))

    private let configured: [Certificate]

    init(_ configured: [Certificate]) {
        self.configured = configured
    }

    /// The trusted root that signed an intermediate.
    ///
    /// - Shape: of several, the one that holds longest; the offered one only when it is Apple's.
    func issuer(of intermediate: Certificate, offered: Certificate) -> Certificate? {
        trusted(offered: [offered]).filter { intermediate.isSigned(by: $0) }
            .max { $0.notAfter < $1.notAfter }
    }

    /// The configured roots, and those of the offered certificates that are Apple's.
    func trusted(offered: [Certificate]) -> [Certificate] {
        configured + offered.filter { Roots.apple.contains($0.fingerprint) }
    }
}
