import Delivery
import Diagnostics
import Domain
import EventLoop
import Foundation
import Ledger
import Postgres

/// What leaves the daemon by itself: outgoing events as they are made, and their deliveries.
///
/// It has a loop and sessions of its own, so that telling a large import keeps no append waiting.
struct Outgoing: Sendable {
    /// Rings when there may be entries.
    let entries: Bell
    /// Rings when there may be events.
    let events: Bell
    let maker: EventMaker
    let webhooks: [Webhook]
    private let senders: [WebhookSender]
    private let loop: EventLoop
    private let pool: ConnectionPool

    init(_ ground: Ground, _ metrics: MetricRegistry, _ ending: Ending) throws(DaemonError) {
        let (entries, events) = (Bell(), Bell())
        self.entries = entries
        self.events = events
        // What waits for news waits no longer.
        ending.whenBegun {
            entries.ring()
            events.ring()
        }
        let loop = EventLoop(name: "delivery")
        let pool = ConnectionPool(
            ConnectionPool.Settings(
                connectionString: ground.connectionString, options: Migrator.sessionOptions,
                size: 2, limit: .seconds(30)), on: loop)
        self.loop = loop
        self.pool = pool
        maker = EventMaker(
            Wording(entry: { $0.rendered }, entitlement: { $0.rendered }),
            pool: pool, on: loop, entries: entries, events: events,
            metrics: metrics, clock: { SystemClock.now })
        webhooks = try ground.configuration.deliveredTo()
        senders = webhooks.map { webhook in
            WebhookSender(
                webhook, pool: pool, on: loop, bell: events, metrics: metrics,
                clock: { SystemClock.now })
        }
    }

    /// Opens its sessions, and makes the webhooks known, so that they are given what is recorded
    /// from now on.
    func open() async throws(DaemonError) {
        await pool.start()
        do throws(PostgresError) {
            try await pool.waitUntilAvailable(within: .seconds(30))
        } catch {
            throw .database(error)
        }
        for sender in senders {
            do throws(LedgerError) {
                try await sender.register()
            } catch {
                throw .ledger(error)
            }
        }
    }

    /// Begins to follow the record and to deliver.
    func start() -> [Task<Void, Never>] {
        [Task(executorPreference: loop) { await maker.run() }]
            + senders.map { sender in Task(executorPreference: loop) { await sender.run() } }
    }

    /// Closes its sessions, after all that was started has ended.
    func close() async {
        await pool.close()
        loop.stop()
    }
}

extension Configuration {
    /// The webhooks with their keys, read now.
    func deliveredTo() throws(DaemonError) -> [Webhook] {
        var found: [Webhook] = []
        for (index, webhook) in webhooks.enumerated() {
            let path = "webhooks[\(index)]"
            var keys: [SigningKey] = []
            for secret in webhook.secrets {
                let text: String
                do throws(ConfigurationError) {
                    text = try secret.read(environment: ProcessInfo.processInfo.environment)
                        .revealed
                } catch {
                    throw .webhookUnusable(path, why: "\(error)")
                }
                guard let key = SigningKey(secret: text) else {
                    throw .webhookUnusable(
                        path, why: "the secret \(secret) begins with whsec_ and is no base64")
                }
                keys.append(key)
            }
            let made = Webhook(
                name: webhook.name ?? Webhook.name(ofURL: webhook.url), url: webhook.url,
                keys: keys,
                environments: webhook.environments.map { Environment($0.rawValue) },
                format: webhook.format)
            guard !found.contains(where: { $0.name == made.name }) else {
                throw .webhookUnusable(path, why: "another webhook is called \(made.name), too")
            }
            found.append(made)
        }
        return found
    }
}
