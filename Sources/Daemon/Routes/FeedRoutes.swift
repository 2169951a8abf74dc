import Crypto
import Delivery
import Domain
import Entitlements
import EventLoop
import HTTP
import Ledger
import Operation

/// What follows the ledger: its entries, the outgoing events, and its head.
struct FeedRoutes: Sendable {
    let answers: AnswerReader
    let reader: LedgerReader
    let events: EventReader
    let loop: EventLoop
    let ending: Ending
    let entriesBell: Bell
    let eventsBell: Bell
    let signer: HeadSigner

    var routes: [Route] {
        [
            Route("GET", "/v1/entries", .read, entries),
            Route("GET", "/v1/events", .read, outgoing),
            Route("GET", "/v1/ledger/head", nil, head),
        ]
    }

    /// What a request for either feed asks for.
    private struct Wanted {
        var after: Int64
        var limit: Int
        var deadline: ContinuousClock.Instant
        var filter: EntryFilter
    }

    @Sendable private func entries(_ request: Request, _: [String]) async throws(Problem)
        -> Response
    {
        let wanted = try await wanted(request)
        let filter = wanted.filter
        if LiveStream.isWanted(request) {
            return live(entriesBell).response(after: wanted.after) { after throws(Problem) in
                let (head, found) = try await entries(
                    after: after, atMost: LiveStream.pageSize, filter)
                let items = found.map { entry in
                    LiveStream.Item(
                        id: entry.position.number, event: entry.event.kind.name,
                        data: entry.rendered.bytes())
                }
                return (items, items.count == LiveStream.pageSize ? items.last?.id ?? 0 : head)
            }
        }
        while true {
            let rung = entriesBell.count
            let (head, found) = try await entries(
                after: wanted.after, atMost: wanted.limit, filter)
            if found.isEmpty, await isWorthWaiting(wanted, entriesBell, since: rung) { continue }
            let next = found.count == wanted.limit ? found.last?.position.number : nil
            return .json(
                .object([
                    .init("entries", .array(found.map(\.rendered))),
                    .init("next", .figure(next)), .init("position", .integer(head)),
                ]))
        }
    }

    private func entries(after: Int64, atMost count: Int, _ filter: EntryFilter)
        async throws(Problem) -> (head: Int64, found: [Entry])
    {
        try await reading { () throws(LedgerError) in
            let head = try await reader.head().position
            return (
                head.number,
                try await reader.entries(
                    after: Position(after), upTo: head, atMost: count, filter: filter)
            )
        }
    }

    @Sendable private func outgoing(_ request: Request, _: [String]) async throws(Problem)
        -> Response
    {
        let wanted = try await wanted(request)
        var filter = EventFilter()
        filter.stream = wanted.filter.stream
        filter.kind = wanted.filter.kind
        filter.environment = wanted.filter.environment
        filter.customers = wanted.filter.customer?.numbers
        if LiveStream.isWanted(request) {
            return live(eventsBell).response(after: wanted.after) {
                [filter] after throws(Problem) in
                let (place, found) = try await events(
                    after: after, atMost: LiveStream.pageSize, filter)
                let items = found.map { event in
                    LiveStream.Item(
                        id: event.number, event: event.kind.name, data: event.text)
                }
                let isFull = items.count == LiveStream.pageSize
                return (items, isFull ? items.last?.id ?? 0 : place.number)
            }
        }
        while true {
            let rung = eventsBell.count
            let (place, found) = try await events(
                after: wanted.after, atMost: wanted.limit, filter)
            if found.isEmpty, await isWorthWaiting(wanted, eventsBell, since: rung) { continue }
            let next = found.count == wanted.limit ? found.last?.number : nil
            return FeedRoutes.list(found, next: next, position: place.position)
        }
    }

    private func events(after: Int64, atMost count: Int, _ filter: EventFilter)
        async throws(Problem) -> (
            place: (position: Position, number: Int64), found: [OutgoingEvent]
        )
    {
        try await reading { () throws(LedgerError) in
            let place = try await events.place()
            return (
                place,
                try await events.events(
                    after: after, upTo: place.number, atMost: count, filter: filter)
            )
        }
    }

    /// The answer of texts that are JSON already.
    private static func list(_ found: [OutgoingEvent], next: Int64?, position: Position)
        -> Response
    {
        var body = Array(#"{"events":["#.utf8)
        for (index, event) in found.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += event.text
        }
        let rest = #"],"next":\#(next.map(String.init) ?? "null"),"position":\#(position)}"#
        return Response(
            status: 200, headers: [Header("Content-Type", "application/json")],
            body: .bytes(body + Array(rest.utf8)))
    }

    private func live(_ bell: Bell) -> LiveStream {
        LiveStream(bell: bell, loop: loop, ending: ending)
    }

    /// Waits for news; false when the time is over. Other daemons ring no bell here, so it looks
    /// again without one, too.
    private func isWorthWaiting(_ wanted: Wanted, _ bell: Bell, since rung: UInt64) async -> Bool {
        let left = ContinuousClock.now.duration(to: wanted.deadline)
        guard left > .zero, !ending.hasBegun, !Task.isCancelled else { return false }
        await bell.wait(since: rung, on: loop, atMost: min(left, .seconds(1)))
        return true
    }

    private func wanted(_ request: Request) async throws(Problem) -> Wanted {
        let query = try Reading.query(
            request,
            allowed: ["after", "limit", "wait", "line", "customer", "kind", "environment"])
        let after = try Reading.number(query, "after", 0...Int64.max) ?? 0
        let wait = try Reading.number(query, "wait", 0...30) ?? 0
        return Wanted(
            after: LiveStream.isWanted(request)
                ? try LiveStream.start(request, after: after) : after,
            limit: Int(try Reading.number(query, "limit", 1...1_000) ?? 100),
            deadline: ContinuousClock.now + .seconds(wait), filter: try await filter(query))
    }

    private func filter(_ query: [String: String]) async throws(Problem) -> EntryFilter {
        var filter = EntryFilter()
        if let name = query["environment"] { filter.environment = try Reading.environment(name) }
        if let kind = query["kind"] { filter.kind = Kind(kind) }
        if let line = query["line"] {
            let parts = line.split(separator: "/", maxSplits: 1).map(String.init)
            let environment =
                parts.count == 2
                ? try Reading.environment(parts[0]) : filter.environment ?? .production
            filter.stream = .line(environment, try Reading.original(parts.last ?? ""))
        }
        if let customer = query["customer"] {
            let id = try Reading.customer(customer)
            filter.customer = try await reading { () throws(LedgerError) in
                try await answers.streams(of: id)
            }
        }
        return filter
    }

    @Sendable private func head(_: Request, _: [String]) async throws(Problem) -> Response {
        let head = try await reading { () throws(LedgerError) in try await reader.head() }
        return .json(signer.signed(head))
    }
}

/// Signs the head of the ledger, so that a copy kept elsewhere proves what it was.
struct HeadSigner: Sendable {
    let key: Ed25519.PrivateKey

    /// The head as the interface writes it; the signature covers the canonical text of the rest.
    func signed(_ head: Head) -> JSON {
        let said: [JSON.Member] = [
            .init("position", .integer(head.position.number)),
            .init("digest", .string(head.digest.hex)), .init("root", .string(head.root.hex)),
            .init("recordedAt", head.number == 0 ? .null : .moment(head.recordedAt)),
        ]
        let signature = try? key.signature(for: JSON.object(said).canonicalBytes())
        return .object(
            said + [.init("signature", .word(signature.map { Base64.encode($0) }))])
    }
}
