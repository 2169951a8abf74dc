public import Domain
public import Ledger
public import Postgres

/// How deliveries to one webhook go.
public struct WebhookState: Sendable {
    /// The webhook's name.
    public var name: String
    /// Where it is.
    public var url: String
    /// Events that wait for their first or their next attempt.
    public var pending: Int64
    /// Events that were given up.
    public var parked: Int64
    /// How many were taken.
    public var delivered: Int64
    /// How many attempts failed.
    public var failures: Int64
    /// The number of the oldest event that waits.
    public var oldestNumber: Int64?
    /// When the oldest event that waits was made.
    public var oldestAt: Instant?
    /// When the next attempt is made.
    public var nextAt: Instant?
    /// When one was taken last.
    public var deliveredAt: Instant?
    /// When an attempt failed last.
    public var failedAt: Instant?
    /// Why.
    public var lastError: String?
}

/// Shows how deliveries go, and has events sent again.
public struct WebhookDesk: Sendable {
    private let pool: ConnectionPool

    /// A desk over a pool that may write.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// Every webhook that was ever configured, by name.
    public func states() async throws(LedgerError) -> [WebhookState] {
        let rows = try await pool.read(
            """
            select name, url, delivered, failures, delivered_at, failed_at, \
            webhook.last_error, pending.count, pending.oldest, pending.next, \
            (select count(*) from operation.delivery where webhook = name and is_parked), \
            (select made_at from operation.event where number = pending.oldest) \
            from operation.webhook, lateral (select count(*) as count, min(number) as oldest, \
            min(next_at) as next from operation.delivery \
            where webhook = name and not is_parked) as pending order by name
            """)
        return try read { () throws(PostgresError) in
            var states: [WebhookState] = []
            for row in rows { states.append(try WebhookState(row)) }
            return states
        }
    }

    /// Has a webhook sent again what a range of positions made, what was parked included.
    ///
    /// - Parameter environments: what the webhook takes.
    /// - Returns: how many events are queued now because of it.
    public func replay(
        _ webhook: Webhook, from first: Position, to last: Position, now: Instant
    ) async throws(LedgerError) -> Int64 {
        let rows = try await pool.read(
            """
            with queued as (insert into operation.delivery as known \
            (webhook, number, stream, is_parked, attempts, next_at, claimed_until) \
            select $1, number, stream, false, 0, $2, 0 from operation.event \
            where position >= $3 and position <= $4 \
            and number <= (select queued from operation.webhook where name = $1) \
            and coalesce(environment, 'Production') = any($5) \
            on conflict (webhook, number) do update set is_parked = false, attempts = 0, \
            first_at = null, next_at = excluded.next_at, last_error = null \
            where known.claimed_until <= $2 returning 1) select count(*) from queued
            """,
            [
                .text(webhook.name), .int8(now.milliseconds), .int8(first.number),
                .int8(last.number), .texts(webhook.environments.map(\.name)),
            ])
        return try read { () throws(PostgresError) in try rows.only().int8(0) }
    }
}

extension WebhookState {
    fileprivate init(_ row: Row) throws(PostgresError) {
        func instant(_ column: Int) throws(PostgresError) -> Instant? {
            try row.int8IfAny(column).map(Instant.init(milliseconds:))
        }
        self.init(
            name: try row.text(0), url: try row.text(1), pending: try row.int8(7),
            parked: try row.int8(10), delivered: try row.int8(2), failures: try row.int8(3),
            oldestNumber: try row.int8IfAny(8), oldestAt: try instant(11),
            nextAt: try instant(9), deliveredAt: try instant(4), failedAt: try instant(5),
            lastError: try row.textIfAny(6))
    }
}
