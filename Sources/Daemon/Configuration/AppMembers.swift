/// The members of `apps` and `apple`.
extension ConfigurationDecoder {
    mutating func apps(_ node: ConfigurationNode?, at path: String) -> [AppConfiguration] {
        var apps: [AppConfiguration] = []
        for item in list(node, at: path, of: "apps") {
            guard let app = app(item.node, at: item.path) else { continue }
            if apps.contains(where: { $0.bundleID == app.bundleID }) {
                let found = ConfigurationNode.quoted(app.bundleID)
                refuse(
                    item.path + ".bundleId", at: item.node.origin,
                    "found \(found) again; allowed: each bundle id once")
            }
            apps.append(app)
        }
        return apps
    }

    private mutating func app(_ node: ConfigurationNode, at path: String) -> AppConfiguration? {
        let names = [
            "bundleId", "appAppleId", "environments", "sharedSecret", "serverAPI",
            "gracePeriodDays", "receipts",
        ]
        guard let members = object(node, at: path, members: names) else { return nil }
        var app = AppConfiguration(bundleID: "", environments: [.production, .sandbox])
        let bundle = "a bundle id, such as com.example.app"
        if let node = members["bundleId"] {
            app.bundleID =
                text(node, at: members.path("bundleId"), allowed: bundle, Self.bundleID) ?? ""
        } else {
            missing(members.path("bundleId"), in: node, allowed: bundle)
        }
        if let node = members["environments"] {
            app.environments = environments(node, at: members.path("environments")) ?? []
        }
        appAppleID(members, into: &app)
        if let node = members["sharedSecret"] {
            app.sharedSecret = secret(node, at: members.path("sharedSecret"))
        }
        if let node = members["serverAPI"] {
            app.serverAPI = serverAPI(node, at: members.path("serverAPI"))
        }
        if let node = members["receipts"] {
            app.receipts =
                text(
                    node, at: members.path("receipts"),
                    allowed: ReceiptSource.allCases.map(\.rawValue).joined(separator: " or "),
                    ReceiptSource.init(rawValue:)) ?? app.receipts
        }
        if app.receipts == .serverAPI, members["serverAPI"] == nil {
            missing(
                members.path("serverAPI"), in: node,
                allowed: "a key, which receipts: \"serverAPI\" needs")
        }
        if let node = members["gracePeriodDays"] {
            app.gracePeriodDays = integer(
                node, at: members.path("gracePeriodDays"), in: 0...28,
                allowed: "a whole number from 0 to 28; Apple offers 3, 16 and 28"
            ).map { Int($0) }
        }
        return app.bundleID.isEmpty ? nil : app
    }

    private mutating func appAppleID(_ members: Members, into app: inout AppConfiguration) {
        let allowed = "the app's number at the App Store, a whole number from 1"
        if let node = members["appAppleId"] {
            app.appAppleID = integer(
                node, at: members.path("appAppleId"), in: 1...Int64.max, allowed: allowed)
        } else if app.environments.contains(.production) {
            missing(
                members.path("appAppleId"), in: members.object,
                allowed: allowed + ", which Production needs")
        }
    }

    private static func bundleID(_ text: String) -> String? {
        let allowed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return allowed && (1...155).contains(text.utf8.count) ? text : nil
    }

    private mutating func serverAPI(
        _ node: ConfigurationNode, at path: String
    ) -> ServerAPIConfiguration? {
        let names = ["issuerId", "keyId", "privateKey"]
        guard let members = object(node, at: path, members: names) else { return nil }
        var texts: [String: String] = [:]
        for name in ["issuerId", "keyId"] {
            let allowed = "the \(name) that App Store Connect shows"
            guard let node = members[name] else {
                missing(members.path(name), in: members.object, allowed: allowed)
                continue
            }
            texts[name] = text(node, at: members.path(name), allowed: allowed) { text in
                text.isEmpty || text.contains(where: \.isWhitespace) ? nil : text
            }
        }
        guard let key = members["privateKey"] else {
            missing(members.path("privateKey"), in: node, allowed: #"{file: "…"} or {env: "…"}"#)
            return nil
        }
        guard let secret = secret(key, at: members.path("privateKey")),
            let issuerID = texts["issuerId"], let keyID = texts["keyId"]
        else { return nil }
        return ServerAPIConfiguration(issuerID: issuerID, keyID: keyID, privateKey: secret)
    }

    mutating func apple(_ node: ConfigurationNode, at path: String) -> AppleConfiguration? {
        let names = ["rootCertificates", "onlineChecks", "reconcileMinutes", "endpoints"]
        guard let members = object(node, at: path, members: names) else { return nil }
        var apple = AppleConfiguration()
        let roots = members.path("rootCertificates")
        apple.rootCertificates = list(members["rootCertificates"], at: roots, of: "paths")
            .compactMap { self.path($0.node, at: $0.path) }
        if let node = members["onlineChecks"] {
            apple.onlineChecks = flag(node, at: members.path("onlineChecks")) ?? false
        }
        if let node = members["reconcileMinutes"] {
            apple.reconcileMinutes =
                integer(
                    node, at: members.path("reconcileMinutes"), in: 0...10_080,
                    allowed: "a whole number of minutes from 0 (never) to 10080 (a week)"
                ).map { Int($0) } ?? 0
        }
        if let node = members["endpoints"],
            let services = object(
                node, at: members.path("endpoints"), members: ["verifyReceipt", "serverAPI"])
        {
            endpoints(services, "verifyReceipt", into: &apple.verifyReceipt)
            endpoints(services, "serverAPI", into: &apple.serverAPI)
        }
        return apple
    }

    private mutating func endpoints(
        _ services: Members, _ name: String, into endpoints: inout AppleEndpoints
    ) {
        guard let node = services[name],
            let members = object(
                node, at: services.path(name), members: ["Production", "Sandbox"])
        else { return }
        if let node = members["Production"],
            let address = webAddress(node, at: members.path("Production"))
        {
            endpoints.production = address
        }
        if let node = members["Sandbox"],
            let address = webAddress(node, at: members.path("Sandbox"))
        {
            endpoints.sandbox = address
        }
    }
}
