import AppStore
import Crypto
import Domain
import Ledger
import TestSigner

/// Signs what Apple would send: renewals of lines, each with an account token of its own.
struct Forge: Sendable {
    static let bundle = "com.example.app"
    static let appAppleId: Int64 = 1_000_000_001
    static let product = "pro.monthly"
    private static let month = 30 * Instant.millisecondsPerDay

    let store: TestStore
    private let header: String
    private let start: Int64

    /// A forge whose header is as long as Apple's, 5.5 KB in base64.
    init() throws {
        store = try TestStore()
        let bare = store.header()
        let padding = String(repeating: "k", count: max(0, 4_125 - bare.utf8.count))
        header = bare.dropLast() + ",\"kid\":\"\(padding)\"}"
        // The twelfth period is the one of today.
        start = Instant.now.milliseconds - 11 * Forge.month - Forge.month / 2
    }

    /// The interpreter that believes it.
    var interpreter: Interpreter {
        let app = App(
            bundleId: Forge.bundle, appAppleId: Forge.appAppleId, environments: [.production])
        return Interpreter(apps: [app], verifier: Verifier(roots: [store.root]))
    }

    /// The original transaction id of a line.
    static func original(_ line: Int) -> String { String(2_000_000_000_000 + line * 100) }
    /// The account token of a line or customer.
    static func token(_ number: Int) -> String {
        let digits = String(number + 1, radix: 16)
        let tail = String(repeating: "0", count: 12 - digits.count) + digits
        return "6e8f1c52-0000-4000-8000-\(tail)"
    }

    /// A signed notification that a line was renewed for a period, from 0.
    func renewal(line: Int, period: Int) throws -> String {
        let from = start + Int64(period) * Forge.month
        let until = from + Forge.month
        let original = Forge.original(line)
        let signed = from + 1_000
        let transaction = try sign(
            """
            {"transactionId":"\(2_000_000_000_000 + line * 100 + period)",\
            "originalTransactionId":"\(original)",\
            "webOrderLineItemId":"\(3_000_000_000_000 + line * 100 + period)",\
            "bundleId":"\(Forge.bundle)","productId":"\(Forge.product)",\
            "subscriptionGroupIdentifier":"20500000","purchaseDate":\(from),\
            "originalPurchaseDate":\(start),"expiresDate":\(until),"quantity":1,\
            "type":"Auto-Renewable Subscription","appAccountToken":"\(Forge.token(line))",\
            "inAppOwnershipType":"PURCHASED","signedDate":\(signed),\
            "environment":"Production","transactionReason":"RENEWAL","storefront":"USA",\
            "storefrontId":"143441","price":9990,"currency":"USD",\
            "appTransactionId":"704000000000000000"}
            """)
        let renewal = try sign(
            """
            {"originalTransactionId":"\(original)","autoRenewProductId":"\(Forge.product)",\
            "productId":"\(Forge.product)","autoRenewStatus":1,"renewalPrice":9990,\
            "currency":"USD","signedDate":\(signed),"environment":"Production",\
            "recentSubscriptionStartDate":\(start),"renewalDate":\(until),\
            "appTransactionId":"704000000000000000"}
            """)
        return try sign(
            """
            {"notificationType":"DID_RENEW","notificationUUID":"\(uuid(line, period))",\
            "data":{"appAppleId":\(Forge.appAppleId),"bundleId":"\(Forge.bundle)",\
            "bundleVersion":"1","environment":"Production",\
            "signedTransactionInfo":"\(transaction)","signedRenewalInfo":"\(renewal)",\
            "status":1},"version":"2.0","signedDate":\(signed)}
            """)
    }

    /// The proposal of a renewal, all that comes before the writer done.
    func proposal(line: Int, period: Int, _ interpreter: Interpreter) throws -> Proposal {
        let text = Array(try renewal(line: line, period: period).utf8)
        let outcome = interpreter.notification(text, receivedAt: .now)
        guard case .observation(let observation, let signed) = outcome else {
            throw BenchError.unexpected("a forged renewal gave \(outcome.reason ?? "nothing")")
        }
        return Proposal(observation, signed)
    }

    private func sign(_ payload: String) throws -> String {
        try store.sign(payload, header: header)
    }

    private func uuid(_ line: Int, _ period: Int) -> String {
        let digits = String(line * 100 + period + 1, radix: 16)
        return "9ad56bd2-0000-4000-9000-"
            + String(repeating: "0", count: 12 - digits.count) + digits
    }
}

extension Proposal {
    /// What the daemon proposes of an observation that nobody presented.
    init(_ observation: Observation, _ signed: SignedEvidence) {
        let template = EvidenceTemplate.make(signed.text)
        var certificates: [Fingerprint: [UInt8]] = [:]
        for (digest, header) in template.certificates {
            certificates[Fingerprint(hex: digest.description)] = header
        }
        let token = observation.transaction?.content.appAccountToken?.lowercased()
        self.init(
            tokens: token.map { [$0] } ?? [],
            evidence: Evidence(
                digest: Fingerprint(hex: signed.digest.description),
                receivedAt: observation.observedAt, source: observation.source,
                template: template.bytes, certificates: certificates, tokens: template.tokens),
            keys: observation.keys,
            streams: { _ in observation.stream.map { [$0] } ?? [] },
            decide: { known in
                guard let stream = observation.stream else { return .append([]) }
                var numbered = observation
                numbered.transaction?.content.token = token.flatMap { known.tokens[$0] }
                numbered.transaction?.content.appAccountToken = nil
                return .append(Domain.decide(numbered, given: known.subscription(stream)))
            })
    }
}
