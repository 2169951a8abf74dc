import AppStore
import Crypto
import Domain
import TestSigner
import Testing

@Suite("A notification")
struct NotificationTests {
    @Test("becomes one observation of its notice and both statements")
    func whole() throws {
        let sample = try Sample()
        let text = try sample.notification()
        let observation = try #require(sample.notify(text).observation)
        let signedAt = Instant(milliseconds: 1_749_999_990_000)
        var notice = Notice(
            uuid: "00000000-0000-4000-8000-000000000001", type: "DID_RENEW", signedAt: signedAt,
            environment: .sandbox, bundle: "com.example.app")
        notice.original = "1001"
        notice.transaction = "1002"
        notice.renewalSignedAt = signedAt
        notice.renewsAt = Instant(milliseconds: 1_752_500_000_000)
        notice.status = 1
        #expect(observation.notice == notice)
        var renewal = RenewalStatement(
            original: "1001", signedAt: signedAt, environment: .sandbox)
        renewal.product = "pro.monthly"
        renewal.renewsProduct = "pro.yearly"
        renewal.willRenew = true
        renewal.renewsAt = Instant(milliseconds: 1_752_500_000_000)
        renewal.appAccountToken = Sample.token.lowercased()
        #expect(observation.renewal?.content == renewal)
        let transaction = try #require(sample.state(sample.transaction()).observation)
        #expect(observation.transaction == transaction.transaction)
        #expect(observation.source == .notification)
        #expect(observation.observedAt == Sample.receivedAt)
        #expect(observation.evidence?.hex == SHA256.digest(of: text).description)
        #expect(observation.stream == .line(.sandbox, "1001"))
    }

    @Test("is forged when a text inside it is, by whatever reason that one has")
    func nestedForgery() throws {
        let sample = try Sample()
        let foreign = try Sample()
        let stolen = try foreign.transaction()
        #expect(
            sample.notify(try sample.notification(data: ["signedTransactionInfo": "\"\(stolen)\""]))
                .reason == "untrusted_root")
        let broken = String(try sample.renewal().dropLast(8))
        #expect(
            sample.notify(try sample.notification(data: ["signedRenewalInfo": "\"\(broken)\""]))
                .reason == "bad_signature")
        let unsigned = try sample.store.sign("{}", header: sample.store.header(alg: "none"))
        #expect(
            sample.notify(try sample.notification(data: ["signedRenewalInfo": "\"\(unsigned)\""]))
                .reason == "bad_header")
        #expect(
            sample.notify(try sample.notification(data: ["signedRenewalInfo": "\"no text\""]))
                .reason == "unparsable")
        #expect(
            sample.notify(try sample.notification(data: ["signedRenewalInfo": nil])).reason == nil)
    }

    @Test("is held when it is about an app that is not ours")
    func wrongApp() throws {
        let sample = try Sample()
        for data in [
            ["bundleId": "\"com.example.other\""], ["bundleId": nil],
            [
                "signedTransactionInfo":
                    "\"\(try sample.transaction(["bundleId": "\"com.example.other\""]))\""
            ],
            ["signedTransactionInfo": "\"\(try sample.transaction(["bundleId": nil]))\""],
        ] as [[String: String?]] {
            #expect(sample.notify(try sample.notification(data: data)).reason == "wrong_app")
        }
    }

    @Test("must name Apple's number of the app in Production, and need not elsewhere")
    func appNumber() throws {
        let sample = try Sample()
        func reason(_ environment: String, _ number: String?) throws -> String? {
            let data: [String: String?] = [
                "environment": "\"\(environment)\"", "appAppleId": number,
                "signedTransactionInfo": nil, "signedRenewalInfo": nil,
            ]
            return sample.notify(try sample.notification(data: data)).reason
        }
        #expect(try reason("Production", "1001") == nil)
        #expect(try reason("Production", "\"1001\"") == nil)
        #expect(try reason("Production", "1002") == "wrong_app")
        #expect(try reason("Production", nil) == "wrong_app")
        #expect(try reason("Sandbox", "1002") == nil)
        #expect(try reason("Sandbox", nil) == nil)
    }

    @Test("is held when its environment is not listed, or its parts disagree about it")
    func environments() throws {
        let sample = try Sample(environments: [.production])
        #expect(sample.notify(try sample.notification()).reason == "environment_not_allowed")
        let both = try Sample()
        for name in ["Xcode", "LocalTesting", "Moon"] {
            let data: [String: String?] = [
                "environment": "\"\(name)\"", "signedTransactionInfo": nil,
                "signedRenewalInfo": nil,
            ]
            #expect(
                both.notify(try both.notification(data: data)).reason == "environment_not_allowed")
            let lists = try Sample(both.store, environments: [Environment(name)])
            #expect(lists.notify(try both.notification(data: data)).reason == nil)
        }
        let production = try both.transaction(["environment": "\"Production\""])
        #expect(
            both.notify(try both.notification(data: ["signedTransactionInfo": "\"\(production)\""]))
                .reason == "environment_not_allowed")
    }

    @Test("lends its environment to a transaction that has none")
    func lending() throws {
        let sample = try Sample()
        let bare = try sample.transaction(["environment": nil])
        let outcome = sample.notify(
            try sample.notification(data: ["signedTransactionInfo": "\"\(bare)\""]))
        #expect(outcome.observation?.transaction?.content.environment == .sandbox)
    }

    @Test("without any environment is of the only one its app lists")
    func onlyEnvironment() throws {
        let data: [String: String?] = [
            "environment": nil, "signedTransactionInfo": nil, "signedRenewalInfo": nil,
        ]
        let several = try Sample()
        let text = try several.notification(data: data)
        #expect(several.notify(text).reason == "environment_unknown")
        let one = try Sample(several.store, environments: [.sandbox])
        #expect(one.notify(text).observation?.notice?.environment == .sandbox)
    }

    @Test("is held without an identity, a type or one of the four bodies")
    func unparsable() throws {
        let sample = try Sample()
        for changes in [
            ["notificationUUID": nil], ["notificationUUID": "\"\""], ["notificationType": nil],
            ["data": nil], ["data": "[]"], ["notificationType": "{}"], ["data": "7"],
            ["notificationUUID": "\"\\u0000\""],
            ["notificationUUID": "\"\(String(repeating: "u", count: 256))\""],
        ] as [[String: String?]] {
            #expect(sample.notify(try sample.notification(changes)).reason == "unparsable")
        }
        for payload in ["[]", "7", "no json", "", "{\"a\":1,\"a\":2}"] where !payload.isEmpty {
            #expect(sample.notify(try sample.store.sign(payload)).reason == "unparsable")
        }
        let other = try sample.renewal(["originalTransactionId": "\"7\""])
        #expect(
            sample.notify(try sample.notification(data: ["signedRenewalInfo": "\"\(other)\""]))
                .reason == "unparsable")
    }

    @Test("signed ahead of its receipt is flagged within a day, and held beyond")
    func ahead() throws {
        let sample = try Sample()
        let day: Int64 = 86_400_000
        let text = try sample.notification(data: [
            "signedTransactionInfo": nil, "signedRenewalInfo": nil,
        ])
        let signedAt: Int64 = 1_749_999_990_000
        func notify(_ received: Int64) -> Outcome {
            sample.notify(text, at: Instant(milliseconds: received))
        }
        #expect(notify(signedAt - day - 1).reason == "future_signed")
        #expect(notify(signedAt - day).observation?.notice?.flags == ["clock_skew"])
        #expect(notify(signedAt).observation?.notice?.flags == [])
    }

    @Test("without a signing date is flagged, and dated by what it carries or its receipt")
    func undated() throws {
        let sample = try Sample()
        let carrying = try sample.notification(["signedDate": nil])
        let dated = try #require(sample.notify(carrying).observation?.notice)
        #expect(dated.signedAt == Instant(milliseconds: 1_749_999_990_000))
        let bare = try sample.notification(
            ["signedDate": nil], data: ["signedTransactionInfo": nil, "signedRenewalInfo": nil])
        let undated = try #require(sample.notify(bare).observation?.notice)
        #expect(undated.signedAt == Sample.receivedAt)
        #expect(undated.flags == ["no_signed_date"])
    }

    @Test("dates what it carries undated, so that an archive verifies for ever")
    func archive() throws {
        var chain = TestStore.Chain()
        chain.leafValidity = (1_749_000_000_000, 1_751_000_000_000)
        let sample = try Sample(try TestStore(chain))
        let late = Instant(milliseconds: 1_800_000_000_000)
        let bare = try sample.transaction(["signedDate": nil])
        let data: [String: String?] = ["signedTransactionInfo": "\"\(bare)\""]
        let outcome = sample.notify(try sample.notification(data: data), at: late)
        let statement = try #require(outcome.observation?.transaction?.content)
        #expect(statement.signedAt == Instant(milliseconds: 1_749_999_990_000))
        #expect(statement.flags == ["no_signed_date"])
        let undated = try sample.notification(
            ["signedDate": nil],
            data: data.merging(["signedRenewalInfo": nil]) { first, _ in first })
        #expect(sample.notify(undated, at: late).reason == "bad_certificate")
        #expect(sample.notify(undated).reason == nil)
    }

    @Test("of a type not known yet is believed and flagged")
    func unknownType() throws {
        let sample = try Sample()
        let text = try sample.notification(
            ["notificationType": "\"NEW\"", "subtype": "\"NEWER\"", "future": "[1,{\"a\":null}]"])
        let notice = try #require(sample.notify(text).observation?.notice)
        #expect(notice.type == "NEW" && notice.subtype == "NEWER")
        #expect(notice.flags == ["unknown_type"])
    }

    @Test("may carry a summary, an external purchase token or app data instead")
    func otherBodies() throws {
        let sample = try Sample()
        let summary = try sample.notification([
            "data": nil,
            "summary": """
            {"bundleId":"com.example.app","environment":"Sandbox","requestIdentifier":"r",\
            "productId":"p","succeededCount":5,"failedCount":2,"other":"x"}
            """,
        ])
        let notice = try #require(sample.notify(summary).observation?.notice)
        #expect(notice.details?["succeededCount"] == .integer(5))
        #expect(notice.details?["other"] == nil)
        #expect(notice.stream == .notices(.sandbox, bundle: "com.example.app"))
        func token(_ id: String) throws -> Outcome {
            sample.notify(
                try sample.notification([
                    "data": nil,
                    "externalPurchaseToken": """
                    {"bundleId":"com.example.app","appAppleId":1001,\
                    "externalPurchaseId":"\(id)","tokenCreationDate":1}
                    """,
                ]))
        }
        #expect(try token("SANDBOX_1").observation?.notice?.environment == .sandbox)
        #expect(try token("1").observation?.notice?.environment == .production)
        #expect(try token("1").observation?.notice?.details?["externalPurchaseId"] == nil)
    }

    @Test("about app data is believed only with the app transaction's signature")
    func appData() throws {
        let sample = try Sample()
        let app = try sample.store.sign(
            "{\"bundleId\":\"com.example.app\",\"receiptType\":\"Sandbox\","
                + "\"receiptCreationDate\":1749999990000}")
        func notify(_ signed: String) throws -> Outcome {
            sample.notify(
                try sample.notification([
                    "data": nil, "notificationType": "\"RESCIND_CONSENT\"",
                    "appData": """
                    {"bundleId":"com.example.app","environment":"Sandbox",\
                    "signedAppTransactionInfo":"\(signed)"}
                    """,
                ]))
        }
        #expect(try notify(app).observation?.notice?.type == "RESCIND_CONSENT")
        #expect(try notify(String(app.dropLast(8))).reason == "bad_signature")
    }
}
