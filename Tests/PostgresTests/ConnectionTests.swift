import EventLoop
import Postgres
import TestSupport
import Testing

/// A loop with its own thread, stopped at the end.
func withLoop<R>(_ body: (EventLoop) async throws -> R) async throws -> R {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    return try await body(loop)
}

/// What became of a statement that answers one number, for comparison.
func outcome(_ body: () async throws -> Rows) async -> Result<Int64, PostgresError> {
    do {
        return .success(try await body().only().int8(0))
    } catch let error as PostgresError {
        return .failure(error)
    } catch {
        return .failure(.unexpectedAnswer("\(error)"))
    }
}

private let accesses: [Connection.Access] = [.readWrite, .readOnly]

@Suite("A pipelined connection")
struct ConnectionTests {
    @Test("gives each of many callers its own answer", arguments: accesses)
    func ownAnswers(_ access: Connection.Access) async throws {
        try await withLoop { loop in
            let connection = try await Connection.open(
                TestCluster.shared.connectionString, on: loop, access: access)
            let answers = try await withThrowingTaskGroup(of: (Int64, Int64).self) { group in
                for number in Int64(0)..<500 {
                    group.addTask {
                        let rows = try await connection.query("select $1", [.int8(number)])
                        return (number, try rows.only().int8(0))
                    }
                }
                return try await group.reduce(into: [(Int64, Int64)]()) { $0.append($1) }
            }
            #expect(answers.count == 500)
            #expect(answers.allSatisfy { $0.0 == $0.1 })
            #expect(await connection.load == 0)
            await connection.close()
        }
    }

    @Test("lets no statement suffer from its neighbour's error", arguments: accesses)
    func neighbours(_ access: Connection.Access) async throws {
        try await withLoop { loop in
            let connection = try await Connection.open(
                TestCluster.shared.connectionString, on: loop, access: access)
            let outcomes = await withTaskGroup(of: (Int64, Result<Int64, PostgresError>).self) {
                group in
                for number in Int64(0)..<200 {
                    group.addTask {
                        let sql = number % 7 == 0 ? "select 1 / ($1 * 0)" : "select $1"
                        return (
                            number,
                            await outcome { try await connection.query(sql, [.int8(number)]) }
                        )
                    }
                }
                return await group.reduce(into: [Int64: Result<Int64, PostgresError>]()) {
                    $0[$1.0] = $1.1
                }
            }
            for (number, outcome) in outcomes {
                switch outcome {
                case .success(let value): #expect(value == number && number % 7 != 0)
                case .failure(let error):
                    #expect(error.sqlstate == "22012" && number % 7 == 0, "\(error)")
                }
            }
            #expect(outcomes.count == 200)
            await connection.close()
        }
    }

    @Test("keeps what each caller wrote although a neighbour failed")
    func writesStay() async throws {
        try await withLoop { loop in
            let connection = try await Connection.open(
                await TestCluster.freshDatabase(), on: loop)
            try await connection.query("create table t (n bigint primary key)")
            let stored = await withTaskGroup(of: Bool.self) { group in
                for number in Int64(0)..<100 {
                    group.addTask {
                        let rows = try? await connection.query(
                            "insert into t values ($1)", [.int8(number / 2)])
                        return rows?.affected == 1
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(stored == 50)
            let count = try await connection.query("select count(*) from t")
            #expect(try count.only().int8(0) == 50)
            await connection.close()
        }
    }

    @Test("tells an error that appears at the commit of a single statement")
    func deferredError() async throws {
        try await withLoop { loop in
            let connection = try await Connection.open(
                await TestCluster.freshDatabase(), on: loop)
            try await connection.query(
                "create table t (n bigint unique deferrable initially deferred)")
            try await connection.query("insert into t values (1)")
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("insert into t values (1)")
            }
            #expect(error?.isUniqueViolation == true)
            let atomic = await #expect(throws: PostgresError.self) {
                try await connection.atomically([Statement("insert into t values (1)")])
            }
            #expect(atomic?.isUniqueViolation == true)
            let count = try await connection.query("select count(*) from t")
            #expect(try count.only().int8(0) == 1)
            await connection.close()
        }
    }

    @Test("writes nothing when opened for reading only")
    func readOnly() async throws {
        try await withLoop { loop in
            let connection = try await Connection.open(
                await TestCluster.freshDatabase(), on: loop, access: .readOnly)
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("create table t (n int)")
            }
            #expect(error?.sqlstate == "25006")
            await connection.close()
        }
    }

    @Test("sends ten megabytes and gets them back while others are served")
    func largeParameters() async throws {
        try await withLoop { loop in
            let connection = try await Connection.open(
                TestCluster.shared.connectionString, on: loop)
            let large = [UInt8](repeating: 7, count: 10_000_000)
            async let first = connection.query("select $1", [.bytes(large)])
            async let second = connection.query("select $1", [.bytes(large)])
            async let small = connection.query("select $1", [.int8(5)])
            #expect(try await first.only().bytes(0) == large)
            #expect(try await second.only().bytes(0) == large)
            #expect(try await small.only().int8(0) == 5)
            await connection.close()
        }
    }

    @Test("names what it has prepared as no other does")
    func names() async throws {
        try await withLoop { loop in
            var names: [String] = []
            for _ in 0..<2 {
                let connection = try await Connection.open(
                    TestCluster.shared.connectionString, on: loop)
                _ = try await connection.query("select 1")
                let rows = try await connection.query("select name from pg_prepared_statements")
                for row in rows { names.append(try row.text(0)) }
                await connection.close()
            }
            #expect(names.count >= 2 && Set(names).count == names.count, "\(names)")
        }
    }

    @Test("runs a statement whose kept plan no longer fits its table")
    func stalePlan() async throws {
        try await withLoop { loop in
            let connection = try await Connection.open(
                await TestCluster.freshDatabase(), on: loop)
            try await connection.query("create table t as select 1::bigint as n")
            #expect(try await connection.query("select * from t").only().int8(0) == 1)
            try await connection.query("alter table t alter n type text")
            #expect(try await connection.query("select * from t").only().text(0) == "1")
            let rows = try await connection.atomically([
                Statement("alter table t alter n type int8 using n::int8")
            ])
            #expect(rows.count == 1)
            let again = try await connection.atomically([Statement("select * from t")])
            #expect(try again[0].only().int8(0) == 1)
            await connection.close()
        }
    }

    @Test("refuses what exceeds its capacity, and ends what exceeds its time")
    func limits() async throws {
        try await withLoop { loop in
            let connection = try await Connection.open(
                TestCluster.shared.connectionString, on: loop, capacity: 2)
            let outcomes = await withTaskGroup(of: Result<Int64, PostgresError>.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        await outcome {
                            try await connection.query(
                                "select 1::bigint from pg_sleep(60)", within: .milliseconds(300))
                        }
                    }
                }
                return await group.reduce(into: [Result<Int64, PostgresError>]()) { $0.append($1) }
            }
            #expect(outcomes.filter { $0 == .failure(.overloaded(waiting: 2)) }.count == 1)
            #expect(outcomes.contains(.failure(.timedOut(after: .milliseconds(300)))))
            #expect(await !connection.isOpen)
            await #expect(throws: PostgresError.unavailable("a statement exceeded its time")) {
                try await connection.query("select 1")
            }
        }
    }

    @Test("is not opened when nobody answers or a setting is refused")
    func notOpened() async throws {
        try await withLoop { loop in
            let refused = await #expect(throws: PostgresError.self) {
                try await Connection.open("host=/nowhere dbname=none", on: loop)
            }
            guard case .notConnected = refused else { return #expect(Bool(false)) }
            let setting = await #expect(throws: PostgresError.self) {
                try await Connection.open(
                    TestCluster.shared.connectionString, on: loop,
                    options: ["set role nobody_here"])
            }
            guard case .notConnected = setting else { return #expect(Bool(false)) }
        }
    }

    @Test("ends when a caller leaves a transaction open")
    func strayBegin() async throws {
        try await withLoop { loop in
            let connection = try await Connection.open(
                TestCluster.shared.connectionString, on: loop)
            _ = try? await connection.query("begin")
            #expect(await !connection.isOpen)
        }
    }
}
