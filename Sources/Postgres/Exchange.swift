/// One caller's statements on a pipelined session, answered together.
final class Exchange {
    struct Prepared {
        let sql: String
        let parameters: EncodedParameters
    }

    enum State {
        case waiting
        case sent
        case answered
    }

    let statements: [Prepared]
    /// Whether `begin` and `commit` go around the statements.
    let isAtomic: Bool
    /// Whether its statements may be kept by the server for the next time.
    let keepsStatements: Bool
    let limit: Duration
    let deadline: ContinuousClock.Instant

    var state = State.waiting
    /// Whether it failed for another's fault and now goes alone.
    var isSentAgain = false
    var answers: [Rows] = []
    var failure: PostgresError?
    /// Whether an earlier error made the server skip a statement.
    var isSkipped = false
    /// Whether a statement the server kept has to be prepared anew.
    var hasStaleStatement = false

    private var answer: ((Result<[Rows], PostgresError>) -> Void)?

    init(
        _ statements: [Prepared], isAtomic: Bool, keepsStatements: Bool = true, limit: Duration,
        _ answer: @escaping (Result<[Rows], PostgresError>) -> Void
    ) {
        self.statements = statements
        self.isAtomic = isAtomic
        self.keepsStatements = keepsStatements
        self.limit = limit
        self.deadline = .now + limit
        self.answer = answer
        answers.reserveCapacity(statements.count)
    }

    /// Makes it as if it had never been sent.
    func reset() {
        state = .waiting
        isSentAgain = true
        isSkipped = false
        hasStaleStatement = false
        failure = nil
        answers = []
    }

    /// Answers the caller with what has been collected.
    func finish() {
        finish(failure.map { .failure($0) } ?? .success(answers))
    }

    /// Answers the caller because the session ended.
    func finish(lost reason: String) {
        if let failure { return finish(.failure(failure)) }
        finish(
            .failure(isAtomic && state == .sent ? .commitUnknown(reason) : .connectionLost(reason)))
    }

    /// Answers the caller because its time is over and so the session was ended.
    func finishTimedOut() {
        if let failure { return finish(.failure(failure)) }
        let isUnknown = isAtomic && state == .sent
        finish(
            .failure(
                isUnknown
                    ? .commitUnknown("no answer within \(limit)") : .timedOut(after: limit)))
    }

    private func finish(_ result: Result<[Rows], PostgresError>) {
        state = .answered
        let answer = self.answer
        self.answer = nil
        answer?(result)
    }
}

/// First in, first out, at constant cost.
struct Queue<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    /// Adds elements before all others, in their order.
    mutating func prepend(_ added: [Element]) {
        elements.replaceSubrange(..<head, with: added.map { $0 })
        head = 0
    }

    @discardableResult
    mutating func popFirst() -> Element? {
        guard let element = first else { return nil }
        elements[head] = nil
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: head <= 4_096)
            head = 0
        } else if head >= 1_024 && head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// All elements, in order; none are left.
    mutating func takeAll() -> [Element] {
        defer {
            elements = []
            head = 0
        }
        return elements[head...].compactMap { $0 }
    }

    /// Takes out those that fulfil the condition.
    mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        let all = takeAll()
        elements = all.filter { !condition($0) }
        return all.filter(condition)
    }

    func forEach(_ body: (Element) -> Void) {
        for case let element? in elements[head...] { body(element) }
    }
}
