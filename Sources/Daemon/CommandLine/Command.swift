/// What the program can be told to do, spelt as on the command line.
enum Command: String, CaseIterable, Sendable {
    case serve
    case migrate
    case importNotifications = "import notifications"
    case importTransactions = "import transactions"
    case importReceipts = "import receipts"
    case importResponses = "import responses"
    case importRates = "import rates"
    case backfill
    case reconcile
    case entitlements
    case timeline
    case metrics
    case export
    case replay
    case projectionsList = "projections list"
    case projectionsRebuild = "projections rebuild"
    case projectionsVerify = "projections verify"
    case projectionsRollback = "projections rollback"
    case projectionsCancel = "projections cancel"
    case verify
    case quarantineList = "quarantine list"
    case quarantineShow = "quarantine show"
    case quarantineReprocess = "quarantine reprocess"
    case keysCreate = "keys create"
    case keysList = "keys list"
    case keysRevoke = "keys revoke"
    case doctor
    case storeSimulator = "store-simulator"

    /// The one or two words of its spelling.
    var words: [String] { rawValue.split(separator: " ").map(String.init) }
}
