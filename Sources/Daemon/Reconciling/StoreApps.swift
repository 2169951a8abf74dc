import AppStore
import Crypto
import Domain
import EventLoop
import Foundation
import HTTP

/// Apple's server API, for the apps that have a key to it.
struct StoreApps: Sendable {
    /// One app, and where it is asked about.
    struct App: Sendable {
        let bundleID: String
        /// Production before Sandbox, as far as the app lists them.
        let places: [ServerAPI]

        /// Where one environment is asked about; `nil` when the app does not list it.
        func place(_ environment: Domain.Environment) -> ServerAPI? {
            places.first { $0.place.environment == environment }
        }
    }

    /// How it is asked.
    struct Manner: Sendable {
        var waiting: Waiting
        var patience = ServerAPI.usualPatience
        /// The part of Apple's rates that is used.
        var share = 1.0
        /// Told of each step and the name of its call.
        var observe: @Sendable (String, ServerAPI.Step) -> Void = { _, _ in }
    }

    /// In the order of the configuration.
    let apps: [App]

    /// How many calls are under way at once.
    static let width = 4

    /// The apps with a key, or the one of them that is named.
    ///
    /// - Throws: `serverAPIUnusable` when a key cannot be used, or there is none where one is
    ///   needed.
    init(_ configuration: Configuration, only bundle: String? = nil, manner: Manner)
        throws(DaemonError)
    {
        var limits = HTTP.Client.Limits()
        limits.underWay = StoreApps.width * 2
        let client = HTTP.Client(limits: limits)
        var apps: [App] = []
        for app in configuration.apps where bundle == nil || app.bundleID == bundle {
            guard let access = app.serverAPI else { continue }
            let key = try access.key(of: app.bundleID)
            let places = app.storePlaces(configuration.apple.serverAPI).map { place in
                ServerAPI(
                    place, key: key, client: client, waiting: manner.waiting,
                    patience: manner.patience, share: manner.share, observe: manner.observe)
            }
            apps.append(App(bundleID: app.bundleID, places: places))
        }
        if let bundle, apps.isEmpty {
            throw .serverAPIUnusable(
                app: bundle,
                why: configuration.app(bundleID: bundle) == nil
                    ? "no such app is configured" : "apps[].serverAPI is missing")
        }
        self.apps = apps
    }
}

extension AppConfiguration {
    /// The environments that Apple can be asked about, Production first.
    fileprivate func storePlaces(_ endpoints: AppleEndpoints) -> [ServerAPI.Place] {
        [(StoreEnvironment.production, endpoints.production), (.sandbox, endpoints.sandbox)]
            .filter { environments.contains($0.0) }
            .map { environment, address in
                var address = address
                while address.hasSuffix("/") { address.removeLast() }
                return ServerAPI.Place(
                    environment: Domain.Environment(environment.rawValue), address: address,
                    bundleID: bundleID)
            }
    }
}

extension ServerAPIConfiguration {
    /// The key, read now.
    func key(of bundle: String) throws(DaemonError) -> ServerAPIKey {
        let pem: Concealed
        do throws(ConfigurationError) {
            pem = try privateKey.read(environment: ProcessInfo.processInfo.environment)
        } catch {
            throw .serverAPIUnusable(app: bundle, why: "\(error)")
        }
        do throws(KeyError) {
            return try ServerAPIKey(issuerID: issuerID, keyID: keyID, pem: pem.revealed)
        } catch {
            throw .serverAPIUnusable(
                app: bundle, why: "\(privateKey) is no P-256 private key in PEM")
        }
    }
}

extension Waiting {
    /// The world as it is; sleepers sleep on a loop.
    static func real(on loop: EventLoop) -> Waiting {
        Waiting(
            now: { SystemClock.now }, chance: { Double.random(in: 0...1) },
            sleep: { (time) async throws(CancellationError) in try await loop.sleep(for: time) })
    }
}
