import Domain
import Postgres

/// What a group of proposals comes to: decided, not yet written.
struct Plan: Sendable {
    /// What is known after all of them.
    private(set) var known: Known
    /// The answers, in the order of the proposals, true once the batch is committed.
    private(set) var outcomes: [Writer.Answer] = []
    /// What is to be written; `nil` when nothing is added.
    private(set) var batch: Batch?
    /// Copies of what is held already.
    private(set) var redeliveries: [Redelivery] = []
    /// Numbers drawn for tokens and customers that had none.
    private(set) var newTokens: [(String, CustomerNumber)] = []
    private(set) var newCustomers: [(String, CustomerNumber)] = []

    private var entries: [Entry] = []
    private var evidence: [StoredEvidence] = []
    private var drawnTokens: [String: CustomerNumber] = [:]
    private var drawnCustomers: [String: CustomerNumber] = [:]
    private let head: Head
    private let recordedAt: Instant

    /// Decides a group of proposals on a writer's memory.
    init(_ proposals: [Proposal], writer: isolated Writer, session: Connection)
        async throws(PostgresError)
    {
        guard let head = writer.memory.head else {
            throw .unexpectedAnswer("the head of the ledger is not known")
        }
        self.head = head
        let now = writer.clock()
        recordedAt = max(now, head.recordedAt.adding(milliseconds: 1))
        known = Known()
        known.settings = writer.memory.settings
        try await number(proposals, writer: writer, session: session)
        try await load(proposals, writer: writer, session: session)
        for proposal in proposals { decide(proposal) }
        guard !entries.isEmpty else { return }
        batch = Batch(
            after: head, entries: entries, recordedAt: recordedAt, evidence: evidence,
            newTokens: newTokens, newCustomers: newCustomers)
    }

    private mutating func decide(_ proposal: Proposal) {
        let events: [Event]
        switch proposal.decide(known) {
        case .refuse(let objection):
            outcomes.append(.failure(.refused(objection)))
            return
        case .append(let decided): events = decided
        }
        var position = Position.start
        for event in events {
            position = Position(head.position.number + Int64(entries.count) + 1)
            let revision =
                event.stream == .settings
                ? known.settings.revision : known.subscription(event.stream).revision
            let entry = Entry(
                position: position, revision: revision + 1, recordedAt: recordedAt, event: event)
            entries.append(entry)
            if event.stream == .settings {
                known.settings = known.settings.evolved(by: entry)
                known.streams[event.stream]?.apply(entry)
            } else {
                known.streams[event.stream, default: Subscription(event.stream)].apply(entry)
            }
        }
        if let first = events.first {
            keep(proposal, bucket: Bucket.of(first.stream))
        } else {
            position = held(proposal)
        }
        outcomes.append(
            .success(
                Appended(
                    position: position, count: events.count, known: known.part(for: proposal))))
    }

    /// Evidence and numbers are written only with the entries that need them.
    private mutating func keep(_ proposal: Proposal, bucket: Int32) {
        let tokens = proposal.tokens + (proposal.evidence?.tokens.map { $0.lowercased() } ?? [])
        for token in tokens {
            if let number = drawnTokens.removeValue(forKey: token) {
                newTokens.append((token, number))
            }
        }
        for customer in proposal.customers {
            if let number = drawnCustomers.removeValue(forKey: customer) {
                newCustomers.append((customer, number))
            }
        }
        guard let piece = proposal.evidence else { return }
        evidence.append(
            StoredEvidence(
                bucket: bucket, evidence: piece,
                tokens: piece.tokens.compactMap { known.tokens[$0.lowercased()] }))
    }

    /// The last position that holds what a proposal repeats.
    private mutating func held(_ proposal: Proposal) -> Position {
        var last = Position.start
        for stream in proposal.streams(known) {
            let subscription = known.subscription(stream)
            for key in proposal.keys {
                guard let position = subscription.position(of: key) else { continue }
                redeliveries.append(Redelivery(stream: stream, key: key))
                last = max(last, position)
            }
        }
        for companion in proposal.companions(known) {
            let position = known.subscription(companion.stream).position(of: companion.key)
            last = max(last, position ?? .start)
        }
        return last == .start ? head.position : last
    }

    /// Learns or draws the numbers of tokens and customers.
    ///
    /// A token and a customer's id that are the same text have the same number, whichever was
    /// known first.
    private mutating func number(
        _ proposals: [Proposal], writer: isolated Writer, session: Connection
    ) async throws(PostgresError) {
        var tokens: Set<String> = []
        var customers: Set<String> = []
        for proposal in proposals {
            tokens.formUnion(proposal.tokens)
            tokens.formUnion(proposal.evidence?.tokens.map { $0.lowercased() } ?? [])
            customers.formUnion(proposal.customers)
        }
        for token in tokens { known.tokens[token] = writer.memory.token(token) }
        for customer in customers { known.customers[customer] = writer.memory.customer(customer) }
        tokens = tokens.filter { known.tokens[$0] == nil }
        customers = customers.filter { known.customers[$0] == nil }
        guard !tokens.isEmpty || !customers.isEmpty else { return }
        let stored = try await StoredNumbers(
            of: Set((tokens.union(customers)).flatMap(Spellings.of)).sorted(), session)
        for token in tokens.sorted() {
            if let number = stored.tokens[token] {
                writer.memory.remember(token: token, number)
                known.tokens[token] = number
            } else {
                let number = stored.customer(token) ?? writer.draw()
                drawnTokens[token] = number
                known.tokens[token] = number
            }
        }
        for customer in customers.sorted() {
            if let number = stored.customer(customer) {
                writer.memory.remember(customer: customer, number)
                known.customers[customer] = number
                continue
            }
            let token = Spellings.token(customer)
            let number =
                stored.tokens[token] ?? drawnTokens[token] ?? spelledOtherwise(customer)
                ?? writer.draw()
            drawnCustomers[customer] = number
            known.customers[customer] = number
        }
    }

    /// The number drawn a moment ago for another spelling of the same id.
    private func spelledOtherwise(_ customer: String) -> CustomerNumber? {
        Spellings.of(customer).lazy.compactMap { drawnCustomers[$0] }.first
    }

    /// Loads the streams that the proposals want, and those they want after seeing these.
    private mutating func load(
        _ proposals: [Proposal], writer: isolated Writer, session: Connection
    ) async throws(PostgresError) {
        for _ in 0..<3 {
            var wanted: Set<StreamID> = []
            for proposal in proposals { wanted.formUnion(proposal.streams(known)) }
            wanted = wanted.filter { known.streams[$0] == nil }
            guard !wanted.isEmpty else { return }
            var missing: [StreamID] = []
            for stream in wanted {
                if let subscription = writer.memory.subscription(stream) {
                    known.streams[stream] = subscription
                } else {
                    missing.append(stream)
                }
            }
            guard !missing.isEmpty else { continue }
            missing.sort()
            for stream in missing { known.streams[stream] = Subscription(stream) }
            for entry in try await session.entries(of: missing, upTo: head.position) {
                known.streams[entry.event.stream]?.apply(entry)
            }
            for stream in missing { writer.memory.remember(known.subscription(stream)) }
        }
    }
}

/// Numbers that the database holds for some texts.
private struct StoredNumbers {
    private(set) var tokens: [String: CustomerNumber] = [:]
    private var customers: [String: CustomerNumber] = [:]

    init(of texts: [String], _ session: Connection) async throws(PostgresError) {
        let rows = try await session.query(
            """
            select true, token, number from operation.token where token = any($1) \
            union all select false, id, number from operation.customer where id = any($1)
            """, [.texts(texts)])
        for row in rows {
            let number = CustomerNumber(try row.int8(2))
            if try row.bool(0) {
                tokens[try row.text(1)] = number
            } else {
                customers[try row.text(1)] = number
            }
        }
    }

    /// The number of a customer of this id, in whatever case a UUID is written.
    func customer(_ id: String) -> CustomerNumber? {
        Spellings.of(id).lazy.compactMap { customers[$0] }.first
    }
}
