import Delivery
import Diagnostics
import Domain
import EventLoop
import Postgres

/// What leaves the daemon by itself: outgoing events, as they are made.
struct Outgoing: Sendable {
    /// Rings when there may be entries or events.
    let bell: Bell
    let maker: EventMaker
    private let loop: EventLoop

    init(_ ground: Ground, _ metrics: MetricRegistry, _ ending: Ending) {
        let bell = Bell()
        self.bell = bell
        // What waits for news waits no longer.
        ending.whenBegun { bell.ring() }
        loop = ground.inner
        maker = EventMaker(
            Wording(entry: { $0.rendered }, entitlement: { $0.rendered }),
            pool: ground.writePool, on: ground.inner, bell: bell, metrics: metrics,
            clock: { SystemClock.now })
    }

    /// Begins to follow the record.
    func start() -> [Task<Void, Never>] {
        [Task(executorPreference: loop) { await maker.run() }]
    }
}
