import Crypto
import Domain

/// What became of signed text that was offered as evidence.
public enum Outcome: Sendable {
    /// It is believed.
    case observation(Observation, SignedEvidence)
    /// It is the App Store's, and not believed for a reason that may pass.
    case held(HoldReason, detail: String, SignedEvidence)
    /// It is not the App Store's.
    case forged(Forgery, detail: String)
    /// It is no signed text at all.
    case malformed(detail: String)

    /// The observation, when it is believed.
    public var observation: Observation? {
        if case .observation(let observation, _) = self { observation } else { nil }
    }

    /// The reason as the outside knows it; `nil` when it is believed.
    public var reason: String? {
        switch self {
        case .observation: nil
        case .held(let reason, _, _): reason.rawValue
        case .forged(let forgery, _): forgery.rawValue
        case .malformed: "malformed"
        }
    }
}

/// Text that was proved to be signed by the App Store.
public struct SignedEvidence: Sendable {
    /// The text exactly as it arrived.
    public let text: [UInt8]
    /// SHA-256 of the text as it arrived.
    public let digest: Digest
    /// SHA-256 of the decoded payload: the sameness of what is stated (R1).
    public let payloadDigest: Digest
    /// The certificates behind it and behind the texts signed inside it, each chain once.
    public let signers: [SigningChain]

    init(text: [UInt8], jws: VerifiedJWS, nested: [VerifiedJWS] = []) {
        self.text = text
        var signers = [jws.signers]
        for chain in nested.map(\.signers)
        where !signers.contains(where: { $0.header == chain.header }) {
            signers.append(chain)
        }
        self.signers = signers
        digest = SHA256.digest(of: text)
        payloadDigest = jws.payloadDigest
    }
}

extension Fingerprint {
    /// The fingerprint that a digest is.
    init(_ digest: Digest) {
        self.init(hex: digest.description)
    }
}
