import Delivery
import Diagnostics
import Domain
import EventLoop
import Foundation
import Ledger
import Postgres

/// What leaves the daemon by itself: outgoing events as they are made, and their deliveries.
struct Outgoing: Sendable {
    /// Rings when there may be entries.
    let entries: Bell
    /// Rings when there may be events.
    let events: Bell
    let maker: EventMaker
    let webhooks: [Webhook]
    private let senders: [WebhookSender]
    private let loop: EventLoop

    init(_ ground: Ground, _ metrics: MetricRegistry, _ ending: Ending) throws(DaemonError) {
        let (entries, events) = (Bell(), Bell())
        self.entries = entries
        self.events = events
        // What waits for news waits no longer.
        ending.whenBegun {
            entries.ring()
            events.ring()
        }
        loop = ground.inner
        maker = EventMaker(
            Wording(entry: { $0.rendered }, entitlement: { $0.rendered }),
            pool: ground.writePool, on: ground.inner, entries: entries, events: events,
            metrics: metrics, clock: { SystemClock.now })
        webhooks = try ground.configuration.deliveredTo()
        senders = webhooks.map { webhook in
            WebhookSender(
                webhook, pool: ground.writePool, on: ground.inner, bell: events,
                metrics: metrics, clock: { SystemClock.now })
        }
    }

    /// Makes the webhooks known, so that they are given what is recorded from now on.
    func register() async throws(DaemonError) {
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
