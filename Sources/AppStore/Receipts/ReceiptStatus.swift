/// What a status of verifyReceipt asks for.
///
/// - Source: Apple, the `status` of a verifyReceipt answer.
public enum ReceiptStatus: Sendable, Hashable {
    /// The answer says what was bought.
    case valid
    /// The receipt belongs to the other environment; ask there, once.
    case otherEnvironment
    /// Apple cannot say now; ask again later.
    case unavailable
    /// The receipt cannot be read, or Apple stumbled: ask a few times more.
    case unreadable
    /// The shared secret, or the request, is not what Apple wants: the configuration is wrong.
    case misconfigured
    /// Apple's final no.
    case refused

    /// The class of a status.
    ///
    /// - Parameter isRetryable: Apple's `is_retryable`, when it was there.
    public init(_ status: Int64, isRetryable: Bool?) {
        switch status {
        case 0, 21_006: self = .valid
        case 21_007, 21_008: self = .otherEnvironment
        case 21_002: self = .unreadable
        case 21_000, 21_001, 21_004: self = .misconfigured
        case 21_003, 21_010: self = .refused
        case 21_005, 21_009: self = .unavailable
        default: self = isRetryable == false ? .refused : .unavailable
        }
    }
}
