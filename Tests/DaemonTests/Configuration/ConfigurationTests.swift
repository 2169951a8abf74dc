import Testing

@testable import Daemon

@Suite("A configuration")
struct ConfigurationTests {
    private static let whole = """
        // Everything that can be said.
        {
          listen: "0.0.0.0:443", privateListen: '[::1]:8081',
          trustedProxies: ["10.0.0.0/8", "::1"],
          database: "postgresql://db1,db2/ledger?target_session_attrs=read-write",
          migrationDatabase: {env: "OWNER_DATABASE"},
          dataDirectory: "../data",
          tls: {certificate: "cert.pem", key: {file: "key.pem"}},
          apps: [{
            bundleId: "com.example.reader", appAppleId: 7000000001,
            environments: ["Production", "Xcode"],
            sharedSecret: {env: "READER_SECRET"},
            serverAPI: {issuerId: "issuer", keyId: "KEY1", privateKey: {file: "/keys/AuthKey.p8"}},
            gracePeriodDays: 16,
          }, {bundleId: "com.example.other", environments: ["Sandbox"]}],
          apple: {
            rootCertificates: ["roots/test.der"], onlineChecks: true, reconcileMinutes: 5,
            endpoints: {verifyReceipt: {Sandbox: "http://127.0.0.1:9/verifyReceipt"}},
          },
          catalog: {products: {
            "reader.year": {kind: "autoRenewable", group: "G1", level: 2, plan: "P1Y",
                            entitlements: ["reader", "archive"]},
            "reader.ever": {kind: "nonConsumable", entitlements: ["reader"]},
            "pass.30d": {kind: "nonRenewing", accessDuration: "P30D"},
            "coins": {kind: "consumable"},
          }},
          ownership: "lastPresenter", stackPasses: true,
          webhooks: [{url: "https://example.com/hook", secret: {env: "HOOK"}}],
        }
        """

    @Test("is read whole, with relative paths from the file's folder")
    func whole() throws {
        let fixture = try ConfigurationFixture()
        defer { fixture.remove() }
        try fixture.write(Self.whole, to: "etc/ledger.json5")
        let read = try fixture.load(
            environment: ["OWNER_DATABASE": "postgres://owner:hidden@db1/ledger"],
            options: ["config": "etc/ledger.json5"])
        var expected = Configuration(dataDirectory: fixture.directory + "/data")
        expected.file = fixture.directory + "/etc/ledger.json5"
        expected.listen = ListenAddress(host: "0.0.0.0", port: 443)
        expected.privateListen = ListenAddress(host: "::1", port: 8081)
        expected.trustedProxies = try [
            #require(AddressRange("10.0.0.0/8")), #require(AddressRange("::1/128")),
        ]
        expected.database = Concealed(
            "postgresql://db1,db2/ledger?target_session_attrs=read-write")
        expected.migrationDatabase = Concealed("postgres://owner:hidden@db1/ledger")
        expected.tls = TLSConfiguration(
            certificate: fixture.directory + "/etc/cert.pem",
            key: .file(fixture.directory + "/etc/key.pem"))
        expected.apps = [
            AppConfiguration(
                bundleID: "com.example.reader", appAppleID: 7_000_000_001,
                environments: [.production, .xcode], sharedSecret: .variable("READER_SECRET"),
                serverAPI: ServerAPIConfiguration(
                    issuerID: "issuer", keyID: "KEY1", privateKey: .file("/keys/AuthKey.p8")),
                gracePeriodDays: 16),
            AppConfiguration(bundleID: "com.example.other", environments: [.sandbox]),
        ]
        expected.apple.rootCertificates = [fixture.directory + "/etc/roots/test.der"]
        expected.apple.onlineChecks = true
        expected.apple.reconcileMinutes = 5
        expected.apple.verifyReceipt.sandbox = "http://127.0.0.1:9/verifyReceipt"
        expected.products = try [
            ProductConfiguration(id: "coins", terms: .consumable, entitlements: []),
            ProductConfiguration(
                id: "pass.30d",
                terms: .nonRenewing(accessDuration: #require(CalendarLength("P30D"))),
                entitlements: []),
            ProductConfiguration(
                id: "reader.ever", terms: .nonConsumable, entitlements: ["reader"]),
            ProductConfiguration(
                id: "reader.year",
                terms: .autoRenewable(group: "G1", level: 2, plan: #require(CalendarLength("P1Y"))),
                entitlements: ["reader", "archive"]),
        ]
        expected.ownership = .lastPresenter
        expected.stackPasses = true
        expected.webhooks = [
            WebhookConfiguration(
                url: "https://example.com/hook", secrets: [.variable("HOOK")],
                environments: [.production])
        ]
        #expect(read == expected)
    }

    @Test("without a file has defaults, and no app and no product")
    func defaults() throws {
        let fixture = try ConfigurationFixture()
        defer { fixture.remove() }
        let read = try fixture.load()
        #expect(read == Configuration(dataDirectory: fixture.directory + "/.subledger"))
        #expect(read.listen.description == "127.0.0.1:8080")
        #expect(read.apple.serverAPI.production == "https://api.storekit.apple.com")
    }

    @Test("takes options before variables, and variables before the file")
    func precedence() throws {
        let fixture = try ConfigurationFixture()
        defer { fixture.remove() }
        try fixture.write(#"{listen: "a:1", dataDirectory: "one"}"#, to: "subledger.json5")
        let variables = [
            "SUBLEDGER_LISTEN": "b:2", "SUBLEDGER_DATA_DIRECTORY": "two",
            "SUBLEDGER_TRUSTED_PROXIES": "10.0.0.1, ::1", "SUBLEDGER_TLS_CERTIFICATE": "c.pem",
            "SUBLEDGER_TLS_KEY_FILE": "k.pem", "SUBLEDGER_STACK_PASSES": "true",
            "SUBLEDGER_DATABASE": "",
        ]
        #expect(try fixture.load().listen.description == "a:1")
        let both = try fixture.load(environment: variables)
        #expect(both.listen.description == "b:2")
        #expect(both.dataDirectory == fixture.directory + "/two")
        #expect(both.trustedProxies.map(\.description) == ["10.0.0.1/32", "::1/128"])
        #expect(both.tls?.key == .file(fixture.directory + "/k.pem"))
        #expect(both.stackPasses)
        #expect(both.database == nil)
        let all = try fixture.load(environment: variables, options: ["listen": "c:3"])
        #expect(all.listen.description == "c:3")
    }

    @Test("warns of a variable that is probably misspelt")
    func warnings() throws {
        let fixture = try ConfigurationFixture()
        defer { fixture.remove() }
        let read = try fixture.load(environment: [
            "SUBLEDGER_LISTN": "a:1", "SUBLEDGER_BOOTSTRAP_KEY": "k", "SUBLEDGER_TEST_LONG": "1",
        ])
        #expect(
            read.warnings == [
                "the environment variable SUBLEDGER_LISTN means nothing here;"
                    + " did you mean SUBLEDGER_LISTEN?"
            ])
        #expect(read.bootstrapKey == .variable("SUBLEDGER_BOOTSTRAP_KEY"))
    }

    @Test("never shows a secret, however it is printed")
    func concealed() throws {
        let secret = try Secret.variable("HOOK").read(environment: ["HOOK": "hush"])
        var shown = ""
        dump(secret, to: &shown)
        #expect(secret.revealed == "hush")
        for text in ["\(secret)", "\(String(reflecting: secret))", "\([secret])", shown] {
            #expect(!text.contains("hush"))
        }
    }

    @Test("reads a secret from its file, without the newline at the end")
    func secretFile() throws {
        let fixture = try ConfigurationFixture()
        defer { fixture.remove() }
        try fixture.write("hush\n", to: "etc/secret")
        let secret = Secret.file(fixture.directory + "/etc/secret")
        #expect(try secret.read(environment: [:]).revealed == "hush")
        #expect(
            throws: ConfigurationError.secretMissing(
                .variable("HOOK"), reason: "the environment variable is not set")
        ) {
            try Secret.variable("HOOK").read(environment: [:])
        }
    }

    @Test("knows which addresses are in a range")
    func ranges() throws {
        let range = try #require(AddressRange("10.1.0.0/15"))
        #expect(range.contains("10.0.255.255"))
        #expect(range.contains("::ffff:10.1.2.3"))
        #expect(!range.contains("10.2.0.0"))
        #expect(!range.contains("no address"))
        #expect(try #require(AddressRange("fd00::/8")).contains("fd12::1"))
        #expect(AddressRange("10.0.0.0/33") == nil)
    }

    @Test(
        "reads lengths as months and days",
        arguments: [
            ("P1W", 0, 7), ("P1M", 1, 0), ("P3M", 3, 0), ("P1Y6M", 18, 0), ("P90D", 0, 90),
        ])
    func lengths(text: String, months: Int, days: Int) throws {
        let length = try #require(CalendarLength(text))
        #expect(length.months == months)
        #expect(length.days == days)
    }
}
