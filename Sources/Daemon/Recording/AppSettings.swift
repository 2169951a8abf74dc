import AppStore
import Crypto
import Domain
import Foundation

extension Configuration {
    /// The apps as the interpreter wants them.
    var storeApps: [App] {
        apps.map { app in
            App(
                bundleId: app.bundleID, appAppleId: app.appAppleID,
                environments: app.environments.map { Domain.Environment($0.rawValue) })
        }
    }

    /// The interpreter of signed text, with the configured roots.
    func interpreter() throws(DaemonError) -> Interpreter {
        Interpreter(apps: storeApps, verifier: try verifier())
    }

    /// The verifier of signatures, with the configured roots.
    func verifier() throws(DaemonError) -> Verifier {
        var roots: [Certificate] = []
        for path in apple.rootCertificates {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw .fileUnusable(path, why: "there is no such file, or it may not be read")
            }
            do throws(KeyError) {
                roots.append(try Certificate(file: Array(data)))
            } catch {
                throw .fileUnusable(path, why: "no certificate, neither DER nor PEM")
            }
        }
        return Verifier(roots: roots)
    }

    /// The settings that decide answers, as the record holds them.
    func settings(validFrom: Instant?) -> SettingsChange {
        var days: [String: Int64] = [:]
        for app in apps { days[app.bundleID] = app.gracePeriodDays.map(Int64.init) }
        return SettingsChange(
            ownership: ownership == .keep ? .keep : .lastPresenter, stackPasses: stackPasses,
            graceDays: days, validFrom: validFrom)
    }

    /// The catalogue as the record holds it.
    func catalog(validFrom: Instant?) -> CatalogChange {
        var found: [String: Product] = [:]
        for product in products { found[product.id] = product.recorded }
        return CatalogChange(products: found, validFrom: validFrom)
    }
}

extension ProductConfiguration {
    /// The product as the record holds it.
    var recorded: Product {
        switch terms {
        case .autoRenewable(let group, let level, let plan):
            Product(
                kind: "autoRenewable", group: group, level: level.map(Int64.init),
                plan: plan.description, entitlements: entitlements)
        case .nonConsumable: Product(kind: "nonConsumable", entitlements: entitlements)
        case .nonRenewing(let duration):
            Product(
                kind: "nonRenewing", accessDuration: duration.description,
                entitlements: entitlements)
        case .consumable: Product(kind: "consumable", entitlements: entitlements)
        }
    }
}
