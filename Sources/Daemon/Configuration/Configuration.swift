import Delivery

/// How one installation is set up: the whole of the file, the environment and the options, checked.
struct Configuration: Sendable, Equatable {
    /// The file it was read from, as an absolute path; nil when there was none.
    var file: String?
    /// Where the daemon answers.
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    /// Where everything but the notification door and `/healthz` is served; nil: at `listen` too.
    var privateListen: ListenAddress?
    /// Whose X-Forwarded-For is believed.
    var trustedProxies: [AddressRange] = []
    /// The libpq URL of the ledger's database; nil: an embedded cluster in `dataDirectory`.
    var database: Concealed?
    /// Another login for migrations; nil: `database` too.
    var migrationDatabase: Concealed?
    /// The embedded cluster and local keys, as an absolute path.
    var dataDirectory: String
    /// Nil: plain HTTP.
    var tls: TLSConfiguration?
    /// Unique by bundle id, in the order written; may be empty.
    var apps: [AppConfiguration] = []
    var apple = AppleConfiguration()
    /// The first catalogue, unique and sorted by product id; may be empty.
    var products: [ProductConfiguration] = []
    /// Who owns a line that another customer presents.
    var ownership = OwnershipRule.keep
    /// Whether overlapping non-renewing passes add up.
    var stackPasses = false
    /// In the order written; may be empty.
    var webhooks: [WebhookConfiguration] = []
    /// What a rebuild of a projection may use.
    var projections = ProjectionsConfiguration()
    /// An API key with every role, from the environment alone; nil: none.
    var bootstrapKey: Secret?
    /// What is no error but probably not meant, one sentence each.
    var warnings: [String] = []

    /// The app with this bundle id.
    func app(bundleID: String) -> AppConfiguration? {
        apps.first { $0.bundleID == bundleID }
    }

    /// Every secret that is named, with the path of the member that names it.
    var secrets: [(path: String, secret: Secret)] {
        var found: [(String, Secret)] = []
        if let tls { found.append(("tls.key", tls.key)) }
        for (index, app) in apps.enumerated() {
            if let secret = app.sharedSecret {
                found.append(("apps[\(index)].sharedSecret", secret))
            }
            if let key = app.serverAPI?.privateKey {
                found.append(("apps[\(index)].serverAPI.privateKey", key))
            }
        }
        for (index, webhook) in webhooks.enumerated() {
            for secret in webhook.secrets { found.append(("webhooks[\(index)].secret", secret)) }
        }
        return found
    }
}

/// What a rebuild of a projection may use.
struct ProjectionsConfiguration: Sendable, Equatable {
    /// What its entries and rows may take. Units: MiB.
    var memoryMiB = 256
    /// How many streams are folded at once; nil: as many as the machine has cores.
    var workers: Int?
}

/// Who owns a line that another customer presents.
enum OwnershipRule: String, Sendable, CaseIterable {
    case keep
    case lastPresenter
}

/// Apple's environments.
enum StoreEnvironment: String, Sendable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
    case xcode = "Xcode"
    case localTesting = "LocalTesting"
}

/// A certificate chain and its key.
struct TLSConfiguration: Sendable, Equatable {
    /// PEM, as an absolute path.
    var certificate: String
    /// PEM.
    var key: Secret
}

/// One address that entries about customers and lines are sent to.
struct WebhookConfiguration: Sendable, Equatable {
    /// `https://…` or `http://…`.
    var url: String
    /// Each of them signs, the newest first; never empty.
    var secrets: [Secret]
    /// Never empty.
    var environments: [StoreEnvironment]
    /// What it is called in states, metrics and replays; nil: by its host.
    var name: String?
    var format = Webhook.Format.standard
}
