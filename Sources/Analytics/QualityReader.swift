import Domain
public import Ledger
public import Postgres

/// Answers what is asked about the record itself: what came late, what is not believed, what lags.
public struct QualityReader: Sendable {
    private let pool: ConnectionPool

    /// What is signed longer before it came is late. Units: milliseconds.
    private static let late: Int64 = 3_600_000

    /// A reader in a pool's database.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// The finished measurement of a question about the record; only metrics of `isOfQuality`.
    public func measure(_ question: MetricQuestion) async throws(LedgerError) -> Measurement {
        precondition(question.metric.isOfQuality, "a metric of lines or persons")
        var measurement = Measurement(question, settings: Settings(), people: People())
        do throws(PostgresError) {
            for row in try await pool.query(sql(question.metric), parameters(question)) {
                var key = RowKey([:])
                let name = try row.textIfAny(0)
                if question.metric == .projectionLag {
                    key.parts[.projection] = .some(name)
                } else if question.dimensions.contains(.reason) {
                    key.parts[.reason] = .some(name)
                }
                let members = question.metric.members
                for (place, member) in members.enumerated() {
                    guard let number = try row.int8IfAny(place + 1) else { continue }
                    measurement.add(
                        ExactSum(number), to: member, of: key,
                        because: Measurement.Origin(stream: .settings, transaction: ""))
                }
            }
        } catch {
            throw .database(error)
        }
        return measurement
    }

    private func parameters(_ question: MetricQuestion) -> [Parameter] {
        let window = question.buckets[0].window
        let (start, end) = (window.lowerBound.milliseconds, window.upperBound.milliseconds)
        let record: [Parameter] = [
            .text(question.environment.name), .int8(question.position.number),
        ]
        switch question.metric {
        case .notificationGap, .historyGap, .clockSkew:
            return record + [.int8(start), .int8(end)]
        case .conflictingFacts: return record + [.int8(start)]
        case .verificationFailures: return [.int8(start), .int8(end)]
        case .quarantinedOpen: return [.int8(start)]
        default: return []
        }
    }

    /// Rows of a reason or a name, and the metric's members.
    private func sql(_ metric: Metric) -> String {
        switch metric {
        case .notificationGap:
            """
            select null::text, count(*) from ledger.entry where environment = $1 \
            and position <= $2 and signed_at >= $3 and signed_at < $4 and kind = 'notified' \
            and source = 'notification' and observed_at - signed_at > \(QualityReader.late)
            """
        case .historyGap:
            """
            select null::text, count(*) from ledger.entry where environment = $1 \
            and position <= $2 and occurred_at >= $3 and occurred_at < $4 \
            and source = 'serverAPI' and kind in ('purchased', 'renewed', 'upgraded', 'recovered')
            """
        case .clockSkew:
            """
            select null::text, (percentile_disc(0.5) within group (order by skew))::bigint, \
            min(skew), max(skew), count(*) from (select observed_at - signed_at as skew \
            from ledger.entry where environment = $1 and position <= $2 and observed_at >= $3 \
            and observed_at < $4 and kind = 'notified' and source = 'notification') as heard
            """
        case .conflictingFacts:
            """
            select null::text, count(*) from (select from (select stream, signed_at, \
            body -> 'transaction' ->> 'transactionId' as transaction from ledger.entry \
            where environment = $1 and position <= $2 and signed_at <= $3 \
            and kind not in ('notified', 'confirmed')) as stated where transaction is not null \
            group by stream, transaction, signed_at having count(*) > 1) as conflicting
            """
        case .verificationFailures:
            """
            select reason, count(*) from operation.sample where received_at >= $1 \
            and received_at < $2 group by reason
            """
        case .quarantinedOpen:
            """
            select reason, count(*) from ledger.held where received_at <= $1 and not exists \
            (select from operation.release where release.digest = held.digest \
            and released_at <= $1) group by reason
            """
        default:
            """
            select projection, greatest(coalesce((select last_position from ledger.batch \
            order by number desc limit 1), 0) - checkpoint, 0) \
            from projection.generation where is_live
            """
        }
    }
}
