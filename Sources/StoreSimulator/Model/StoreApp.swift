import Domain

/// The app whose purchases are simulated.
struct StoreApp: Sendable {
    var bundleId = "com.example.app"
    var appAppleId: Int64 = 1_000_000_001
    /// What verifyReceipt wants as password; `nil` accepts any.
    var sharedSecret: String?
    /// How long access goes on after a failed renewal; 0 is no grace.
    var graceDays: Int64 = 16
}
