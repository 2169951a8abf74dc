import Crypto
public import Postgres
import Schema

/// Brings the schema up to date, and checks that it keeps what the ledger promises.
public struct Migrator: Sendable {
    /// The role that owns the schema.
    public static let owner = "subledger_owner"
    /// The role that every session but migration takes.
    public static let daemon = "subledger_daemon"
    /// The role that reads `report`.
    public static let analyst = "subledger_analyst"

    private let session: BlockingConnection

    /// A migrator over a session that may take the owner's role.
    public init(_ session: BlockingConnection) { self.session = session }

    /// The statements that every daemon session begins with.
    public static let sessionOptions = [
        "set role subledger_daemon", "set search_path = pg_catalog",
        "set synchronous_commit = on", "set statement_timeout = '30s'",
        "set lock_timeout = '10s'", "set idle_in_transaction_session_timeout = '5s'",
        "set timezone = 'UTC'", "set datestyle = 'ISO'",
        "set default_transaction_isolation = 'read committed'",
    ]

    /// Applies what is missing, one migration a transaction, under a lock.
    ///
    /// - Returns: the names of the migrations applied now.
    public func migrate() async throws(LedgerError) -> [String] {
        try await prepareRoles()
        try await run("set role \(Migrator.owner)")
        // Serializes migrators; whoever comes second finds the work done.
        try await run("select pg_advisory_lock(7301112024)")
        let applied: [String]
        do throws(LedgerError) {
            applied = try await applyMissing()
        } catch {
            _ = try? await session.query("select pg_advisory_unlock(7301112024)")
            throw error
        }
        try await run("select pg_advisory_unlock(7301112024)")
        try await run("reset role")
        return applied
    }

    /// Refuses a schema that this program does not know, or that lacks something.
    public func check() async throws(LedgerError) {
        let found = try await landed()
        try compare(found)
        if found.count < Migration.all.count {
            throw .schemaOlder(found: found.count, known: Migration.all.count)
        }
    }

    private func applyMissing() async throws(LedgerError) -> [String] {
        try await run(
            """
            create schema if not exists migration;
            create table if not exists migration.landed (
                number integer primary key, name text not null, digest bytea not null,
                applied_at timestamptz not null default now());
            grant usage on schema migration to \(Migrator.daemon);
            grant select on migration.landed to \(Migrator.daemon);
            """)
        let found = try await landed()
        try compare(found)
        var applied: [String] = []
        for migration in Migration.all.dropFirst(found.count) {
            let digest = Migrator.digest(migration)
            try await run(
                """
                begin;
                \(migration.sql)
                insert into migration.landed (number, name, digest)
                values (\(migration.number), '\(migration.name)', '\\x\(digest)');
                commit;
                """)
            applied.append(migration.name)
        }
        return applied
    }

    private func compare(_ found: [(name: String, digest: String)]) throws(LedgerError) {
        if found.count > Migration.all.count {
            throw .schemaNewer(found: found.count, known: Migration.all.count)
        }
        for (landed, known) in zip(found, Migration.all)
        where landed.digest != Migrator.digest(known) {
            throw .migrationEdited(name: landed.name)
        }
    }

    private func landed() async throws(LedgerError) -> [(name: String, digest: String)] {
        let exists = try await query("select to_regclass('migration.landed') is not null")
        guard try wrapped({ () throws(PostgresError) in try exists.only().bool(0) }) else {
            return []
        }
        var found: [(String, String)] = []
        for row in try await query(
            "select name, encode(digest, 'hex') from migration.landed order by number")
        {
            found.append(
                try wrapped { () throws(PostgresError) in (try row.text(0), try row.text(1)) })
        }
        return found
    }

    /// Creates the roles where they are missing, and makes the login a member.
    private func prepareRoles() async throws(LedgerError) {
        for statement in Migrator.roleStatements {
            do throws(PostgresError) {
                try await insist(statement)
            } catch {
                guard try await canTakeRoles() else {
                    throw .rolesMissing(
                        remedy: Migrator.roleStatements.joined(separator: " "))
                }
            }
        }
    }

    /// Roles belong to the whole server: a process that migrates another database of it at this
    /// moment makes a statement fail that succeeds when it is tried again.
    private func insist(_ statement: String) async throws(PostgresError) {
        for _ in 0..<20 {
            do throws(PostgresError) {
                return try await session.execute(script: statement)
            } catch let error where ["XX000", "23505", "42710"].contains(error.sqlstate ?? "") {
                continue
            } catch {
                throw error
            }
        }
        try await session.execute(script: statement)
    }

    /// Whether the roles exist, and the login may take them.
    private func canTakeRoles() async throws(LedgerError) -> Bool {
        let usable = try await query(
            """
            select count(*) from pg_roles where rolname in \
            ('\(Migrator.owner)', '\(Migrator.daemon)', '\(Migrator.analyst)') \
            and (rolname = '\(Migrator.analyst)' or pg_has_role(oid, 'member'))
            """)
        return try wrapped { () throws(PostgresError) in try usable.only().int8(0) } == 3
    }

    private static let roleStatements = [
        create(owner), create(daemon), create(analyst),
        "do $$ begin execute format('grant \(owner), \(daemon) to %I', current_user); end $$;",
        """
        do $$ begin execute \
        format('grant create on database %I to \(owner)', current_database()); end $$;
        """,
    ]

    private static func create(_ role: String) -> String {
        "do $$ begin if to_regrole('\(role)') is null then create role \(role); end if; end $$;"
    }

    private static func digest(_ migration: Migration) -> String {
        SHA256.digest(of: migration.sql).description
    }

    private func run(_ script: String) async throws(LedgerError) {
        do throws(PostgresError) {
            try await session.execute(script: script)
        } catch {
            throw .database(error)
        }
    }

    private func query(_ sql: String) async throws(LedgerError) -> Rows {
        do throws(PostgresError) {
            return try await session.query(sql)
        } catch {
            throw .database(error)
        }
    }
}
