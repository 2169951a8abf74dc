import Domain

/// Somebody with an account at the store.
struct Person: Sendable {
    let id: String
    /// What the app passes along at purchases: `appAccountToken`.
    let token: String
    let appTransactionId: String
    let environment: Environment
    var storefront = "USA"
    var storefrontId = "143441"
    var currency = "USD"
    /// Whether purchases carry the token.
    var showsToken = true
    /// Whether the bank pays.
    var cardWorks = true
    var isDeleted = false
    /// The groups in which a trial was had.
    var triedGroups: Set<String> = []
    /// By their place among all chains.
    var chains: [Int] = []
}
