import Testing

@testable import Daemon

@Suite("A configuration is refused")
struct ConfigurationRefusalTests {
    @Test(
        "with the member's place and path, what was found and what is allowed",
        arguments: [
            (
                "[]",
                "1:1: found a list; allowed: an object with listen, privateListen,"
                    + " trustedProxies, database, migrationDatabase, dataDirectory, tls, apps, apple,"
                    + " catalog, ownership, stackPasses, webhooks, projections"
            ),
            ("{lisen: 1}", "1:2: lisen: no member has this name; did you mean listen?"),
            (
                "{listen: 8080}",
                "1:10: listen: found 8080; allowed: host:port, such as 127.0.0.1:8080 or [::1]:8080"
            ),
            (
                #"{listen: "::1:80"}"#,
                #"1:10: listen: found "::1:80"; allowed: host:port, such as 127.0.0.1:8080 or"#
                    + " [::1]:8080"
            ),
            (
                #"{listen: "a:1", privateListen: "a:1"}"#,
                #"1:32: privateListen: found "a:1"; allowed: another address than listen"#
            ),
            (
                #"{trustedProxies: ["10.0.0.0/33"]}"#,
                #"1:19: trustedProxies[0]: found "10.0.0.0/33"; allowed: an IP address or range,"#
                    + " such as 127.0.0.1/32"
            ),
            (
                #"{database: "mysql://a"}"#,
                "1:12: database: found another text; allowed: a postgresql:// URL"
            ),
            (
                #"{database: "postgresql://me:hush@db/x"}"#,
                "1:12: database: found a password in the URL; allowed: the URL without it (libpq"
                    + #" reads PGPASSFILE), or the whole URL as {file: "…"} or {env: "…"}"#
            ),
            (
                #"{tls: {certificate: "c.pem"}}"#,
                "1:7: tls.key: found nothing; allowed: both certificate and key"
            ),
            (
                #"{ownership: "Keep"}"#,
                #"1:13: ownership: found "Keep"; allowed: keep, lastPresenter; did you mean keep?"#
            ),
            ("{stackPasses: 1}", "1:15: stackPasses: found 1; allowed: true or false"),
            ("{stackPasses: null}", "1:15: stackPasses: found null; allowed: true or false"),
        ])
    func general(text: String, expected: String) throws {
        #expect(
            try ConfigurationFixture.refusal(of: text) == "subledger.json5:" + expected)
    }

    @Test(
        "for what an app says",
        arguments: [
            (
                "{environments: [\"Xcode\"]}",
                #"10: apps[0].bundleId: found nothing; allowed: a bundle id, such as com.example.app"#
            ),
            (
                #"{bundleId: "a b", appAppleId: 1}"#,
                #"21: apps[0].bundleId: found "a b"; allowed: a bundle id, such as com.example.app"#
            ),
            (
                #"{bundleId: "a"}"#,
                "10: apps[0].appAppleId: found nothing; allowed: the app's number at the App Store,"
                    + " a whole number from 1, which Production needs"
            ),
            (
                #"{bundleId: "a", appAppleId: 0}"#,
                "38: apps[0].appAppleId: found 0; allowed: the app's number at the App Store, a"
                    + " whole number from 1"
            ),
            (
                #"{bundleId: "a", appAppleId: 1, gracePeriodDays: 29}"#,
                "58: apps[0].gracePeriodDays: found 29; allowed: a whole number from 0 to 28; Apple"
                    + " offers 3, 16 and 28"
            ),
            (
                #"{bundleId: "a", appAppleId: 1, gracePeriodDays: 3.5}"#,
                "58: apps[0].gracePeriodDays: found 3.5; allowed: a whole number from 0 to 28;"
                    + " Apple offers 3, 16 and 28"
            ),
            (
                #"{bundleId: "a", environments: []}"#,
                "40: apps[0].environments: found an empty list; allowed: at least one environment"
            ),
            (
                #"{bundleId: "a", environments: ["sandbox"]}"#,
                #"41: apps[0].environments[0]: found "sandbox"; allowed: Production, Sandbox, Xcode,"#
                    + " LocalTesting; did you mean Sandbox?"
            ),
            (
                #"{bundleId: "a", appAppleId: 1, sharedSecret: "hush"}"#,
                "55: apps[0].sharedSecret: found text; allowed: {file: \"…\"} or {env: \"…\"},"
                    + " never the secret itself"
            ),
            (
                #"{bundleId: "a", appAppleId: 1, sharedSecret: {env: "A", file: "b"}}"#,
                "55: apps[0].sharedSecret: found both of file and env; allowed: one of them"
            ),
            (
                #"{bundleId: "a", appAppleId: 1, bundleID: "b"}"#,
                "41: apps[0].bundleID: no member has this name; did you mean bundleId?"
            ),
        ])
    func apps(app: String, expected: String) throws {
        let found = try ConfigurationFixture.refusal(of: "{ apps: [\(app)] }")
        #expect(found == "subledger.json5:1:" + expected)
    }

    @Test(
        "for what a product says",
        arguments: [
            (
                "{}",
                "kind: found nothing; allowed: autoRenewable, nonConsumable, nonRenewing, consumable"
            ),
            (
                #"{kind: "autorenewable"}"#,
                #"kind: found "autorenewable"; allowed: autoRenewable, nonConsumable, nonRenewing,"#
                    + " consumable; did you mean autoRenewable?"
            ),
            (
                #"{kind: "autoRenewable", group: "G1"}"#,
                "plan: found nothing; allowed: an ISO 8601 length, such as P1W, P1M, P1Y or P90D"
            ),
            (
                #"{kind: "autoRenewable", plan: "P1M"}"#,
                "group: found nothing; allowed: the name of a subscription group, 1 to 100 characters"
            ),
            (
                #"{kind: "autoRenewable", group: "G1", plan: "1M"}"#,
                #"plan: found "1M"; allowed: an ISO 8601 length, such as P1W, P1M, P1Y or P90D"#
            ),
            (
                #"{kind: "nonRenewing", accessDuration: "PT1H"}"#,
                #"accessDuration: found "PT1H"; allowed: an ISO 8601 length, such as P1W, P1M, P1Y"#
                    + " or P90D"
            ),
            (
                #"{kind: "consumable", entitlements: ["pro"]}"#,
                "entitlements: found a list; allowed: nothing, since the kind is consumable"
            ),
            (
                #"{kind: "nonConsumable", entitlements: ["pro", "pro"]}"#,
                #"entitlements[1]: found "pro"; allowed: each entitlement once"#
            ),
            (
                #"{kind: "nonConsumable", entitlements: ["a/b"]}"#,
                #"entitlements[0]: found "a/b"; allowed: a name of 1 to 100 letters, digits and"#
                    + " . _ - that begins with a letter or digit"
            ),
            (
                #"{kind: "autoRenewable", group: "G1", plan: "P1M", level: 0}"#,
                "level: found 0; allowed: a whole number from 1 (the highest service) to 1000"
            ),
        ])
    func products(product: String, expected: String) throws {
        let found = try ConfigurationFixture.refusal(
            of: #"{catalog: {products: {"pro.monthly": \#(product)}}}"#)
        let message = found.drop { $0 != " " }.dropFirst()
        #expect(message == #"catalog.products["pro.monthly"]."# + expected)
    }

    @Test("for all its faults at once, in the order of the members")
    func together() throws {
        let found = try ConfigurationFixture.refusal(
            of: """
                {
                  stackPasses: "yes",
                  apps: [{bundleId: "a", appAppleId: 1}, {bundleId: "a", appAppleId: 2}],
                  webhooks: [{url: "ftp://x", secret: "hush"}],
                }
                """)
        #expect(
            found == #"""
                subledger.json5:3:42: apps[1].bundleId: found "a" again; allowed: each bundle id once
                subledger.json5:2:16: stackPasses: found "yes"; allowed: true or false
                subledger.json5:4:20: webhooks[0].url: found "ftp://x"; allowed: an https:// or http:// address without a login
                subledger.json5:4:39: webhooks[0].secret: found text; allowed: {file: "…"} or {env: "…"}, never the secret itself
                """#)
    }

    @Test("by the variable or option that said it")
    func origins() throws {
        let allowed = "allowed: host:port, such as 127.0.0.1:8080 or [::1]:8080"
        #expect(
            try ConfigurationFixture.refusal(of: "{}", environment: ["SUBLEDGER_LISTEN": "x"])
                == #"SUBLEDGER_LISTEN: listen: found "x"; "# + allowed)
        #expect(
            try ConfigurationFixture.refusal(of: "{}", options: ["listen": "y"])
                == #"--listen: listen: found "y"; "# + allowed)
        let secret = try ConfigurationFixture.refusal(
            of: "{}", options: ["database": "postgres://a:hush@b/c"])
        #expect(secret.hasPrefix("--database: database: found a password in the URL"))
        #expect(!secret.contains("hush"))
    }

    @Test("when a file that was asked for is not there")
    func absent() throws {
        #expect(
            try ConfigurationFixture.refusal(of: "{}", options: ["config": "other.json5"])
                == "other.json5: there is no such file, or it may not be read")
    }
}
