import Domain
import Ledger
import Postgres

/// How far the record was told, and with which number the telling ended.
struct Place: Sendable, Equatable {
    var position: Position
    var number: Int64
    /// When the next timer fires; `nil` when none waits.
    var nextTimer: Instant?
}

/// The tables of outgoing events and timers.
struct EventTable: Sendable {
    let pool: ConnectionPool

    /// Where the telling is; it begins at the record's beginning.
    func place() async throws(LedgerError) -> Place {
        if let place = try await found() { return place }
        _ = try await pool.read(
            """
            insert into operation.follow (name, position, number, updated_at) \
            values ('events', 0, 0, 0) on conflict do nothing
            """)
        guard let place = try await found() else {
            throw .damaged("operation.follow loses its row")
        }
        return place
    }

    private func found() async throws(LedgerError) -> Place? {
        let rows = try await pool.read(
            """
            select position, number, (select min(instant) from operation.timer) \
            from operation.follow where name = 'events'
            """)
        return try read { () throws(PostgresError) in
            guard let row = rows.first else { return nil }
            return Place(
                position: Position(try row.int8(0)), number: try row.int8(1),
                nextTimer: try row.int8IfAny(2).map(Instant.init(milliseconds:)))
        }
    }

    /// Timers that are due.
    func due(at now: Instant, atMost count: Int) async throws(LedgerError)
        -> [(stream: StreamID, end: LineEnd)]
    {
        let rows = try await pool.read(
            """
            select stream, kind, instant from operation.timer where instant <= $1 \
            order by instant, stream, kind limit \(count)
            """, [.int8(now.milliseconds)])
        return try read { () throws(PostgresError) in
            var due: [(StreamID, LineEnd)] = []
            for row in rows {
                due.append(
                    (
                        StreamID(name: try row.text(0)),
                        LineEnd(
                            Kind(try row.text(1)), Instant(milliseconds: try row.int8(2)))
                    ))
            }
            return due
        }
    }

    /// What moves the place on; fails the whole transaction when another was faster.
    func move(from old: Place, to new: Place, now: Instant) -> Statement {
        Statement(
            """
            with moved as (update operation.follow set position = $3, number = $4, \
            updated_at = $5 where name = 'events' and position = $1 and number = $2 returning 1) \
            select 1 / count(*) from moved
            """,
            [
                .int8(old.position.number), .int8(old.number), .int8(new.position.number),
                .int8(new.number), .int8(now.milliseconds),
            ])
    }

    /// What stores events behind a number.
    func insert(_ drafts: [Draft], after number: Int64, now: Instant) -> Statement {
        Statement(
            """
            insert into operation.event (number, position, kind, stream, environment, customer, \
            counterpart, is_gain, occurred_at, is_timed, made_at, body) \
            select $1 + place, position, kind, stream, environment, customer, counterpart, \
            is_gain, occurred_at, is_timed, $2, body \
            from unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], \
            $8::bigint[], $9::bool[], $10::bigint[], $11::bool[], $12::json[]) with ordinality \
            as made (position, kind, stream, environment, customer, counterpart, is_gain, \
            occurred_at, is_timed, body, place)
            """,
            [
                .int8(number), .int8(now.milliseconds),
                .int8s(drafts.map(\.position.number)), .texts(drafts.map(\.kind.name)),
                .texts(drafts.map(\.stream.name)), .texts(drafts.map { $0.environment?.name }),
                .int8sIfAny(drafts.map { $0.customer?.number }),
                .int8sIfAny(drafts.map { $0.counterpart?.number }), .bools(drafts.map(\.isGain)),
                .int8s(drafts.map(\.occurredAt.milliseconds)), .bools(drafts.map(\.isTimed)),
                .jsons(drafts.map { String(decoding: $0.body.bytes(), as: UTF8.self) }),
            ])
    }

    /// What replaces the timers of some lines.
    func replaceTimers(_ ends: [StreamID: [LineEnd]]) -> [Statement] {
        [
            Statement(
                "delete from operation.timer where stream = any($1)",
                [.texts(ends.keys.sorted().map(\.name))]),
            setTimers(ends),
        ]
    }

    /// What sets timers; an end that was told gets none.
    func setTimers(_ ends: [StreamID: [LineEnd]]) -> Statement {
        let all = ends.sorted { $0.key < $1.key }.flatMap { stream, ends in
            ends.map { (stream: stream, end: $0) }
        }
        return Statement(
            """
            insert into operation.timer (stream, kind, instant) \
            select stream, kind, instant from unnest($1::text[], $2::text[], $3::bigint[]) \
            as wanted (stream, kind, instant) where not exists (select from operation.event \
            where is_timed and event.stream = wanted.stream and event.kind = wanted.kind \
            and event.occurred_at = wanted.instant) on conflict do nothing
            """, EventTable.parameters(all))
    }

    /// What takes timers away.
    func forget(_ timers: [(stream: StreamID, end: LineEnd)]) -> Statement {
        Statement(
            """
            delete from operation.timer using unnest($1::text[], $2::text[], $3::bigint[]) \
            as told (stream, kind, instant) where timer.stream = told.stream \
            and timer.kind = told.kind and timer.instant = told.instant
            """, EventTable.parameters(timers))
    }

    private static func parameters(_ timers: [(stream: StreamID, end: LineEnd)]) -> [Parameter] {
        [
            .texts(timers.map(\.stream.name)), .texts(timers.map(\.end.kind.name)),
            .int8s(timers.map(\.end.instant.milliseconds)),
        ]
    }

    /// Writes all or nothing; whether this maker was the one to move the place.
    func write(_ statements: [Statement]) async throws(LedgerError) -> Bool {
        do throws(PostgresError) {
            try await pool.atomically(statements)
            return true
        } catch let error where error.sqlstate == "22012" {
            return false  // another maker was faster; the next step reads where it is
        } catch {
            throw .database(error)
        }
    }
}

/// Reads rows, so that their errors become the ledger's.
func read<T>(_ body: () throws(PostgresError) -> T) throws(LedgerError) -> T {
    do throws(PostgresError) {
        return try body()
    } catch {
        throw .database(error)
    }
}
