import Analytics
import Domain
import Ledger
import Postgres

/// Measures what is asked, for routes and commands alike.
struct MetricDesk: Sendable {
    let reader: LedgerReader
    let metrics: MetricReader
    private let quality: QualityReader

    init(_ ground: Ground) {
        reader = ground.reader
        metrics = MetricReader(ground.reader, projected: ground.measuringPool)
        quality = QualityReader(ground.readPool)
    }

    /// The finished measurement of a question.
    func measure(_ question: MetricQuestion, _ explanation: Explanation? = nil)
        async throws(LedgerError) -> Measurement
    {
        if question.metric.isOfQuality { return try await quality.measure(question) }
        guard let explanation else { return try await metrics.measure(question) }
        // What is summed has no periods to tell.
        return try await metrics.measureRecord(question) { measurement in
            measurement.trace(after: explanation.after, atMost: explanation.limit)
        }
    }

    /// Which page of what is behind the cells is wanted.
    struct Explanation {
        /// Where the page before ended.
        var after = ""
        var limit = 100
    }
}
