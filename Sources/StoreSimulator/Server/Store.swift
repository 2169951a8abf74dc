import Crypto
import Domain
import HTTP

/// The store behind its doors: one world, one clock, one authority.
actor Store {
    let authority: Authority
    /// Where notifications go; `nil` when nowhere.
    var notifyURL: String?
    var world: World
    var clock: SimulatedClock
    var faults: Faults
    var limits = RateLimits()
    /// Tests by their token.
    var tests: [String: Int] = [:]
    /// Extensions by request identifier and chain.
    var extensions: [String: JSON] = [:]
    /// How much faster than in life notifications are sent again; `nil` as the clock runs.
    private let retries: Double?
    /// Chance of its own, so that what is asked changes no life.
    var chance: Chance
    /// How many notifications have been handed out for delivery.
    private var handed = 0
    private var unsettled = 0

    init(
        authority: Authority, world: World, clock: SimulatedClock, notifyURL: String?,
        retries: Double?, faults: Faults
    ) {
        self.authority = authority
        self.world = world
        self.clock = clock
        self.notifyURL = notifyURL
        self.retries = retries
        self.faults = faults
        chance = Chance(seed: 0x5EED)
    }

    // MARK: Time

    /// Lets happen what is due by now; every call finds a later instant, so that nothing ties.
    func advance() {
        world.advance(to: max(clock.now, world.now.adding(milliseconds: 1)))
    }

    /// Goes on until the clock, and answers what is to be delivered and how long to wait then.
    ///
    /// - Units: real milliseconds.
    func turn() -> (parcels: [Parcel], wait: Int64) {
        world.advance(to: clock.now)
        let parcels = handOut()
        return (parcels, world.agenda.next.map { clock.wait(until: $0) } ?? 1_000)
    }

    /// How much faster than in life notifications are sent again.
    var retryFactor: Double { max(0.001, retries ?? clock.factor) }

    // MARK: Delivery

    /// What has been told since the last time, as it is to be delivered.
    private func handOut() -> [Parcel] {
        guard notifyURL != nil else {
            handed = world.notices.count
            return []
        }
        var parcels: [Parcel] = []
        while handed < world.notices.count {
            let place = handed
            handed += 1
            let text = world.signed(place, by: authority)
            let notice = world.notices[place]
            let isTest = notice.person == nil
            if !isTest, chance.happens(faults.lost) {
                world.notices[place].attempts = [Notice.Attempt(at: world.now, result: "SUCCESS")]
                world.notices[place].isSettled = true
                continue
            }
            unsettled += 1
            var parcel = Parcel(
                notice: place, lane: notice.person ?? 0, text: text,
                mayRetry: notice.environment == .production)
            if !isTest, chance.happens(faults.reordered) {
                let most = Double(faults.reorderedBy) / max(1, clock.factor)
                parcel.heldBack = Int64(1 + chance.below(max(1, Int(min(most, 1e9)))))
            }
            parcel.isDoubled = !isTest && chance.happens(faults.doubled)
            parcels.append(parcel)
        }
        return parcels
    }

    /// Notes how an attempt ended, and whether it was the last.
    func note(_ result: String, of notice: Int, isLast: Bool) {
        world.notices[notice].attempts.append(
            Notice.Attempt(at: max(clock.now, world.notices[notice].signedAt), result: result))
        if isLast, !world.notices[notice].isSettled {
            world.notices[notice].isSettled = true
            unsettled -= 1
        }
    }

    /// How many notifications are still on their way.
    var underWay: Int { unsettled + (notifyURL == nil ? 0 : world.notices.count - handed) }

    // MARK: The server API's door

    /// Answers a call of the server API, and how long to wait before. Units: milliseconds.
    func answer(_ call: APICall, authorization: String?) -> (response: Response, after: Int64) {
        advance()
        let real = SimulatedClock.real
        let bearer = Bearer(credentials: authority.credentials, bundleId: world.app.bundleId)
        guard bearer.accepts(authorization, at: real) else {
            return (Response(status: 401), 0)
        }
        guard let kind = call.kind else { return (Response(status: 404), 0) }
        if faults.rateLimits, let next = limits.take(kind, call.environment, at: real) {
            return (limited(until: next), 0)
        }
        if chance.happens(faults.limited) {
            return (limited(until: real.adding(milliseconds: 200)), 0)
        }
        if chance.happens(faults.failing) {
            // Now with a body, now without one.
            let response =
                chance.once(in: 2)
                ? APIError.generalRetryable.response() : Response(status: 502)
            return (response, 0)
        }
        let wait = chance.happens(faults.slow) ? faults.slowMilliseconds : 0
        do throws(APIError) {
            return (try route(call), wait)
        } catch {
            return (error.response(), wait)
        }
    }

    private func limited(until instant: Instant) -> Response {
        // An instant in milliseconds, not a number of seconds to wait.
        APIError.limited.response(headers: [Header("Retry-After", String(instant.milliseconds))])
    }

    /// Whether verifyReceipt fails now, and with which status.
    func receiptFault() -> Int64? { chance.happens(faults.receipts) ? faults.receiptStatus : nil }
}
