import EventLoop
import Postgres
import TestSupport
import Testing

@Suite("A pool of connections")
struct ConnectionPoolTests {
    @Test("spreads statements over its connections and recovers when they are killed")
    func recovery() async throws {
        try await withLoop { loop in
            let database = try await TestCluster.freshDatabase()
            let pool = ConnectionPool(.init(connectionString: database, size: 2), on: loop)
            await pool.start()
            try await pool.waitUntilAvailable(within: .seconds(20))

            let killer = try await BlockingConnection.open(database)
            let others =
                "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            while try await killer.query("select pid \(others)").count < 2 {}
            let slow = Task { try await pool.query("select pg_sleep(60)") }
            while try await killer.query("select pid \(others) and wait_event = 'PgSleep'").isEmpty
            {}
            // The other connection is free.
            #expect(try await pool.query("select 1").only().int4(0) == 1)

            try await killer.query("select pg_terminate_backend(pid, 10000) \(others)")
            let error = await #expect(throws: PostgresError.self) { try await slow.value }
            guard case .connectionLost = error else {
                return #expect(Bool(false), "\(error as Any)")
            }
            while await outcome({ try await pool.query("select 1::bigint") }) != .success(1) {}
            await pool.close()
            await #expect(throws: PostgresError.unavailable("the pool was closed")) {
                try await pool.query("select 1")
            }
        }
    }

    @Test("fails at once while the server is away")
    func unavailable() async throws {
        try await withLoop { loop in
            let pool = ConnectionPool(.init(connectionString: "host=/nowhere"), on: loop)
            await pool.start()
            let error = await #expect(throws: PostgresError.self) {
                try await pool.waitUntilAvailable(within: .milliseconds(50))
            }
            guard case .unavailable = error else { return #expect(Bool(false)) }
            let query = await #expect(throws: PostgresError.self) {
                try await pool.query("select 1")
            }
            guard case .unavailable = query else { return #expect(Bool(false)) }
            await pool.close()
        }
    }
}
