import Ledger
import Postgres
import Schema
import TestSupport
import Testing

@Suite("A migrator")
struct MigratorTests {
    /// Runs a test on an empty database.
    private func withDatabase(
        _ body: (String, BlockingConnection) async throws -> Void
    ) async throws {
        try await Turnstile.shared.pass {
            let address = try await TestCluster.freshDatabase()
            let session = try await BlockingConnection.open(address)
            try await body(address, session)
            await session.close()
        }
    }

    private var names: [String] { Migration.all.map(\.name) }

    @Test("applies everything once, and nothing the second time")
    func once() async throws {
        try await withDatabase { _, session in
            let migrator = Migrator(session)
            #expect(try await migrator.migrate() == names)
            #expect(try await migrator.migrate() == [])
            try await migrator.check()
            let landed = try await session.query(
                "select name from migration.landed order by number")
            #expect(try landed.map { try $0.text(0) } == names)
        }
    }

    @Test("leaves roles behind: an owner, a daemon and an analyst, none of which may log in")
    func roles() async throws {
        try await withDatabase { _, session in
            _ = try await Migrator(session).migrate()
            let rows = try await session.query(
                """
                select rolname::text from pg_roles where rolname in \
                ('subledger_owner', 'subledger_daemon', 'subledger_analyst') \
                and not rolcanlogin and not rolsuper order by rolname
                """)
            #expect(
                try rows.map { try $0.text(0) }
                    == ["subledger_analyst", "subledger_daemon", "subledger_owner"])
            let owner = try await session.query(
                "select tableowner::text from pg_tables where schemaname = 'ledger'")
            #expect(try Set(owner.map { try $0.text(0) }) == ["subledger_owner"])
        }
    }

    @Test("shares the work with another that runs at the same time")
    func twoAtOnce() async throws {
        try await withDatabase { address, session in
            let other = try await BlockingConnection.open(address)
            async let first = Migrator(session).migrate()
            async let second = Migrator(other).migrate()
            let applied = try await [first, second]
            #expect(applied.contains(names) && applied.contains([]))
            try await Migrator(session).check()
            await other.close()
        }
    }

    @Test("refuses a landed migration whose text is another")
    func edited() async throws {
        try await withDatabase { _, session in
            let migrator = Migrator(session)
            _ = try await migrator.migrate()
            try await session.execute(
                script: "update migration.landed set digest = '\\x00' where number = 1")
            let error = LedgerError.migrationEdited(name: names[0])
            #expect(error.code == "SL013")
            await #expect(throws: error) { try await migrator.check() }
            await #expect(throws: error) { _ = try await migrator.migrate() }
        }
    }

    @Test("refuses a schema that is newer than the program, and one that is older")
    func otherSchema() async throws {
        try await withDatabase { _, session in
            let migrator = Migrator(session)
            let known = Migration.all.count
            let older = LedgerError.schemaOlder(found: 0, known: known)
            await #expect(throws: older) { try await migrator.check() }
            _ = try await migrator.migrate()
            try await session.execute(
                script: "insert into migration.landed values (\(known + 1), 'later', '\\x00')")
            let newer = LedgerError.schemaNewer(found: known + 1, known: known)
            #expect(newer.code == "SL011")
            await #expect(throws: newer) { try await migrator.check() }
            await #expect(throws: newer) { _ = try await migrator.migrate() }
        }
    }

    @Test("can go on with the same session once what made it fail is gone")
    func failing() async throws {
        try await withDatabase { address, session in
            try await session.execute(script: "create schema operation")
            let migrator = Migrator(session)
            await #expect(throws: LedgerError.self) { _ = try await migrator.migrate() }
            let other = try await BlockingConnection.open(address)
            #expect(
                try await other.query("select to_regclass('ledger.entry') is null").only().bool(0))
            try await other.execute(script: "drop schema operation")
            #expect(try await Migrator(other).migrate() == names)
            #expect(try await migrator.migrate() == [])
            await other.close()
        }
    }
}
