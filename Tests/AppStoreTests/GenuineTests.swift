import AppStore
import Crypto
import Domain
import Foundation
import Testing

/// Genuine signed data that lies beside the package, on the machines that have it.
enum Genuine {
    static let cases: URL? = {
        let found = URL(filePath: #filePath)
            .appending(path: "../../../../shared/cases").standardizedFileURL
        if FileManager.default.fileExists(atPath: found.path) { return found }
        print("SKIPPED: tests against genuine signed data, since there is no ../shared/cases")
        return nil
    }()

    static func text(_ path: String) throws -> [UInt8] {
        let root = try #require(cases)
        return Array(try Data(contentsOf: root.appending(path: path)))
    }

    static func names(_ path: String) throws -> [String] {
        let root = try #require(cases)
        return try FileManager.default.contentsOfDirectory(atPath: root.appending(path: path).path)
            .sorted()
    }

    /// An interpreter that follows whatever app these texts are about.
    static func interpreter(
        _ bundles: [(String, Int64?)], roots: [Certificate] = [],
        environments: [Domain.Environment] = [.production, .sandbox]
    ) -> Interpreter {
        Interpreter(
            apps: bundles.map {
                App(bundleId: $0.0, appAppleId: $0.1, environments: environments)
            }, verifier: Verifier(roots: roots))
    }

    static let receivedAt = Instant(milliseconds: 1_800_000_000_000)
}

@Suite("Genuine signed data", .enabled(if: Genuine.cases != nil))
struct GenuineTests {
    @Test("is believed although its certificates have expired")
    func believed() throws {
        let apps: [(String, Int64?)] = [
            ("cn.soulmate.elf", 6_473_983_973), ("com.cynet.xingqi", 1_659_344_089),
            ("com.example.Pupotty", nil), ("com.leinotek.LovePush", nil),
            ("com.nineton.taller", 6_450_284_872), ("com.tap4fun.bz.appstore", nil),
        ]
        let both = Genuine.interpreter(apps)
        let sandbox = Genuine.interpreter(apps, environments: [.sandbox])
        for name in try Genuine.names("apple-signed/single") {
            let text = try Genuine.text("apple-signed/single/" + name)
            let outcome =
                name.contains("-n-")
                ? both.notification(text, receivedAt: Genuine.receivedAt)
                : name.contains("-renewal-")
                    ? both.renewalInfo(text, receivedAt: Genuine.receivedAt)
                    : both.transaction(text, receivedAt: Genuine.receivedAt)
            if name.contains("tap4fun") {
                #expect(outcome.reason == "environment_unknown")
                let one = sandbox.transaction(text, receivedAt: Genuine.receivedAt)
                #expect(one.observation?.transaction?.content.revocationReason == 0)
            } else {
                #expect(outcome.reason == nil, "\(name)")
            }
            try check(text)
        }
    }

    private func check(_ text: [UInt8]) throws {
        let template = EvidenceTemplate.make(text)
        #expect(!template.isRaw)
        #expect(template.bytes.count * 4 < text.count)
        #expect(
            try EvidenceTemplate.restore(
                template.bytes, certificates: { template.certificates[$0] },
                tokens: template.tokens) == text)
    }

    @Test("tells the story of a line")
    func story() throws {
        let interpreter = Genuine.interpreter([("com.loki-project.loki-messenger", nil)])
        let lines = try Genuine.text("apple-signed/renew-cancel-expire.jsonl")
            .split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 4)
        for line in lines {
            let text = try #require(try JSON.parse(line)["signedPayload"]?.text)
            let outcome = interpreter.notification(
                Array(text.utf8), receivedAt: Genuine.receivedAt)
            #expect(outcome.observation?.notice?.environment == .sandbox)
            #expect(outcome.observation?.transaction != nil)
            #expect(outcome.observation?.renewal != nil)
            try check(Array(text.utf8))
        }
    }

    @Test("that was cut, or signed by others, is refused for the right reason")
    func refused() throws {
        let interpreter = Genuine.interpreter([("GeniusParentingAI", nil), ("com.example", 1_234)])
        for (name, reason) in [
            ("subscribed-short-signature", "bad_signature"),
            ("xcode-signed-transaction", "bad_header"),
            ("apple-mock-testNotification", "untrusted_root"),
        ] {
            let text = try Genuine.text("apple-signed/refuse/\(name).jws")
            for outcome in [
                interpreter.notification(text, receivedAt: Genuine.receivedAt),
                interpreter.transaction(text, receivedAt: Genuine.receivedAt),
            ] {
                #expect(outcome.reason == reason, "\(name)")
            }
        }
    }

    @Test("of Apple's own library is judged as that library judges it")
    func library() throws {
        let root = try Certificate(file: Genuine.text("apple-library/certs/testCA.der"))
        let interpreter = Genuine.interpreter([("com.example", 1_234)], roots: [root])
        func reason(_ name: String) throws -> String? {
            interpreter.notification(
                try Genuine.text("apple-library/mock_signed_data/" + name),
                receivedAt: Genuine.receivedAt
            ).reason
        }
        #expect(try reason("testNotification") == nil)
        #expect(try reason("wrongBundleId") == "wrong_app")
        #expect(try reason("missingX5CHeaderClaim") == "bad_header")
        #expect(try reason("legacyTransaction") == "malformed")
        let transaction = try Genuine.text("apple-library/mock_signed_data/transactionInfo")
        #expect(
            interpreter.transaction(transaction, receivedAt: Genuine.receivedAt).reason
                == "unparsable")
        let renewal = try Genuine.text("apple-library/mock_signed_data/renewalInfo")
        #expect(
            interpreter.renewalInfo(renewal, receivedAt: Genuine.receivedAt).reason
                == "unparsable")
    }
}
