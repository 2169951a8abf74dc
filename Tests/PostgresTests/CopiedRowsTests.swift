import Postgres
import TestSupport
import Testing

@Suite("Copied rows")
struct CopiedRowsTests {
    /// A row of every kind of value that is read, as a query.
    private static let sql = """
        copy (select 7::int8 + n, case when n % 2 = 0 then n::int8 end, 'é' || n, \
        case when n % 3 = 0 then '{"a":1}'::json end from generate_series(0, 999) as n order by n) \
        to stdout (format binary)
        """

    private struct Found: Equatable {
        var number: Int64
        var even: Int64?
        var text: String
        var json: String?
    }

    private func found(_ bytes: [UInt8]) throws -> [Found] {
        var rows = CopiedRows(bytes)
        var found: [Found] = []
        while try rows.next(columns: 4) {
            found.append(
                Found(
                    number: try rows.int8(), even: try rows.int8IfAny(), text: try rows.text(),
                    json: try rows.textIfAny()))
        }
        return found
    }

    @Test("come in pieces of whole rows, each value as it was", arguments: [1, 100, 1 << 20])
    func values(size: Int) async throws {
        let session = try await BlockingConnection.open(TestCluster.shared.connectionString)
        try await session.beginCopyOut(CopiedRowsTests.sql)
        var all: [Found] = []
        var isLast = false
        while !isLast {
            let piece = try await session.copyOut(atLeast: size)
            #expect(piece.isLast || piece.bytes.count >= size)
            all += try found(piece.bytes)
            isLast = piece.isLast
        }
        let expected = (0..<1_000).map {
            Found(
                number: 7 + $0, even: $0 % 2 == 0 ? $0 : nil, text: "é\($0)",
                json: $0 % 3 == 0 ? "{\"a\":1}" : nil)
        }
        #expect(all == expected)
        // The session is free for statements again.
        #expect(try await session.query("select 1").only().int8(0) == 1)
        await session.close()
    }

    @Test("that are cut off, or of another width or type, are refused")
    func malformed() async throws {
        let session = try await BlockingConnection.open(TestCluster.shared.connectionString)
        try await session.beginCopyOut(CopiedRowsTests.sql)
        let bytes = try await session.copyOut(atLeast: 1 << 20).bytes
        await session.close()
        #expect(throws: PostgresError.self) { try found(Array(bytes.prefix(41))) }
        #expect(throws: PostgresError.self) {
            var rows = CopiedRows(bytes)
            _ = try rows.next(columns: 3)
        }
        #expect(throws: PostgresError.self) {
            var rows = CopiedRows(bytes)
            _ = try rows.next(columns: 4)
            _ = try rows.int8()
            _ = try rows.int8IfAny()
            _ = try rows.int8()
        }
        #expect(throws: PostgresError.self) {
            var rows = CopiedRows(bytes)
            _ = try rows.next(columns: 4)
            while true { _ = try rows.value() }
        }
    }

    @Test("of an error of the server are none, and the error is told")
    func fails() async throws {
        let session = try await BlockingConnection.open(TestCluster.shared.connectionString)
        await #expect(throws: PostgresError.self) {
            try await session.beginCopyOut(
                "copy (select 1 / (n - 500) from generate_series(0, 999) as n) to stdout")
            while try await !session.copyOut(atLeast: 100).isLast {}
        }
        #expect(try await session.query("select 1").only().int8(0) == 1)
        await session.close()
    }
}
