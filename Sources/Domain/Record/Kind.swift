/// What an entry's evidence taught when it arrived, in the past tense.
///
/// It may depend on the order of arrival, so no fold reads it where the statement itself says it.
/// - Shape: an open set; readers accept spellings that they do not know.
public struct Kind: Sendable, Hashable {
    /// The spelling on the record and in every interface.
    public let name: String

    /// The kind of this spelling.
    public init(_ name: String) { self.name = name }

    /// A purchase was first seen.
    public static let purchased = Kind("purchased")
    /// A renewal was first seen.
    public static let renewed = Kind("renewed")
    /// The customer moved to another product before the period ended.
    public static let upgraded = Kind("upgraded")
    /// Access was taken back.
    public static let revoked = Kind("revoked")
    /// Access was given back again.
    public static let reversed = Kind("reversed")
    /// The period ends later.
    public static let extended = Kind("extended")
    /// A later statement that changes anything else.
    public static let amended = Kind("amended")
    /// Auto-renew, plan, or price consent.
    public static let renewalChanged = Kind("renewalChanged")
    /// The store could not collect.
    public static let billingFailed = Kind("billingFailed")
    /// A failed renewal was collected later.
    public static let recovered = Kind("recovered")
    /// The line ended, and says why.
    public static let lapsed = Kind("lapsed")
    /// A notification was heard; what it states has entries of its own.
    public static let notified = Kind("notified")
    /// A token was bound, or a line was bound or presented.
    public static let linked = Kind("linked")
    /// A line went from one customer to another.
    public static let transferred = Kind("transferred")
    /// One customer became another.
    public static let merged = Kind("merged")
    /// A merge was undone.
    public static let unmerged = Kind("unmerged")
    /// The same statement, signed later.
    public static let confirmed = Kind("confirmed")
    /// The backend gave an entitlement.
    public static let granted = Kind("granted")
    /// The backend took a grant back.
    public static let grantRevoked = Kind("grantRevoked")
    /// The set of products was replaced.
    public static let catalogChanged = Kind("catalogChanged")
    /// The settings that decide answers were replaced.
    public static let settingsChanged = Kind("settingsChanged")
    /// An exchange rate was set.
    public static let rateSet = Kind("rateSet")
    /// A person was erased.
    public static let erased = Kind("erased")
    /// Kept as recorded; not understood.
    public static let unrecognized = Kind("unrecognized")
}
