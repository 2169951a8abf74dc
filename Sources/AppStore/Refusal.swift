/// Why signed text is not what it claims to be.
public enum Forgery: String, Sendable, Hashable, CaseIterable {
    /// Not signed with ES256 under exactly three certificates.
    case badHeader = "bad_header"
    /// No path from its certificates to a root that is trusted.
    case untrustedRoot = "untrusted_root"
    /// A certificate is unreadable, or did not hold when the text was signed.
    case badCertificate = "bad_certificate"
    /// Apple did not make these certificates for signing purchases.
    case wrongPurpose = "wrong_purpose"
    /// The signature is not this text's.
    case badSignature = "bad_signature"
}

/// Why signed text was refused before anything in it was believed.
public enum Refusal: Error, Equatable, Sendable {
    /// It is no compact JWS at all.
    case malformed(String)
    /// It is one, and not by the App Store.
    case forged(Forgery, String)

    /// The reason as the outside knows it.
    public var reason: String {
        switch self {
        case .malformed: "malformed"
        case .forged(let forgery, _): forgery.rawValue
        }
    }
}

/// Why validly signed text is kept and not believed: configuration or time may cure it.
public enum HoldReason: String, Sendable, Hashable, CaseIterable {
    /// Its payload lacks what it must have, or a member has a type that cannot be read.
    case unparsable
    /// It is about an app that is not configured.
    case wrongApp = "wrong_app"
    /// Its app does not list its environment, or its parts disagree about it.
    case environmentNotAllowed = "environment_not_allowed"
    /// It does not say its environment, and its app lists several.
    case environmentUnknown = "environment_unknown"
    /// What the authorities say of its certificates could not be learnt yet.
    case pendingVerification = "pending_verification"
    /// It was signed more than a day after it was received.
    case futureSigned = "future_signed"
    /// A date is not between 1970 and the year 9999.
    case outOfRange = "out_of_range"
}

/// Why validly signed text is not believed, on its way to the caller.
struct Hold: Error {
    let reason: HoldReason
    let detail: String

    init(_ reason: HoldReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}
