import Crypto

/// The key by which an app's owner proves to the server API who asks.
///
/// It shows its id, never itself.
public struct ServerAPIKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The issuer id that App Store Connect shows.
    public let issuerID: String
    /// The key's id.
    public let keyID: String
    let key: P256.PrivateKey

    /// The key in the text of a `.p8` file.
    public init(issuerID: String, keyID: String, pem: String) throws(KeyError) {
        self.issuerID = issuerID
        self.keyID = keyID
        key = try P256.PrivateKey(pem: pem)
    }

    /// The key's id.
    public var description: String { "key \(keyID)" }
    /// The key's id.
    public var debugDescription: String { description }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
