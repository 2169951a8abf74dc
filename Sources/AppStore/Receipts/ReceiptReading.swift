public import Crypto
public import Domain

/// What an answer of the store about a receipt says, read and dated.
public struct ReceiptReading: Sendable {
    /// Its text, without the shared secret that version 1 notifications carry.
    public let text: [UInt8]
    /// SHA-256 of the text.
    public let digest: Digest
    /// Who vouches for it.
    public let source: Source
    /// When it came to us.
    public let receivedAt: Instant
    /// Apple's status.
    public let status: Int64
    /// The environment of all that it says.
    public let environment: Environment
    /// One for each row and each renewal, by line and purchase; may be empty.
    public let observations: [Observation]
    /// Why parts could not be read, one sentence each; the others are not held up by them.
    public let unreadable: [String]
}

/// Why an answer teaches nothing.
public enum AnswerRefusal: Error, Sendable, Equatable {
    /// It is no such answer.
    case malformed(String)
    /// Apple said no; the status says why.
    case status(Int64, ReceiptStatus)
    /// The receipt itself is not Apple's.
    case forged(Forgery, detail: String)
    /// It cannot be believed as configured now.
    case held(HoldReason, detail: String)
}

/// Who vouches for an answer, and what they say beside it.
public struct AnswerOrigin: Sendable {
    /// The app that was asked about.
    public var bundle: String
    /// The environment that was asked, when the answer names none.
    public var environment: Environment?
    /// When it was asked, when the answer does not say.
    public var askedAt: Instant?
    /// When it came to us.
    public var receivedAt: Instant
    /// `receipt` when we asked, `importedAnswer` when the operator vouches for it.
    public var source: Source

    /// An origin of these parts.
    public init(
        bundle: String, environment: Environment?, askedAt: Instant?, receivedAt: Instant,
        source: Source
    ) {
        self.bundle = bundle
        self.environment = environment
        self.askedAt = askedAt
        self.receivedAt = receivedAt
        self.source = source
    }
}

extension Interpreter {
    /// What an answer about a receipt says. Nobody signed it: who asked must be trusted.
    public func answer(_ text: [UInt8], from origin: AnswerOrigin) throws(AnswerRefusal)
        -> ReceiptReading
    {
        let whole: JSON
        do throws(JSONError) {
            whole = try JSON.parse(text)
        } catch {
            throw .malformed(error.message)
        }
        let answer = try believed { () throws(Hold) -> StoreAnswer in try StoreAnswer(whole) }
        let kind = ReceiptStatus(answer.status, isRetryable: answer.isRetryable)
        guard kind == .valid else { throw .status(answer.status, kind) }
        let kept = whole["password"] == nil ? text : whole.without("password").canonicalBytes()
        return try reading(
            rows: answer.rows, renewals: answer.renewals, notice: answer.notice,
            status: answer.status, text: kept, receivedAt: origin.receivedAt,
            source: origin.source
        ) { () throws(Hold) in try asked(answer, origin) }
    }

    /// What rows and renewals say, each for itself, and that a notification came with them.
    func reading(
        rows: [ReceiptRow], renewals: [ReceiptRenewal], notice: String? = nil, status: Int64,
        text: [UInt8], receivedAt: Instant, source: Source, asked judge: () throws(Hold) -> Asked
    ) throws(AnswerRefusal) -> ReceiptReading {
        let asked = try believed(judge)
        let digest = SHA256.digest(of: text)
        let flags = Caveats.flags(
            signedAt: asked.at, receivedAt: receivedAt, isNonCanonical: false)
        var unreadable: [String] = []
        var parts: [Observation] = []
        func keep(_ part: Observation) {
            var part = part
            part.evidence = Fingerprint(digest)
            part.transaction?.content.flags = flags
            part.renewal?.content.flags = flags
            parts.append(part)
        }
        for row in rows {
            do throws(Hold) {
                keep(
                    Observation(
                        transaction: try row.stated(asked), source: source,
                        observedAt: receivedAt))
            } catch {
                unreadable.append(error.detail)
            }
        }
        for renewal in renewals {
            do throws(Hold) {
                keep(
                    Observation(
                        renewal: try renewal.stated(asked), source: source,
                        observedAt: receivedAt))
            } catch {
                unreadable.append(error.detail)
            }
        }
        if let notice {
            var said = Notice(
                uuid: digest.description, type: notice, signedAt: asked.at,
                environment: asked.environment, bundle: asked.bundle)
            // What names several lines, or none, belongs to no line.
            let lines = Set(parts.compactMap { $0.stream?.line?.original })
            said.original = lines.count == 1 ? lines.first : nil
            said.flags = flags
            keep(Observation(notice: said, source: source, observedAt: receivedAt))
        }
        return ReceiptReading(
            text: text, digest: digest, source: source, receivedAt: receivedAt, status: status,
            environment: asked.environment,
            observations: ReceiptReading.inOrder(parts), unreadable: unreadable)
    }

    /// The app, the environment and the instant of an answer's every word.
    private func asked(_ answer: StoreAnswer, _ origin: AnswerOrigin) throws(Hold) -> Asked {
        let app = try apps.app(origin.bundle)
        // The operator says whose a stored answer is; Apple has to say it of what we asked.
        guard let named = answer.bundle ?? (origin.source == .receipt ? nil : origin.bundle),
            named == origin.bundle
        else { throw Hold(.wrongApp, "the receipt is of \(answer.bundle ?? "no named app")") }
        let environment = try apps.environment([answer.environment, origin.environment], of: app)
        let stated = answer.askedAt ?? origin.askedAt
        let askedAt = stated ?? answer.latestPurchase ?? origin.receivedAt
        guard askedAt.isInRange else {
            throw Hold(.outOfRange, "request_date is not between 1970 and 9999")
        }
        try Draft<TransactionStatement>.judgeSigning(askedAt, receivedAt: origin.receivedAt)
        return Asked(bundle: origin.bundle, environment: environment, at: askedAt)
    }

    private func believed<T>(_ body: () throws(Hold) -> T) throws(AnswerRefusal) -> T {
        do throws(Hold) {
            return try body()
        } catch {
            throw .held(error.reason, detail: error.detail)
        }
    }
}

extension StoreAnswer {
    /// When the newest of its purchases was made.
    fileprivate var latestPurchase: Instant? {
        rows.compactMap { try? Reading($0.json).receiptDate("purchase_date") }.max()
    }
}

extension ReceiptReading {
    /// By line, purchases by date before what is expected of the next.
    fileprivate static func inOrder(_ parts: [Observation]) -> [Observation] {
        parts.enumerated().sorted { left, right in
            let (mine, others) = (left.element.stream?.name ?? "", right.element.stream?.name ?? "")
            if mine != others { return mine < others }
            let (bought, other) = (
                left.element.transaction?.content.purchasedAt,
                right.element.transaction?.content.purchasedAt
            )
            if bought != other { return bought ?? .distantFuture < other ?? .distantFuture }
            return left.offset < right.offset
        }.map(\.element)
    }
}

extension JSON {
    fileprivate func without(_ name: String) -> JSON {
        .object((members ?? []).filter { $0.name != name })
    }
}
