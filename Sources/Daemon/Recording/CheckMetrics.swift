import Diagnostics
import Synchronization

/// What keepers are told of questions to authorities about certificates.
struct CheckMetrics: Sendable {
    /// What came of a question.
    enum Answer: String {
        case good, revoked, unusable, unreachable
    }

    /// How much evidence waits for an authority's word.
    let pending: Pending
    private let questions: Counter
    private let registry: MetricRegistry

    init(_ registry: MetricRegistry) {
        self.registry = registry
        questions = registry.counter(
            "subledger_certificate_questions_total",
            help: "Questions to authorities about certificates.")
        pending = Pending(
            registry.gauge(
                "subledger_pending_evidence",
                help: "Evidence that waits for an authority's word."))
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

extension CheckMetrics {
    /// Evidence that waits, as last counted and with what arrived since.
    final class Pending: Sendable {
        private let gauge: Gauge
        private let arrivals = Mutex(0)

        fileprivate init(_ gauge: Gauge) { self.gauge = gauge }

        /// One more piece waits.
        func arrived() {
            arrivals.withLock { arrivals in
                arrivals += 1
                gauge.add(1)
            }
        }

        /// How many have ever arrived, to be named when a count that begins now is done.
        var arrivedByNow: Int { arrivals.withLock { $0 } }

        /// So many wait, counted since so many had arrived; it is dropped when others did meanwhile.
        func counted(_ number: Int, since arrivedThen: Int) {
            arrivals.withLock { arrivals in
                if arrivals == arrivedThen { gauge.set(Double(number)) }
            }
        }
    }
}
