public import Crypto
public import Domain

/// Proves that signed text is the App Store's.
///
/// A chain of certificates is judged at the instant that the payload says it was signed at, so an
/// archive verifies for ever (R10). Safe to use from many threads at once.
public final class Verifier: Sendable {
    /// What it trusts besides Apple's own.
    public let extraRoots: [Certificate]
    private let roots: Roots
    private let chains: ChainStore

    /// A verifier that trusts these roots besides Apple's own, which it knows by fingerprint.
    public init(roots: [Certificate] = [], chainLimit: Int = 64) {
        extraRoots = roots
        self.roots = Roots(roots)
        chains = ChainStore(limit: chainLimit)
    }

    /// What a compact JWS says, proved to be the App Store's.
    ///
    /// - Throws: the first of these that is wrong: form, header, path to a trusted root, the
    ///   certificates and their dates, their purpose, the signature.
    public func verify(
        _ text: [UInt8], receivedAt: Instant
    ) throws(Refusal) -> VerifiedJWS {
        let jws = try CompactJWS(text)
        let payload = try Segment(jws.segments[1], named: "payload") { bytes in
            (try? JSON.parse(bytes)) != nil
        }
        let signature = try Segment(jws.segments[2], named: "signature") { bytes in
            bytes.count == P256.signatureByteCount
        }
        let json = try? JSON.parse(payload.bytes)
        let dates = SigningDates(json, receivedAt: receivedAt)
        let (header, chain) = try chain(jws.segments[0], at: dates.effective)
        var hash = SHA256()
        header.text.withUnsafeBytes { hash.update($0) }
        hash.update([UInt8(ascii: ".")])
        payload.text.withUnsafeBytes { hash.update($0) }
        guard chain.key.isValid(signature.bytes, forDigest: hash.finish()),
            // Unused bits of the last character are signed by nobody, so they must be zero.
            Base64.encodedBytes(signature.bytes, as: .urlSafe).elementsEqual(signature.text)
        else {
            throw .forged(.badSignature, "the signature is not this text's")
        }
        return VerifiedJWS(
            header: header.text, signers: chain.signers, payload: payload.bytes,
            payloadDigest: SHA256.digest(of: payload.bytes), json: json,
            signedAt: dates.stated, effectiveAt: dates.effective,
            isNonCanonical: header.isRewritten || payload.isRewritten || signature.isRewritten
                || text.count != jws.segments.reduce(2) { $0 + $1.count })
    }

    /// The chain that a header carries, right at an instant.
    private func chain(
        _ arrived: ArraySlice<UInt8>, at instant: Instant
    ) throws(Refusal) -> (KnownHeader, Chain) {
        if let chain = chains.chain(of: arrived) {
            try chain.judge(at: instant)
            return (KnownHeader(text: arrived, isRewritten: false), chain)
        }
        let header = try Segment(arrived, named: "header") { bytes in
            (try? JSON.parse(bytes)) != nil
        }
        let known = KnownHeader(text: header.text, isRewritten: header.isRewritten)
        if header.isRewritten, let chain = chains.chain(of: header.text) {
            try chain.judge(at: instant)
            return (known, chain)
        }
        let chain = try Chain(header: header, roots: roots)
        try chain.judge(at: instant)
        try chain.judgePurpose()
        chains.keep(chain, of: header.text)
        return (known, chain)
    }
}

/// A header segment whose chain is known.
private struct KnownHeader {
    let text: ArraySlice<UInt8>
    let isRewritten: Bool
}

/// A compact JWS that was proved to be the App Store's.
public struct VerifiedJWS: Sendable {
    /// The canonical header segment, which carries the certificates.
    public let header: ArraySlice<UInt8>
    /// The certificates that it carries, with the root that they lead to.
    public let signers: SigningChain
    /// The decoded payload.
    public let payload: [UInt8]
    /// SHA-256 of the decoded payload: the sameness of what is stated (R1).
    public let payloadDigest: Digest
    /// The payload as JSON; `nil` when it is none.
    let json: JSON?
    /// When the payload, or the one nested in it, says it was signed.
    public let signedAt: Instant?
    /// The instant its certificates were judged at.
    public let effectiveAt: Instant
    /// Whether it arrived written otherwise than RFC 7515 has it.
    public let isNonCanonical: Bool
}

/// When a payload was signed.
struct SigningDates {
    /// As the payload says, or the first of its nested payloads that does.
    let stated: Instant?
    /// As stated, else the time of receipt.
    let effective: Instant

    init(_ payload: JSON?, receivedAt: Instant) {
        stated = payload.flatMap { SigningDates.own($0) ?? SigningDates.nested($0) }
        effective = stated ?? receivedAt
    }

    /// The date of a payload itself.
    static func own(_ payload: JSON) -> Instant? {
        for name in ["signedDate", "receiptCreationDate"] {
            if let date = payload[name], let milliseconds = Reading.milliseconds(date) {
                return Instant(milliseconds: milliseconds)
            }
        }
        return nil
    }

    private static func nested(_ payload: JSON) -> Instant? {
        for text in NestedText.all(in: payload) {
            guard let jws = try? CompactJWS(Array(text.utf8)),
                let bytes = Base64.decode(jws.segments[1]),
                let inner = try? JSON.parse(bytes), let date = own(inner)
            else { continue }
            return date
        }
        return nil
    }
}

/// The signed texts inside a notification.
enum NestedText {
    static func all(in payload: JSON) -> [String] {
        [
            payload["data"]?["signedTransactionInfo"]?.text,
            payload["data"]?["signedRenewalInfo"]?.text,
            payload["appData"]?["signedAppTransactionInfo"]?.text,
        ].compactMap(\.self)
    }
}
