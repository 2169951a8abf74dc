import Postgres
import TestSupport
import Testing

@Suite("A blocking connection")
struct BlockingConnectionTests {
    @Test("gives every type back as it was sent")
    func roundTrip() async throws {
        let connection = try await BlockingConnection.open(TestCluster.shared.connectionString)
        let row = try await connection.query(
            """
            select $1, $2, $3, $4, $5, $6, $7::bigint, $8, $9, $10, $11, $12
            """,
            [
                .int8(.min), .int4(-7), .bool(true), .text("Grüße, 世界"), .bytes([0, 255, 0]),
                .text(""), .null, .int8s([1, -2, .max]), .texts(["a", nil, ""]),
                .byteas([[], nil, [0, 1]]), .json("{\"a\":1}"), .double(0.1),
            ]
        ).only()
        #expect(try row.int8(0) == .min)
        #expect(try row.int4(1) == -7)
        #expect(try row.bool(2))
        #expect(try row.text(3) == "Grüße, 世界")
        #expect(try row.bytes(4) == [0, 255, 0])
        #expect(try row.text(5) == "")
        #expect(try row.int8IfAny(6) == nil)
        #expect(try row.int8s(7) == [1, -2, .max])
        #expect(try row.texts(8) == ["a", nil, ""])
        #expect(try row.byteas(9) == [[], nil, [0, 1]])
        #expect(try row.text(10) == "{\"a\":1}")
        #expect(try row.double(11) == 0.1)
    }

    @Test("unnests arrays, empty ones included")
    func arrays() async throws {
        let connection = try await BlockingConnection.open(TestCluster.shared.connectionString)
        let rows = try await connection.query(
            "select * from unnest($1::bigint[], $2::int[], $3::bool[], $4::json[]) as t(a, b, c, d)",
            [
                .int8sIfAny([1, nil]), .int4s([3, 4]), .bools([true, false]),
                .jsons(["[1]", nil]),
            ])
        #expect(rows.count == 2)
        #expect(try rows[0].int8(0) == 1)
        #expect(try rows[1].int8IfAny(0) == nil)
        #expect(try rows.map { try $0.int4(1) } == [3, 4])
        #expect(try rows.map { try $0.bool(2) } == [true, false])
        #expect(try rows.map { try $0.textIfAny(3) } == ["[1]", nil])
        #expect(try await connection.query("select unnest($1)", [.int8s([])]).isEmpty)
    }

    @Test("refuses a value of another type, NULL, a column that is not there, and text with a NUL")
    func refusals() async throws {
        let connection = try await BlockingConnection.open(TestCluster.shared.connectionString)
        let row = try await connection.query("select 'a'::text as word, null::int8 as n").only()
        #expect(
            throws: PostgresError.unexpectedValue(column: "word", expected: "int8", found: "text")
        ) { try row.int8(0) }
        #expect(
            throws: PostgresError.unexpectedValue(column: "n", expected: "int8", found: "NULL")
        ) { try row.int8(1) }
        for column in [-1, 2, Int.max] {
            #expect(
                throws: PostgresError.unexpectedAnswer(
                    "a row of 2 columns has none of number \(column)")
            ) { try row.textIfAny(column) }
        }
        await #expect(
            throws: PostgresError.invalidParameter(number: 2, "text contains a NUL character")
        ) { try await connection.query("select $1, $2", [.int4(1), .text("a\0b")]) }
    }

    @Test("tells a server's error with its SQLSTATE, table and constraint, and goes on")
    func serverErrors() async throws {
        let connection = try await BlockingConnection.open(await TestCluster.freshDatabase())
        try await connection.execute(
            script:
                "create table t (n int constraint only_once primary key); insert into t values (1)")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.query("insert into t values ($1)", [.int4(1)])
        }
        #expect(error?.isUniqueViolation == true)
        guard case .server(let server) = error else { return #expect(Bool(false)) }
        #expect(server.table == "t")
        #expect(server.constraint == "only_once")
        #expect(try await connection.query("select 1").only().int4(0) == 1)
    }

    @Test("copies in what it then copies out, and takes nothing when one row is wrong")
    func copy() async throws {
        let connection = try await BlockingConnection.open(await TestCluster.freshDatabase())
        try await connection.execute(script: "create table t (n bigint, word text)")
        let lines = (1...50_000).map { "\($0)\tword \($0)\n" }
        let chunks = stride(from: 0, to: lines.count, by: 999).map { start in
            Array(lines[start..<min(start + 999, lines.count)].joined().utf8)
        }
        #expect(try await connection.copyIn("copy t from stdin", chunks) == 50_000)
        let read = try await connection.copyOut("copy t to stdout", into: [UInt8]()) {
            $0.append(contentsOf: $1)
        }
        #expect(read == Array(lines.joined().utf8))

        let wrong = [Array("1\ta\n".utf8), Array("x\tb\n".utf8)]
        let error = await #expect(throws: PostgresError.self) {
            try await connection.copyIn("copy t from stdin", wrong)
        }
        #expect(error?.sqlstate == "22P02")
        #expect(try await connection.query("select count(*) from t").only().int8(0) == 50_000)
    }

    @Test("copies rows in binary as parameters are sent")
    func binaryCopy() async throws {
        let connection = try await BlockingConnection.open(await TestCluster.freshDatabase())
        try await connection.execute(script: "create table t (n bigint, word text, raw bytea)")
        var rows = CopyRows()
        try rows.append([.int8(1), .text("one"), .bytes([1])])
        try rows.append([.int8(2), .null, .bytes([])])
        let bytes = rows.finish()
        #expect(try await connection.copyIn("copy t from stdin (format binary)", [bytes]) == 2)
        let read = try await connection.query("select n, word, raw from t order by n")
        #expect(try read.map { try $0.int8(0) } == [1, 2])
        #expect(try read.map { try $0.textIfAny(1) } == ["one", nil])
        #expect(try read.map { try $0.bytes(2) } == [[1], []])
    }

    @Test("hears what another session notifies, and waits no longer than it is told to")
    func listen() async throws {
        let database = try await TestCluster.freshDatabase()
        let listener = try await BlockingConnection.open(database)
        let speaker = try await BlockingConnection.open(database)
        try await listener.listen("odd \"name")
        #expect(try await listener.notifications(within: .milliseconds(1)).isEmpty)
        async let heard = listener.notifications(within: .seconds(20))
        try await speaker.query("select pg_notify($1, $2)", [.text("odd \"name"), .text("hello")])
        #expect(try await heard == [Notification(channel: "odd \"name", text: "hello")])
    }

    @Test("is closed when the server ends it or does not answer in time")
    func loss() async throws {
        let database = TestCluster.shared.connectionString
        let killer = try await BlockingConnection.open(database)
        let victim = try await BlockingConnection.open(database)
        let process = try await victim.query("select pg_backend_pid()").only().int4(0)
        try await killer.query("select pg_terminate_backend($1, 10000)", [.int4(process)])
        let error = await #expect(throws: PostgresError.self) {
            try await victim.query("select 1")
        }
        #expect(error?.isConnectionLost == true)
        #expect(await !victim.isOpen)

        let slow = try await BlockingConnection.open(database, patience: .milliseconds(50))
        await #expect(throws: PostgresError.timedOut(after: .milliseconds(50))) {
            try await slow.query("select pg_sleep(30)")
        }
        #expect(await !slow.isOpen)
    }

    @Test("commits what is told to commit and says so when it was rolled back instead")
    func commit() async throws {
        let connection = try await BlockingConnection.open(await TestCluster.freshDatabase())
        try await connection.execute(script: "create table t (n int)")
        try await connection.query("begin")
        try await connection.query("insert into t values (1)")
        try await connection.commit()
        try await connection.query("begin")
        _ = try? await connection.query("insert into t values (1 / 0)")
        await #expect(throws: PostgresError.commitRefused("answered ROLLBACK")) {
            try await connection.commit()
        }
        #expect(try await connection.query("select count(*) from t").only().int8(0) == 1)
    }

    @Test("is not opened with a wrong address or a refused setting")
    func notOpened() async throws {
        let refused = await #expect(throws: PostgresError.self) {
            try await BlockingConnection.open("host=/nowhere dbname=none")
        }
        guard case .notConnected = refused else { return #expect(Bool(false), "\(refused as Any)") }
        let setting = await #expect(throws: PostgresError.self) {
            try await BlockingConnection.open(
                TestCluster.shared.connectionString, options: ["set role nobody_here"])
        }
        guard case .notConnected = setting else { return #expect(Bool(false), "\(setting as Any)") }
    }
}
