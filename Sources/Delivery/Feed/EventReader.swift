public import Domain
public import Ledger
public import Postgres

/// Which outgoing events are wanted.
public struct EventFilter: Sendable {
    /// Of this stream only.
    public var stream: StreamID?
    /// Of this kind only.
    public var kind: Kind?
    /// Of this environment only.
    public var environment: Environment?
    /// Of these customers only.
    public var customers: [CustomerNumber]?

    /// All events.
    public init() {}
}

/// Reads the outgoing events.
public struct EventReader: Sendable {
    private let pool: ConnectionPool

    /// A reader over read-only sessions.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// How far the record has been told: the last position, and the last number.
    public func place() async throws(LedgerError) -> (position: Position, number: Int64) {
        let rows = try await pool.read(
            "select position, number from operation.follow where name = 'events'")
        return try read { () throws(PostgresError) in
            guard let row = rows.first else { return (.start, 0) }
            return (Position(try row.int8(0)), try row.int8(1))
        }
    }

    /// Events after a number, in order.
    ///
    /// - Shape: at most `count`; at most up to `last`.
    public func events(
        after number: Int64, upTo last: Int64 = .max, atMost count: Int,
        filter: EventFilter = EventFilter()
    ) async throws(LedgerError) -> [OutgoingEvent] {
        var conditions = ["event.number > $1", "event.number <= $2"]
        var parameters: [Parameter] = [.int8(number), .int8(last)]
        func add(_ condition: String, _ parameter: Parameter) {
            parameters.append(parameter)
            conditions.append("event.\(condition) $\(parameters.count)")
        }
        if let stream = filter.stream { add("stream =", .text(stream.name)) }
        if let kind = filter.kind { add("kind =", .text(kind.name)) }
        if let environment = filter.environment { add("environment =", .text(environment.name)) }
        if let customers = filter.customers {
            parameters.append(.int8s(customers.map(\.number)))
            conditions.append("event.customer = any($\(parameters.count))")
        }
        let rows = try await pool.read(
            """
            \(EventReader.columns) where \(conditions.joined(separator: " and ")) \
            order by event.number limit \(count)
            """, parameters)
        return try EventReader.events(rows)
    }

    /// Events of these numbers, in order.
    func events(of numbers: [Int64]) async throws(LedgerError) -> [OutgoingEvent] {
        try EventReader.events(
            await pool.read(
                "\(EventReader.columns) where event.number = any($1) order by event.number",
                [.int8s(numbers)]))
    }

    private static let columns = """
        select event.number, event.kind, event.stream, event.occurred_at, event.environment, \
        coalesce(customer.id, token.token), coalesce(other.id, others.token), event.is_gain, \
        event.body from operation.event \
        left join operation.customer on customer.number = event.customer \
        left join operation.token on token.number = event.customer \
        left join operation.customer as other on other.number = event.counterpart \
        left join operation.token as others on others.number = event.counterpart
        """

    private static func events(_ rows: Rows) throws(LedgerError) -> [OutgoingEvent] {
        try read { () throws(PostgresError) in
            var events: [OutgoingEvent] = []
            for row in rows {
                events.append(
                    OutgoingEvent(
                        number: try row.int8(0), kind: Kind(try row.text(1)),
                        stream: StreamID(name: try row.text(2)),
                        occurredAt: Instant(milliseconds: try row.int8(3)),
                        environment: try row.textIfAny(4).map(Environment.init),
                        customer: try row.textIfAny(5), counterpart: try row.textIfAny(6),
                        isGain: try row.bool(7), body: try row.bytes(8)))
            }
            return events
        }
    }
}
