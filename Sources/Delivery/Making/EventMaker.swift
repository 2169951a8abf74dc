public import Diagnostics
public import Domain
public import EventLoop
public import Ledger
public import Postgres

/// Turns entries, and what time alone ends, into outgoing events; at most one moves at a time.
///
/// Events, timers and the place in the record change in one transaction that begins by moving the
/// place from where this maker read it. Another that was faster has moved it, and this one steps
/// back. So numbers have no gaps, every entry is told once, and no rebuild ever tells one again.
///
/// A timer is kept for each instant at which time alone ends a line's access or grace, unless that
/// lies more than a day before the entry that says so was recorded: an import of old purchases
/// tells what it imports, and does not pretend that the ends happen now. An end that a change of
/// settings moves is told when its line is heard of again, or when the old one comes.
public actor EventMaker {
    private let wording: Wording
    private let reader: LedgerReader
    private let table: EventTable
    private let loop: EventLoop
    private let clock: @Sendable () -> Instant
    private let entriesBell: Bell
    private let eventsBell: Bell
    private let lag: Gauge
    private let made: Counter
    /// Rung when there may be something to do.
    private let bell = Bell()
    private var known: Place?

    /// How many entries one step tells.
    private static let stepSize = 500
    /// How long it sleeps when nobody wakes it. Other daemons append, too.
    private static let poll = Duration.milliseconds(250)
    /// How long it waits for what fills a hole.
    private static let hole = Duration.milliseconds(20)
    /// Ends that were so long ago when their entry was recorded are not told. Units: days.
    private static let memory: Int64 = 1

    /// The loop on which the maker lives.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// A maker that reads and writes through `pool`, and rings when there are new entries or
    /// events, whichever daemon made them.
    public init(
        _ wording: Wording, pool: ConnectionPool, on loop: EventLoop, entries: Bell, events: Bell,
        metrics: MetricRegistry, clock: @escaping @Sendable () -> Instant
    ) {
        self.wording = wording
        reader = LedgerReader(pool)
        table = EventTable(pool: pool)
        self.loop = loop
        entriesBell = entries
        eventsBell = events
        self.clock = clock
        lag = metrics.gauge(
            "subledger_event_lag_entries", help: "Entries not yet told as outgoing events.")
        made = metrics.counter(
            "subledger_events_total", help: "Outgoing events made here.")
    }

    /// Says that there may be entries to tell.
    public nonisolated func wake() { bell.ring() }

    /// Tells new entries, and what time ends, until cancelled.
    public func run() async {
        var delay = Duration.milliseconds(50)
        while !Task.isCancelled {
            let heard = bell.count
            do throws(LedgerError) {
                let pause = try await step()
                delay = .milliseconds(50)
                if let pause { await bell.wait(since: heard, on: loop, atMost: pause) }
            } catch {
                Log.warning("outgoing events are not made", ["error": "\(error)"])
                await bell.wait(since: heard, on: loop, atMost: delay)
                delay = min(delay * 2, .seconds(5))
            }
        }
    }

    /// Tells the next entries, then the timers that are due.
    ///
    /// - Returns: how long nothing needs to be done; `nil` when there is more.
    public func step() async throws(LedgerError) -> Duration? {
        let place = try await table.place()
        if place.number != known?.number { eventsBell.ring() }
        known = place
        let found = try await reader.entries(
            after: place.position, atMost: EventMaker.stepSize)
        lag.set(Double(found.count))
        if !found.isEmpty {
            entriesBell.ring()
            let entries = found.contiguous(after: place.position)
            guard !entries.isEmpty else { return EventMaker.hole }
            try await tell(entries, from: place)
            return nil
        }
        let now = clock()
        guard let next = place.nextTimer else { return EventMaker.poll }
        guard next <= now else {
            let left = Duration.milliseconds(next.milliseconds - now.milliseconds)
            return min(EventMaker.poll, left)
        }
        // Level with the record: what could have undone an end has been told.
        try await fire(at: now, from: place)
        return nil
    }

    private func tell(_ entries: [Entry], from place: Place) async throws(LedgerError) {
        guard let last = entries.last else { return }
        let streams = Set(entries.map(\.event.stream).filter { $0.line != nil || $0.person != nil })
        var teller = Teller(
            wording: wording,
            surroundings: try await Surroundings(
                of: streams, asOf: place.position, upTo: last.position, reader: reader,
                pool: table.pool))
        var drafts: [Draft] = []
        var recorded: [StreamID: Instant] = [:]
        for entry in entries {
            drafts += teller.events(of: entry)
            if entry.event.stream.line != nil {
                recorded[entry.event.stream] = entry.recordedAt
            }
        }
        var ends: [StreamID: [LineEnd]] = [:]
        for (stream, instant) in recorded {
            let line = teller.surroundings.line(stream)
            let oldest = instant.adding(days: -EventMaker.memory)
            ends[stream] = line?.ends(teller.surroundings.settings).filter { $0.instant > oldest }
        }
        try await write(
            drafts, timers: ends.isEmpty ? [] : table.replaceTimers(ends), from: place,
            to: last.position)
    }

    /// Tells what time has ended; what the record says otherwise by now gets its timers anew.
    private func fire(at now: Instant, from place: Place) async throws(LedgerError) {
        let due = try await table.due(at: now, atMost: EventMaker.stepSize)
        let streams = Set(due.map(\.stream))
        var teller = Teller(
            wording: wording,
            surroundings: try await Surroundings(
                of: streams, asOf: place.position, upTo: place.position, reader: reader,
                pool: table.pool))
        var ends: [StreamID: [LineEnd]] = [:]
        for stream in streams {
            ends[stream] =
                teller.surroundings.line(stream)?.ends(teller.surroundings.settings) ?? []
        }
        var drafts: [Draft] = []
        for (stream, end) in due where ends[stream]?.contains(end) == true {
            if let draft = teller.event(of: end, stream, knownAt: place.position, now: now) {
                drafts.append(draft)
            }
        }
        let undone = Set(due.filter { ends[$0.stream]?.contains($0.end) != true }.map(\.stream))
        let coming = ends.filter { undone.contains($0.key) }
            .mapValues { $0.filter { $0.instant > now } }
        try await write(
            drafts, timers: [table.forget(due), table.setTimers(coming)], from: place,
            to: place.position)
    }

    private func write(
        _ drafts: [Draft], timers: [Statement], from place: Place, to position: Position
    ) async throws(LedgerError) {
        let now = clock()
        var next = place
        next.position = position
        next.number += Int64(drafts.count)
        var statements = [table.move(from: place, to: next, now: now)]
        if !drafts.isEmpty {
            statements.append(table.insert(drafts, after: place.number, now: now))
        }
        guard try await table.write(statements + timers) else { return }
        made.add(drafts.count)
        known = next
        eventsBell.ring()
    }
}

extension Array<Entry> {
    /// The entries up to the first hole: where a hole can be seen, what fills it comes later.
    fileprivate func contiguous(after position: Position) -> [Entry] {
        var next = position.number
        return Array(
            prefix { entry in
                next += 1
                return entry.position.number == next
            })
    }
}
