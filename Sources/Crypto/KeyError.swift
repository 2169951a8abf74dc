/// Why a key or certificate could not be used.
public enum KeyError: Error, Equatable, Sendable {
    /// The text or bytes hold no key of the kind asked for.
    case unreadable(wanted: String)
    /// libcrypto refused an operation that a sound key allows.
    case refused(operation: String)
}
