import Crypto
public import Domain
public import HTTP

/// Asks Apple what a receipt says, in the environment that it belongs to.
///
/// Production is asked first, the sandbox when Production says that the receipt is of there; no
/// attempt switches twice, so that two environments which point at each other end it.
///
/// - Source: Apple, verifyReceipt.
public struct ReceiptClient: Sendable {
    /// What the outside of this room does for it.
    public struct Surroundings: Sendable {
        /// What time it is.
        public var now: @Sendable () -> Instant
        /// A random number from 0 to 1.
        public var chance: @Sendable () -> Double
        /// Waits, unless cancelled.
        public var pause: @Sendable (Duration) async throws -> Void

        /// Surroundings of these parts.
        public init(
            now: @escaping @Sendable () -> Instant, chance: @escaping @Sendable () -> Double,
            pause: @escaping @Sendable (Duration) async throws -> Void
        ) {
            self.now = now
            self.chance = chance
            self.pause = pause
        }
    }

    /// What a receipt is asked about with.
    public struct Question: Sendable {
        /// The receipt in base64, as the app sent it.
        public var receipt: String
        /// The app's shared secret; subscriptions are not answered without.
        public var sharedSecret: String?
        /// The environments that may be asked, in this order.
        public var environments: [Environment]
        /// Whether only the newest renewal of each subscription is wanted.
        public var excludesOldTransactions: Bool

        /// A question of these parts.
        public init(
            receipt: String, sharedSecret: String?, environments: [Environment],
            excludesOldTransactions: Bool = false
        ) {
            self.receipt = receipt
            self.sharedSecret = sharedSecret
            self.environments = environments
            self.excludesOldTransactions = excludesOldTransactions
        }
    }

    /// What Apple answered.
    public struct Answered: Sendable {
        /// The answer's text.
        public let text: [UInt8]
        /// Who answered.
        public let environment: Environment
        /// When it was asked.
        public let askedAt: Instant
    }

    /// The longest answer that is read: a history of tens of thousands of rows. Units: bytes.
    static let answerLimit = 64 * 1_024 * 1_024
    private static let answerTime = Duration.seconds(30)

    private let client: Client
    private let addresses: [Environment: String]
    private let patience: Patience
    private let surroundings: Surroundings

    /// A client that asks at these addresses.
    public init(
        _ client: Client, addresses: [Environment: String],
        patience: Patience = Patience(
            attempts: 3, first: .milliseconds(250), longest: .seconds(2), total: .seconds(20)),
        in surroundings: Surroundings
    ) {
        self.client = client
        self.addresses = addresses
        self.patience = patience
        self.surroundings = surroundings
    }

    /// Apple's valid answer.
    ///
    /// - Throws: why there is none, after a few attempts where another may help.
    public func answer(to question: Question) async throws(ReceiptError) -> Answered {
        guard let receipt = ReceiptClient.normalized(question.receipt) else { throw .noReceipt }
        let start = surroundings.now()
        var order = question.environments.filter { addresses[$0] != nil }
        guard !order.isEmpty else { throw .environmentNotAllowed(status: nil) }
        var attempt = 1
        while true {
            let failure: ReceiptError
            do throws(ReceiptError) {
                return try await ask(receipt, question, in: &order)
            } catch {
                failure = error
            }
            guard failure.mayPass,
                let pause = patience.pause(
                    after: attempt, since: start, now: surroundings.now(),
                    chance: surroundings.chance()),
                (try? await surroundings.pause(pause)) != nil
            else { throw failure }
            attempt += 1
        }
    }

    /// One attempt: one question, or two when the first is asked in the wrong environment.
    private func ask(_ receipt: String, _ question: Question, in order: inout [Environment])
        async throws(ReceiptError) -> Answered
    {
        var switched = false
        while true {
            let environment = order[0]
            let askedAt = surroundings.now()
            let text = try await post(receipt, question, to: environment)
            guard let json = try? JSON.parse(text), let status = ReceiptClient.status(json) else {
                throw .unavailable("the answer is none of verifyReceipt's")
            }
            let isRetryable = (try? Reading(json).truth("is_retryable")) ?? nil
            switch ReceiptStatus(status, isRetryable: isRetryable) {
            case .valid:
                return Answered(text: text, environment: environment, askedAt: askedAt)
            case .otherEnvironment:
                if switched { throw .conflict(status: status) }
                let other = Environment(status == 21_007 ? "Sandbox" : "Production")
                guard other != environment, order.contains(other) else {
                    throw .environmentNotAllowed(status: status)
                }
                // Stays there, should another attempt be needed.
                order = [other] + order.filter { $0 != other }
                switched = true
            case .unavailable: throw .unavailable("status \(status)")
            case .unreadable: throw .unreadable(status: status)
            case .misconfigured: throw .misconfigured(status: status)
            case .refused: throw .refused(status: status)
            }
        }
    }

    private func post(_ receipt: String, _ question: Question, to environment: Environment)
        async throws(ReceiptError) -> [UInt8]
    {
        let body = JSON(members: [
            "receipt-data": .string(receipt), "password": .text(question.sharedSecret),
            "exclude-old-transactions": .truth(question.excludesOldTransactions ? true : nil),
        ])
        let answer: Client.Answer
        do {
            answer = try await client.send(
                "POST", addresses[environment] ?? "",
                headers: [Header("Content-Type", "application/json")], body: body.bytes(),
                limit: ReceiptClient.answerLimit, within: ReceiptClient.answerTime)
        } catch {
            throw .unavailable("\(error)")
        }
        guard answer.status == 200 else { throw .unavailable("HTTP status \(answer.status)") }
        return answer.body
    }

    private static func status(_ json: JSON) -> Int64? {
        (try? Reading(json).integer("status")) ?? nil
    }

    /// The receipt in standard base64 without breaks; `nil` when it is no base64 (R18).
    static func normalized(_ receipt: String) -> String? {
        let bytes = Array(receipt.utf8)
        guard let first = bytes.firstIndex(where: { $0 > 0x20 }),
            let last = bytes.lastIndex(where: { $0 > 0x20 })
        else { return nil }
        let trimmed = bytes[first...last]
        guard
            let decoded = Base64.decode(trimmed, spaces: .plus)
                ?? Base64.decode(trimmed, spaces: .ignored), !decoded.isEmpty
        else { return nil }
        return Base64.encode(decoded, as: .standard)
    }
}

/// Why Apple's answer about a receipt is not there.
public enum ReceiptError: Error, Sendable, Hashable {
    /// What was offered is no base64; nobody was asked.
    case noReceipt
    /// Apple could not be asked, or could not say.
    case unavailable(String)
    /// Apple cannot read the receipt, after several attempts.
    case unreadable(status: Int64)
    /// Each environment says that the receipt is of the other one.
    case conflict(status: Int64)
    /// The receipt is of an environment that the app does not list.
    case environmentNotAllowed(status: Int64?)
    /// The shared secret is not the app's, or Apple does not take requests of this form.
    case misconfigured(status: Int64)
    /// Apple's final no.
    case refused(status: Int64)

    /// Whether the same question may be answered at another time.
    var mayPass: Bool {
        switch self {
        case .unavailable, .unreadable: true
        case .noReceipt, .conflict, .environmentNotAllowed, .misconfigured, .refused: false
        }
    }
}
