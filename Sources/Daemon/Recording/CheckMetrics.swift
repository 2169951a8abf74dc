import Diagnostics

/// What keepers are told of questions to authorities about certificates.
struct CheckMetrics: Sendable {
    /// What came of a question.
    enum Answer: String {
        case good, revoked, unusable, unreachable
    }

    /// Evidence that waits for an authority's word, as it was last counted.
    let pending: Gauge
    private let questions: Counter
    private let registry: MetricRegistry

    init(_ registry: MetricRegistry) {
        self.registry = registry
        questions = registry.counter(
            "subledger_certificate_questions_total",
            help: "Questions to authorities about certificates.")
        pending = registry.gauge(
            "subledger_pending_evidence", help: "Evidence that waits for an authority's word.")
    }

    /// Notes that an authority is asked.
    func asks() { questions.add() }

    /// Notes what came of it.
    func hears(_ answer: Answer) {
        registry.counter(
            "subledger_certificate_answers_total",
            help: "What came of questions to authorities about certificates.",
            labels: ["answer": answer.rawValue]
        ).add()
    }
}
