import Domain

/// An app whose purchases are followed.
public struct App: Sendable, Hashable {
    /// The bundle id, as signed payloads name it.
    public let bundleId: String
    /// Apple's number of the app, which Production notifications must name.
    public let appAppleId: Int64?
    /// The environments whose purchases are believed.
    public let environments: [Environment]

    /// An app of this name.
    public init(bundleId: String, appAppleId: Int64?, environments: [Environment]) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environments = environments
    }
}

/// The apps that are followed, by bundle id.
struct Apps: Sendable {
    private let byBundle: [String: App]

    init(_ apps: [App]) {
        byBundle = Dictionary(
            apps.map { ($0.bundleId, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The app that a payload names.
    func app(_ bundle: String?) throws(Hold) -> App {
        guard let bundle else { throw Hold(.wrongApp, "bundleId is missing") }
        guard let app = byBundle[bundle] else {
            throw Hold(.wrongApp, "bundleId names no configured app")
        }
        return app
    }

    /// The environment that the parts of one piece of evidence agree on.
    ///
    /// - Shape: what they state, else the only one that may be meant; listed by the app, or by any
    ///   app when evidence names none.
    func environment(_ stated: [Environment?], of app: App?) throws(Hold) -> Environment {
        let listed =
            app.map { Set($0.environments) } ?? Set(byBundle.values.flatMap(\.environments))
        let named = stated.compactMap(\.self)
        guard let environment = named.first ?? (listed.count == 1 ? listed.first : nil) else {
            throw Hold(.environmentUnknown, "environment is missing and could be several")
        }
        guard named.allSatisfy({ $0 == environment }) else {
            throw Hold(.environmentNotAllowed, "the parts disagree about the environment")
        }
        guard listed.contains(environment) else {
            throw Hold(.environmentNotAllowed, "environment is not listed for the app")
        }
        return environment
    }
}
