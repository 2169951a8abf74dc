import Domain
import Entitlements
import EventLoop
import HTTP
import Ledger

/// What the parameters of a read say.
struct Asked {
    var question: Question
    /// Whether as-known answers can still grow; `nil` when it was not asked by an instant.
    var isSettled: Bool?
    var isPinned: Bool
}

/// Reads what is asked, and waits for the position that the answer must be level with.
struct QuestionReader: Sendable {
    let answers: AnswerReader
    let reader: LedgerReader
    let loop: EventLoop
    let ending: Ending

    static let parameters: Set<String> = [
        "environment", "at", "asKnownAt", "asKnownPosition", "app", "atLeast",
    ]

    /// The parameters of a read about a customer, what is known, and what the customer may use.
    func verdicts(_ request: Request, _ customer: String) async throws(Problem)
        -> (Asked, CustomerView, Verdicts)
    {
        let query = try Reading.query(request, allowed: QuestionReader.parameters)
        let asked = try await asked(query, customer: Reading.customer(customer))
        let answer = try await reading { () throws(LedgerError) in
            try await answers.answer(asked.question)
        }
        return (asked, answer.view, answer.verdicts)
    }

    /// The parameters of a read about a customer, and what is known of the customer.
    ///
    /// - Parameter others: what else the request may say.
    func view(_ request: Request, _ customer: String, beside others: Set<String> = [])
        async throws(Problem) -> (Asked, CustomerView)
    {
        let query = try Reading.query(request, allowed: QuestionReader.parameters.union(others))
        let asked = try await asked(query, customer: Reading.customer(customer))
        let view = try await reading { () throws(LedgerError) in
            try await answers.view(asked.question)
        }
        return (asked, view)
    }

    /// Reads the parameters, and waits for the position that the read must be level with.
    func asked(_ query: [String: String], customer: String) async throws(Problem) -> Asked {
        var question = Question(customer: customer, at: SystemClock.now)
        if let name = query["environment"] { question.environment = try Reading.environment(name) }
        if let text = query["at"] { question.at = try Reading.instant(text, "at") }
        question.app = query["app"]
        if let least = try Reading.number(query, "atLeast", 0...Int64.max) {
            try await wait(for: Position(least))
        }
        guard query["asKnownAt"] == nil || query["asKnownPosition"] == nil else {
            throw .badRequest("`asKnownAt` and `asKnownPosition` exclude each other")
        }
        if let number = try Reading.number(query, "asKnownPosition", 0...Int64.max) {
            let head = try await head()
            guard number <= head.number else {
                throw .badRequest("`asKnownPosition` is beyond the head, which is at \(head)")
            }
            question.knownAt = Position(number)
            return Asked(question: question, isSettled: nil, isPinned: true)
        }
        if let text = query["asKnownAt"] {
            let instant = try Reading.instant(text, "asKnownAt")
            let known = try await reading { () throws(LedgerError) in
                try await reader.position(knownAt: instant)
            }
            question.knownAt = known.position
            return Asked(question: question, isSettled: known.isSettled, isPinned: true)
        }
        return Asked(question: question, isSettled: nil, isPinned: false)
    }

    /// The last position.
    func head() async throws(Problem) -> Position {
        try await reading { () throws(LedgerError) in try await answers.head() }
    }

    private func wait(for position: Position) async throws(Problem) {
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            let head = try await head()
            if head >= position { return }
            guard ContinuousClock.now < deadline, !ending.hasBegun else { throw .notReached(head) }
            try? await loop.sleep(for: .milliseconds(50))
        }
    }
}
