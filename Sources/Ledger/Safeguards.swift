public import Postgres

/// What must hold of a database before the ledger serves writes (design: immutable in layers).
public enum Safeguards {
    /// Checks settings, triggers and grants.
    ///
    /// - Throws: `LedgerError.unsafe`, naming everything that does not hold.
    public static func check(_ session: BlockingConnection) async throws(LedgerError) {
        var reasons: [String] = []
        let rows: Rows
        do throws(PostgresError) {
            rows = try await session.query(sql)
        } catch {
            throw .database(error)
        }
        for row in rows {
            reasons.append(try wrapped { () throws(PostgresError) in try row.text(0) })
        }
        guard reasons.isEmpty else { throw .unsafe(reasons) }
    }

    /// As `pg_trigger.tgtype` spells it: for each row 1, before 2, delete 8, update 16.
    private static let beforeEachUpdateOrDelete = 27
    /// Before 2, truncate 32.
    private static let beforeTruncate = 34

    private static let sql = """
        select name || ' is off' from pg_settings \
        where name in ('fsync', 'full_page_writes') and setting = 'off' \
        union all \
        select 'synchronous_commit is ' || setting from pg_settings \
        where name = 'synchronous_commit' and setting in ('off', 'local') \
        union all \
        select 'trigger ' || wanted.trigger || ' of ledger.' || wanted.name || ' does not guard it' \
        from (select name, trigger, type from \
        unnest(array['batch', 'entry', 'evidence', 'certificates', 'held']) as t (name), \
        (values ('append_only', \(beforeEachUpdateOrDelete)), \
        ('no_truncate', \(beforeTruncate))) as g (trigger, type)) as wanted \
        where not exists (select from pg_trigger \
        join pg_class on pg_class.oid = tgrelid \
        join pg_namespace on pg_namespace.oid = relnamespace \
        where nspname = 'ledger' and relname = wanted.name and tgname = wanted.trigger \
        and tgenabled = 'A' and tgfoid = to_regproc('ledger.refuse') \
        and tgtype = wanted.type and tgqual is null and tgattr::text = '') \
        union all \
        select 'role subledger_daemon may ' || lower(privilege) || ' ledger.' || relname \
        from pg_class join pg_namespace on pg_namespace.oid = relnamespace, \
        unnest(array['UPDATE', 'DELETE', 'TRUNCATE']) as p (privilege) \
        where nspname = 'ledger' and relkind = 'r' \
        and (has_table_privilege('subledger_daemon', pg_class.oid, privilege) \
        or privilege = 'UPDATE' \
        and has_any_column_privilege('subledger_daemon', pg_class.oid, privilege))
        """
}
