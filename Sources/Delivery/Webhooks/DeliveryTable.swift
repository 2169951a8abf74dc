import Domain
import Ledger
import Postgres

/// One event on its way to a webhook.
struct Delivery: Sendable {
    var number: Int64
    var stream: String
    /// This attempt's number, from 1.
    var attempt: Int64
    /// When the first attempt was made.
    var firstAt: Instant
}

/// What became of an attempt.
enum Outcome: Sendable {
    case delivered
    case failed(String, next: Instant)
    case parked(String)
    /// Nobody was asked, and nothing is counted.
    case released
}

/// The tables of webhooks and deliveries.
struct DeliveryTable: Sendable {
    let pool: ConnectionPool

    /// How long an attempt may hold a delivery; then it is another's. Units: milliseconds.
    static let claimTime: Int64 = 15_000
    /// How many events are queued at a time.
    static let page: Int64 = 1_000

    /// Makes a webhook known: one seen for the first time gets what is recorded from now on.
    func register(_ webhook: Webhook) async throws(LedgerError) {
        _ = try await pool.read(
            """
            insert into operation.webhook \
            (name, url, from_position, queued, delivered, failures) \
            select $1, $2, coalesce(max(last_position), 0), 0, 0, 0 from ledger.batch \
            where number = (select max(number) from ledger.batch) \
            on conflict (name) do update set url = excluded.url
            """, [.text(webhook.name), .text(webhook.url)])
    }

    /// Queues the next events that a webhook has not been given.
    ///
    /// - Returns: whether there may be more.
    func queue(_ webhook: Webhook, now: Instant) async throws(LedgerError) -> Bool {
        let rows = try await pool.read(
            """
            select queued, coalesce((select number from operation.follow \
            where name = 'events'), 0), from_position from operation.webhook where name = $1
            """, [.text(webhook.name)])
        let (queued, last, from) = try read { () throws(PostgresError) in
            let row = try rows.only()
            return (try row.int8(0), try row.int8(1), try row.int8(2))
        }
        guard queued < last else { return false }
        let next = min(last, queued + DeliveryTable.page)
        let pen = Statement(
            """
            with moved as (update operation.webhook set queued = $3 \
            where name = $1 and queued = $2 returning 1) select 1 / count(*) from moved
            """, [.text(webhook.name), .int8(queued), .int8(next)])
        // What follows an event that waits for its next attempt is not looked at before that.
        let insert = Statement(
            """
            insert into operation.delivery \
            (webhook, number, stream, is_parked, attempts, next_at, claimed_until) \
            select $1, number, stream, false, 0, coalesce((select max(next_at) \
            from operation.delivery where delivery.webhook = $1 \
            and delivery.stream = event.stream and not is_parked), $2), 0 \
            from operation.event where number > $3 and number <= $4 and position > $5 \
            and coalesce(environment, 'Production') = any($6) on conflict do nothing
            """,
            [
                .text(webhook.name), .int8(now.milliseconds), .int8(queued), .int8(next),
                .int8(from), .texts(webhook.environments.map(\.name)),
            ])
        _ = try await write([pen, insert])
        return true
    }

    /// Takes deliveries that are due, the first of each stream only.
    func claim(_ webhook: String, atMost count: Int, now: Instant) async throws(LedgerError)
        -> [Delivery]
    {
        let rows = try await pool.read(
            """
            update operation.delivery set claimed_until = $2 + \(DeliveryTable.claimTime), \
            attempts = attempts + 1, first_at = coalesce(first_at, $2) \
            where webhook = $1 and number = any (array(select number from operation.delivery as due \
            where webhook = $1 and not is_parked and next_at <= $2 and claimed_until <= $2 \
            and not exists (select from operation.delivery as earlier where earlier.webhook = $1 \
            and earlier.stream = due.stream and not earlier.is_parked \
            and earlier.number < due.number) \
            order by next_at, number limit \(count) for update skip locked)) \
            and claimed_until <= $2 and not is_parked \
            returning number, stream, attempts, first_at
            """, [.text(webhook), .int8(now.milliseconds)])
        return try read { () throws(PostgresError) in
            var claimed: [Delivery] = []
            for row in rows {
                claimed.append(
                    Delivery(
                        number: try row.int8(0), stream: try row.text(1),
                        attempt: try row.int8(2),
                        firstAt: Instant(milliseconds: try row.int8(3))))
            }
            return claimed.sorted { $0.number < $1.number }
        }
    }

    /// When the next delivery is due; `nil` when none waits.
    func nextDue(_ webhook: String) async throws(LedgerError) -> Instant? {
        let rows = try await pool.read(
            """
            select min(next_at) from operation.delivery \
            where webhook = $1 and not is_parked and claimed_until = 0
            """, [.text(webhook)])
        return try read { () throws(PostgresError) in
            try rows.only().int8IfAny(0).map(Instant.init(milliseconds:))
        }
    }

    /// What waits for a webhook.
    func load(_ webhook: String) async throws(LedgerError) -> WebhookLoad {
        let rows = try await pool.read(
            """
            select (select count(*) from operation.delivery where webhook = $1 and not is_parked), \
            (select count(*) from operation.delivery where webhook = $1 and is_parked), \
            (select made_at from operation.event where number = (select min(number) \
            from operation.delivery where webhook = $1 and not is_parked))
            """, [.text(webhook)])
        return try read { () throws(PostgresError) in
            let row = try rows.only()
            return WebhookLoad(
                pending: try row.int8(0), parked: try row.int8(1),
                oldestAt: try row.int8IfAny(2).map(Instant.init(milliseconds:)))
        }
    }

    /// Notes what became of an attempt, and lets the next event of the stream follow.
    func finish(_ delivery: Delivery, of webhook: String, _ outcome: Outcome, now: Instant)
        async throws(LedgerError)
    {
        let key: [Parameter] = [.text(webhook), .int8(delivery.number)]
        let statements: [Statement]
        switch outcome {
        case .delivered:
            statements = [
                Statement(
                    "delete from operation.delivery where webhook = $1 and number = $2", key),
                followers(of: delivery, webhook, next: now), success(webhook, now),
            ]
        case .failed(let why, let next):
            statements = [
                Statement(
                    """
                    update operation.delivery set next_at = $3, claimed_until = 0, \
                    last_error = $4 where webhook = $1 and number = $2
                    """, key + [.int8(next.milliseconds), .text(why)]),
                followers(of: delivery, webhook, next: next), failure(webhook, why, now),
            ]
        case .parked(let why):
            statements = [
                Statement(
                    """
                    update operation.delivery set is_parked = true, claimed_until = 0, \
                    last_error = $3 where webhook = $1 and number = $2
                    """, key + [.text(why)]),
                followers(of: delivery, webhook, next: now), failure(webhook, why, now),
            ]
        case .released:
            statements = [
                Statement(
                    """
                    update operation.delivery set claimed_until = 0, attempts = attempts - 1 \
                    where webhook = $1 and number = $2
                    """, key)
            ]
        }
        _ = try await write(statements)
    }

    /// What follows on the stream is looked at no earlier than what it waits for.
    private func followers(of delivery: Delivery, _ webhook: String, next: Instant) -> Statement {
        Statement(
            """
            update operation.delivery set next_at = $3 where webhook = $1 and stream = $2 \
            and not is_parked and number > $4
            """,
            [
                .text(webhook), .text(delivery.stream), .int8(next.milliseconds),
                .int8(delivery.number),
            ])
    }

    private func success(_ webhook: String, _ now: Instant) -> Statement {
        Statement(
            """
            update operation.webhook set delivered = delivered + 1, delivered_at = $2 \
            where name = $1
            """, [.text(webhook), .int8(now.milliseconds)])
    }

    private func failure(_ webhook: String, _ why: String, _ now: Instant) -> Statement {
        Statement(
            """
            update operation.webhook set failures = failures + 1, failed_at = $2, \
            last_error = $3 where name = $1
            """, [.text(webhook), .int8(now.milliseconds), .text(why)])
    }

    /// Has everything that waits for another attempt tried at once.
    func hurry(_ webhook: String, now: Instant) async throws(LedgerError) {
        _ = try await pool.read(
            """
            update operation.delivery set next_at = $2 \
            where webhook = $1 and not is_parked and next_at > $2
            """, [.text(webhook), .int8(now.milliseconds)])
    }

    private func write(_ statements: [Statement]) async throws(LedgerError) -> Bool {
        do throws(PostgresError) {
            try await pool.atomically(statements)
            return true
        } catch let error where error.sqlstate == "22012" {
            return false  // another sender was faster; the next step reads where it is
        } catch {
            throw .database(error)
        }
    }
}
