import Domain
import TestLives
import Testing

@Suite("A random life")
struct RandomLifeTests {
    private let customer = CustomerNumber(1)
    private let stream = RandomLife.stream

    /// Expects a law of every life; of the first that breaks it, the least that does is told.
    private func expect(_ count: Int, _ law: Law) {
        let broken = Broken(count, law)
        #expect(broken == nil, "\(broken.map(\.description) ?? "")")
    }

    private func line(_ observations: [Observation]) -> Line {
        var line = recorded(observations, stream: stream).line()
        line.position = .start
        return line
    }

    private func holdings(_ line: Line) -> Holdings {
        Holdings(lines: [line], links: [:], settings: testSettings)
    }

    @Test("ends in one state, however it arrives")
    func arrival() {
        expect(cases(3000, long: 100_000)) { observations, random in
            let arrived = RandomLife.arrival(observations, &random)
            return line(arrived) == line(observations)
        }
    }

    @Test("appends nothing when all of it arrives again")
    func again() {
        expect(cases(500, long: 20_000)) { observations, _ in
            let subscription = recorded(observations, stream: stream)
            return observations.allSatisfy { decide($0, given: subscription).isEmpty }
        }
    }

    @Test("reads back from the state that a projection keeps, which is in canonical form")
    func state() {
        expect(cases(500, long: 20_000)) { observations, _ in
            let line = line(observations)
            guard let json = try? JSON.parse(line.state) else { return false }
            return json.canonicalBytes() == Array(line.state.utf8)
                && (try? Line(stream: line.stream, position: .start, state: json)) == line
        }
    }

    @Test("reads back from the bodies of its entries")
    func bodies() {
        expect(cases(300, long: 20_000)) { observations, _ in
            var subscription = Subscription(stream)
            var read = Subscription(stream)
            for observation in observations {
                for event in decide(observation, given: subscription) {
                    let revision = subscription.revision + 1
                    var entry = Entry(
                        position: Position(revision), revision: revision,
                        recordedAt: observation.observedAt, event: event)
                    subscription.apply(entry)
                    guard let json = try? JSON.parse(event.content.body.canonicalBytes()),
                        let content = try? Event.Content(body: json)
                    else { return false }
                    entry.event.content = content
                    read.apply(entry)
                }
            }
            return read == subscription
        }
    }

    @Test("gives access in spans that have a length and do not overlap")
    func spans() {
        expect(cases(1000, long: 100_000)) { observations, _ in
            let spans = line(observations).spans(testSettings)
            return spans.allSatisfy { $0.from < $0.until }
                && zip(spans, spans.dropFirst()).allSatisfy { $0.until <= $1.from }
        }
    }

    @Test("gives access only between its first word and the last end that any word names")
    func withinEvidence() {
        expect(cases(500, long: 20_000)) { observations, _ in
            let transactions = observations.compactMap(\.transaction?.content)
            let spans = line(observations).spans(testSettings)
            guard let first = transactions.map({ min($0.purchasedAt, $0.signedAt) }).min() else {
                return spans.isEmpty
            }
            let ends = transactions.compactMap(\.expiresAt).map { $0.adding(days: 16) }
            let named =
                observations.compactMap(\.renewal?.content.graceExpiresAt)
                + observations.compactMap(\.notice?.renewsAt).map { $0.adding(days: 16) }
            let last = (ends + named).max() ?? first
            return spans.allSatisfy { first <= $0.from && $0.until <= last }
        }
    }

    @Test("names for its access only what was stated, from no earlier to no later than it was")
    func reasons() {
        expect(cases(120, long: 5000)) { observations, _ in
            let stated = observations.compactMap(\.transaction?.content)
            let graces = observations.compactMap(\.renewal?.content.graceExpiresAt)
            let extensions = observations.compactMap(\.notice?.renewsAt)
            let line = line(observations)
            let holdings = holdings(line)
            return instants(around: line).allSatisfy { instant in
                let told = holdings.verdicts(for: customer, at: instant).entitlements
                return told.flatMap(\.because).allSatisfy { reason in
                    let named = stated.filter { $0.transaction == reason.transaction }
                    let item = named.compactMap(\.webOrderLineItem).first
                    let own = named + stated.filter { item != nil && $0.webOrderLineItem == item }
                    guard let first = own.map({ min($0.purchasedAt, $0.signedAt) }).min(),
                        let last = (own.compactMap(\.expiresAt) + extensions).max(),
                        let until = reason.until
                    else { return false }
                    return own.contains { $0.product == reason.product }
                        && first <= reason.from && reason.from <= instant && instant < until
                        && until <= max(last.adding(days: 16), graces.max() ?? last)
                }
            }
        }
    }

    @Test("is in one state at every instant, which its access and its words bear out")
    func states() {
        expect(cases(300, long: 20_000)) { observations, _ in
            let line = line(observations)
            let spans = line.spans(testSettings)
            let begins = line.periods.map(\.from).min()
            let isHeard = { instant in observations.contains { Self.isHeard($0, by: instant) } }
            return instants(around: line).allSatisfy { instant in
                let hasAccess = spans.contains { $0.from <= instant && instant < $0.until }
                let hasBegun = begins.map { $0 <= instant } ?? false
                switch line.state(at: instant, testSettings) {
                case .trial, .active, .grace: return hasAccess
                case .retry: return !hasAccess && hasBegun
                case .expired: return !hasAccess && hasBegun
                case .revoked:
                    let ends = line.periods.compactMap(\.revokedAt)
                    return !hasAccess && ends.contains { $0 <= instant }
                case .incomplete: return begins == nil && isHeard(instant)
                case .none: return !hasBegun && (begins != nil || !isHeard(instant))
                case .granted: return false
                }
            }
        }
    }

    @Test("is told of later as it was told of at the time, from what was on the record by then")
    func remembered() {
        expect(cases(120, long: 5000)) { observations, random in
            let arrived = RandomLife.arrival(observations, &random)
            var subscription = Subscription(stream)
            var record: [Entry] = []
            var told: [(entries: Int, at: Instant, verdicts: Verdicts)] = []
            for observation in arrived {
                for event in decide(observation, given: subscription) {
                    let revision = subscription.revision + 1
                    let entry = Entry(
                        position: Position(revision), revision: revision,
                        recordedAt: Instant(milliseconds: revision), event: event)
                    subscription.apply(entry)
                    record.append(entry)
                }
                let edges = instants(around: subscription.line())
                guard !edges.isEmpty else { continue }
                let instant = edges[random.below(edges.count)]
                let verdicts = holdings(subscription.line()).verdicts(for: customer, at: instant)
                told.append((record.count, instant, verdicts))
            }
            return told.allSatisfy { entries, instant, verdicts in
                var again = Subscription(stream)
                for entry in record.prefix(entries) { again.apply(entry) }
                return holdings(again.line()).verdicts(for: customer, at: instant) == verdicts
            }
        }
    }

    @Test("with others makes as many states as there are lines, at any instant")
    func sums() {
        var random = SplitMix64(seed: 5)
        var wrong: [String] = []
        for group in 0..<UInt64(cases(5, long: 200)) {
            let lines = (group * 20..<group * 20 + 20).map {
                line(RandomLife(seed: $0).observations)
            }
            let edges = lines.flatMap { instants(around: $0) }
            for _ in 0..<100 {
                let instant = edges[random.below(edges.count)]
                let states = lines.map { $0.state(at: instant, testSettings) }
                let held = lines.filter { line in
                    line.spans(testSettings).contains { $0.from <= instant && instant < $0.until }
                }
                let counts = Dictionary(grouping: states, by: \.self).mapValues(\.count)
                let access = [LineState.trial, .active, .grace].compactMap { counts[$0] }
                let others = [LineState.retry, .expired, .revoked, .incomplete, .none]
                    .compactMap { counts[$0] }
                if access.reduce(0, +) != held.count
                    || (access + others).reduce(0, +) != lines.count
                {
                    wrong.append("lives of group \(group) at \(instant): \(counts)")
                }
            }
        }
        #expect(wrong.prefix(3) == [])
    }

    private static func isHeard(_ observation: Observation, by instant: Instant) -> Bool {
        (observation.renewal?.content.signedAt).map { $0 <= instant } ?? false
    }

    @Test("is answered alike for as long as the answer says that it is fresh")
    func fresh() {
        expect(cases(120, long: 5000)) { observations, _ in
            let line = line(observations)
            let holdings = holdings(line)
            return instants(around: line).allSatisfy { instant in
                let told = holdings.verdicts(for: customer, at: instant)
                guard told.freshSince ?? .distantPast <= instant,
                    instant < told.freshUntil ?? .distantFuture
                else { return false }
                let edges = [
                    told.freshSince ?? instant,
                    told.freshUntil?.adding(milliseconds: -1) ?? instant,
                ]
                return edges.allSatisfy { holdings.verdicts(for: customer, at: $0) == told }
            }
        }
    }

    @Test("begins and ends when its answers say so, to the millisecond")
    func edges() {
        expect(cases(120, long: 5000)) { observations, _ in
            let line = line(observations)
            let holdings = holdings(line)
            func isHeld(_ name: String, _ instant: Instant) -> Bool {
                holdings.verdicts(for: customer, at: instant).entitlements
                    .contains { $0.name == name && $0.mayUse }
            }
            return instants(around: line).allSatisfy { instant in
                holdings.verdicts(for: customer, at: instant).entitlements.allSatisfy { one in
                    guard let since = one.since, let until = one.until else { return false }
                    return one.mayUse == (since <= instant && instant < until)
                        && isHeld(one.name, since)
                        && !isHeld(one.name, since.adding(milliseconds: -1))
                        && isHeld(one.name, until.adding(milliseconds: -1))
                        && !isHeld(one.name, until)
                        && one.mayUse == !one.because.isEmpty
                }
            }
        }
    }

    /// Every instant that the line names, with its neighbours.
    private func instants(around line: Line) -> [Instant] {
        let named =
            line.spans(testSettings).flatMap { [$0.from, $0.until] }
            + line.intents.map(\.signedAt)
            + line.periods.flatMap { [$0.from, $0.purchasedAt] }
        return Set(named).sorted().flatMap { instant in
            [-1, 0, 1].map { instant.adding(milliseconds: $0) }
        }
    }
}
