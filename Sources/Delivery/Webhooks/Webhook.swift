public import Domain
import Crypto

/// One address that outgoing events are sent to.
public struct Webhook: Sendable, Equatable {
    /// What a delivery says.
    public enum Format: String, Sendable, CaseIterable {
        /// `type`, `timestamp` and `data`, as Standard Webhooks propose.
        case standard
        /// The names and members of RevenueCat's webhooks.
        case revenueCat = "revenuecat"
    }

    /// What it is called in states, metrics and replays; its pending events belong to this name.
    public var name: String
    /// Where it is: `https://…` or `http://…`.
    public var url: String
    /// The keys that sign, each of them, the newest first.
    public var keys: [SigningKey]
    /// Events of these environments; those that belong to none tell Production's entitlements, and
    /// count as its.
    public var environments: [Environment]
    /// What a delivery says.
    public var format: Format

    /// A webhook.
    public init(
        name: String, url: String, keys: [SigningKey], environments: [Environment],
        format: Format = .standard
    ) {
        self.name = name
        self.url = url
        self.keys = keys
        self.environments = environments
        self.format = format
    }

    /// The name of a webhook that was given none: its host, and a digest that tells paths apart
    /// without showing them.
    public static func name(ofURL url: String) -> String {
        let rest = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        let host = rest.count > 2 ? String(rest[2]) : url
        return host + "-" + SHA256.digest(of: url).description.prefix(8)
    }
}

/// A key that signs deliveries.
///
/// - Source: Standard Webhooks, "Signature scheme".
public struct SigningKey: Sendable, Equatable {
    private let bytes: [UInt8]

    /// The key of a secret as it is configured, read as the libraries of Standard Webhooks read it.
    ///
    /// - Shape: `whsec_` and base64; or base64 alone of 24 to 64 bytes; or else any text, whose
    ///   UTF-8 is the key. `nil` for an empty text and for `whsec_` before what is no base64.
    public init?(secret: String) {
        let prefix = "whsec_"
        if secret.hasPrefix(prefix) {
            let decoded = Base64.decode(String(secret.dropFirst(prefix.count)))
            guard let decoded, !decoded.isEmpty else { return nil }
            bytes = decoded
        } else if secret.utf8.count % 4 == 0, let decoded = Base64.decode(secret),
            (24...64).contains(decoded.count)
        {
            bytes = decoded
        } else {
            guard !secret.isEmpty else { return nil }
            bytes = Array(secret.utf8)
        }
    }

    /// The signature of a message, as one word of the field `webhook-signature`.
    ///
    /// - Parameter timestamp: when it is sent. Units: seconds since 1970.
    public func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        let message = Array("\(id).\(timestamp).".utf8) + body
        return "v1," + Base64.encode(HMAC.sha256(message, key: bytes).bytes)
    }
}
