/// One app whose evidence is believed.
struct AppConfiguration: Sendable, Equatable {
    var bundleID: String
    /// The App Store's number of the app; there whenever Production is among the environments.
    var appAppleID: Int64?
    /// Never empty.
    var environments: [StoreEnvironment]
    /// For receipts.
    var sharedSecret: Secret?
    var serverAPI: ServerAPIConfiguration?
    /// Who says what a receipt holds.
    var receipts = ReceiptSource.verifyReceipt
    /// As configured at Apple; used only when Apple omits the date.
    ///
    /// - Units: days, 0 to 28.
    var gracePeriodDays: Int?
}

/// Who says what a receipt holds.
enum ReceiptSource: String, Sendable, CaseIterable {
    /// Apple, asked each time.
    case verifyReceipt
    /// The receipt itself, by its signature.
    case local
    /// Apple's server API, asked for the history of a transaction that the receipt names.
    case serverAPI
}

/// How to sign requests to Apple's server API.
struct ServerAPIConfiguration: Sendable, Equatable {
    var issuerID: String
    var keyID: String
    /// PEM of a P-256 key.
    var privateKey: Secret
}

/// How Apple is reached and believed.
struct AppleConfiguration: Sendable, Equatable {
    /// Extra trusted roots, DER or PEM, as absolute paths.
    var rootCertificates: [String] = []
    /// Whether revocation is asked for online.
    var onlineChecks = false
    /// How often the record is compared with Apple's servers; 0: never.
    ///
    /// - Units: minutes, up to a week of them.
    var reconcileMinutes = 60
    var verifyReceipt = AppleEndpoints(
        production: "https://buy.itunes.apple.com/verifyReceipt",
        sandbox: "https://sandbox.itunes.apple.com/verifyReceipt")
    var serverAPI = AppleEndpoints(
        production: "https://api.storekit.apple.com",
        sandbox: "https://api.storekit-sandbox.apple.com")
}

/// One of Apple's services in both environments that have it.
struct AppleEndpoints: Sendable, Equatable {
    var production: String
    var sandbox: String
}
