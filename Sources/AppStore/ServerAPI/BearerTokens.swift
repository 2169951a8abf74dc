import Crypto
import Domain
import Synchronization

/// Makes the tokens that calls carry, each used for minutes and replaced well before it ends.
///
/// - Source: Apple, "Generating JSON Web Tokens for API requests": ES256, times in seconds, at most
///   an hour long.
final class BearerTokens: Sendable {
    /// A token and its age.
    struct Token: Sendable, Equatable {
        var text: String
        /// Units: milliseconds.
        var age: Int64
    }

    private struct Kept {
        var text: String
        var madeAt: Instant
    }

    /// How long a token holds. Units: seconds.
    static let life: Int64 = 15 * 60
    /// How long one is used. Units: milliseconds.
    static let use: Int64 = 10 * 60_000

    private let key: ServerAPIKey
    private let bundleID: String
    private let kept = Mutex<Kept?>(nil)

    init(_ key: ServerAPIKey, bundleID: String) {
        self.key = key
        self.bundleID = bundleID
    }

    /// The token to use now.
    func token(now: Instant) throws(KeyError) -> Token {
        let known = kept.withLock { kept in
            kept.flatMap { known in
                let age = now.milliseconds - known.madeAt.milliseconds
                // One from the future was made before the clock was put back.
                return (0..<BearerTokens.use).contains(age)
                    ? Token(text: known.text, age: age) : nil
            }
        }
        if let known { return known }
        let text = try make(now)
        kept.withLock { $0 = Kept(text: text, madeAt: now) }
        return Token(text: text, age: 0)
    }

    /// Uses a token no more.
    func forget(_ token: Token) {
        kept.withLock { kept in
            if kept?.text == token.text { kept = nil }
        }
    }

    private func make(_ now: Instant) throws(KeyError) -> String {
        let seconds = now.milliseconds / 1_000
        let header = JSON(members: [
            "alg": .string("ES256"), "kid": .string(key.keyID), "typ": .string("JWT"),
        ])
        let claims = JSON(members: [
            "iss": .string(key.issuerID), "iat": .integer(seconds),
            "exp": .integer(seconds + BearerTokens.life), "aud": .string("appstoreconnect-v1"),
            "bid": .string(bundleID),
        ])
        let signed = [header, claims].map { Base64.encode($0.bytes(), as: .urlSafe) }
            .joined(separator: ".")
        let signature = try key.key.signature(for: Array(signed.utf8))
        return signed + "." + Base64.encode(signature, as: .urlSafe)
    }
}
