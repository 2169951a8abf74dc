import Crypto
import Domain

/// Tells whether a bearer token is one that the server API takes.
///
/// - Source: Apple, Generating JSON Web Tokens for API requests.
struct Bearer {
    let credentials: Credentials
    let bundleId: String

    /// The longest that a token may hold. Units: seconds.
    private static let longest: Int64 = 3_600
    /// How far clocks may differ. Units: seconds.
    private static let skew: Int64 = 60

    /// Whether an `Authorization` field has a good token, by the real clock.
    func accepts(_ field: String?, at now: Instant) -> Bool {
        guard let field, field.hasPrefix("Bearer ") else { return false }
        let parts = field.dropFirst(7).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = json(parts[0]), let claims = json(parts[1]),
            let signature = Base64.decodeURLSafe(Array(parts[2].utf8)[...])
        else { return false }
        guard header["alg"]?.text == "ES256", header["kid"]?.text == credentials.keyId,
            header["typ"]?.text ?? "JWT" == "JWT",
            credentials.publicKey.isValid(
                signature, for: Array(parts[0].utf8) + [UInt8(ascii: ".")] + Array(parts[1].utf8))
        else { return false }
        let seconds = now.milliseconds / 1_000
        guard let ends = claims["exp"]?.integer, ends > seconds - Self.skew else { return false }
        // Apple's own library says no `iat`; then the hour counts from now.
        let issued = claims["iat"]?.integer ?? seconds
        return issued <= seconds + Self.skew && ends - issued <= Self.longest + Self.skew
            && claims["iss"]?.text == credentials.issuerId
            && isAudience(claims["aud"]) && claims["bid"]?.text == bundleId
    }

    private func isAudience(_ claim: JSON?) -> Bool {
        claim?.text == "appstoreconnect-v1"
            || claim?.elements?.contains(.string("appstoreconnect-v1")) == true
    }

    private func json(_ part: Substring) -> JSON? {
        Base64.decodeURLSafe(Array(part.utf8)[...]).flatMap { try? JSON.parse($0) }
    }
}
