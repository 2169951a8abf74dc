import EventLoop
import Postgres
import TestSupport
import Testing

@Suite("An atomic group of statements")
struct AtomicTests {
    private static let insert = "insert into t values ($1)"

    private func withTable(_ body: (Connection, String) async throws -> Void) async throws {
        try await withLoop { loop in
            let database = try await TestCluster.freshDatabase()
            let connection = try await Connection.open(database, on: loop)
            try await connection.query("create table t (n bigint primary key)")
            try await body(connection, database)
            await connection.close()
        }
    }

    @Test("answers each statement once all are committed")
    func commits() async throws {
        try await withTable { connection, database in
            let answers = try await connection.atomically([
                Statement(Self.insert, [.int8(1)]),
                Statement(Self.insert, [.int8(2)]),
                Statement("select sum(n)::bigint from t"),
            ])
            #expect(answers.map(\.affected) == [1, 1, 1])
            #expect(try answers[2].only().int8(0) == 3)
            let other = try await BlockingConnection.open(database)
            #expect(try await other.query("select count(*) from t").only().int8(0) == 2)
        }
    }

    @Test("leaves nothing behind after an error, and the connection is fit for the next")
    func rollsBack() async throws {
        try await withTable { connection, _ in
            let failing = Task {
                try await connection.atomically([
                    Statement(Self.insert, [.int8(1)]),
                    Statement(Self.insert, [.int8(1)]),
                    Statement(Self.insert, [.int8(2)]),
                ])
            }
            let following = Task {
                try await connection.atomically([Statement(Self.insert, [.int8(3)])])
            }
            let error = await #expect(throws: PostgresError.self) { try await failing.value }
            #expect(error?.isUniqueViolation == true)
            #expect(try await following.value.map(\.affected) == [1])
            let rows = try await connection.query("select n from t")
            #expect(try rows.map { try $0.int8(0) } == [3])
        }
    }

    @Test("is not confirmed when COMMIT answers with a warning")
    func refusedCommit() async throws {
        try await withTable { connection, _ in
            let expected = PostgresError.commitRefused(
                "25P01: there is no transaction in progress")
            await #expect(throws: expected) {
                try await connection.atomically([
                    Statement(Self.insert, [.int8(1)]), Statement("rollback"),
                ])
            }
            let left = try await connection.query("select n from t")
            #expect(left.isEmpty)
        }
    }

    @Test("says that the commit is unknown when the session ends before it is answered")
    func unknown() async throws {
        try await withTable { connection, database in
            let process = try await connection.query("select pg_backend_pid()").only().int4(0)
            let killer = try await BlockingConnection.open(database)
            try await connection.query(
                """
                create function wait() returns trigger language plpgsql as
                $$ begin perform pg_sleep(60); return null; end $$
                """)
            try await connection.query(
                """
                create constraint trigger slow after insert on t deferrable initially deferred
                for each row execute function wait()
                """)
            let unknown = Task {
                try await connection.atomically([Statement(Self.insert, [.int8(1)])])
            }
            let waiting = Task { try await connection.query("select 1") }
            // The commit is under way once the trigger sleeps.
            let sleeping =
                "select 1 from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'"
            while try await killer.query(sleeping, [.int4(process)]).isEmpty {}
            try await killer.query("select pg_terminate_backend($1, 10000)", [.int4(process)])
            let error = await #expect(throws: PostgresError.self) { try await unknown.value }
            guard case .commitUnknown = error else {
                return #expect(Bool(false), "\(error as Any)")
            }
            let other = await #expect(throws: PostgresError.self) { try await waiting.value }
            guard case .connectionLost = other else {
                return #expect(Bool(false), "\(other as Any)")
            }
            #expect(try await killer.query("select count(*) from t").only().int8(0) == 0)
        }
    }
}
