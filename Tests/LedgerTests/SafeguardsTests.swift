import Ledger
import Postgres
import Testing

private let tables = ["batch", "entry", "evidence", "certificates", "held"]

@Suite("The safeguards")
struct SafeguardsTests {
    @Test("find nothing to object to in a fresh ledger")
    func fresh() async throws {
        try await withLedger { try await Safeguards.check($0.superuser) }
    }

    @Test(
        "name what does not hold",
        arguments: [
            (
                "alter table ledger.entry disable trigger append_only",
                "trigger append_only of ledger.entry does not guard it"
            ),
            (
                "alter table ledger.batch enable trigger append_only",
                "trigger append_only of ledger.batch does not guard it"
            ),
            (
                "drop trigger no_truncate on ledger.evidence",
                "trigger no_truncate of ledger.evidence does not guard it"
            ),
            (
                """
                drop trigger append_only on ledger.held;
                create trigger append_only before update on ledger.held
                    for each row execute function ledger.refuse();
                alter table ledger.held enable always trigger append_only
                """,
                "trigger append_only of ledger.held does not guard it"
            ),
            (
                "grant update on ledger.batch to subledger_daemon",
                "role subledger_daemon may update ledger.batch"
            ),
            (
                "grant update (body) on ledger.entry to subledger_daemon",
                "role subledger_daemon may update ledger.entry"
            ),
            (
                "grant truncate on ledger.certificates to subledger_daemon",
                "role subledger_daemon may truncate ledger.certificates"
            ),
            (
                "set synchronous_commit = off", "synchronous_commit is off"
            ),
        ])
    func violations(_ violation: String, _ name: String) async throws {
        try await withLedger { ledger in
            try await ledger.superuser.execute(script: violation)
            await #expect(throws: LedgerError.unsafe([name])) {
                try await Safeguards.check(ledger.superuser)
            }
        }
    }

    @Test("name everything that does not hold")
    func several() async throws {
        try await withLedger { ledger in
            try await ledger.superuser.execute(
                script: """
                    drop trigger append_only on ledger.entry;
                    grant delete on ledger.entry to subledger_daemon
                    """)
            await #expect(
                throws: LedgerError.unsafe([
                    "trigger append_only of ledger.entry does not guard it",
                    "role subledger_daemon may delete ledger.entry",
                ])
            ) { try await Safeguards.check(ledger.superuser) }
        }
    }
}

@Suite("The record")
struct ImmutabilityTests {
    private static let changes = [
        "update ledger.%@ set digest = digest", "delete from ledger.%@",
        "truncate ledger.%@ cascade",
    ]

    /// Every change of every table, in a ledger with a row in each.
    private func withEveryChange(
        _ body: (TestLedger, String) async throws -> Void
    ) async throws {
        try await withLedger { ledger in
            let writer = ledger.writer()
            var purchase = Purchase(line: "a")
            purchase.evidence = .sample("signed", header: "header")
            _ = try await writer.append(purchase.proposal)
            await writer.close()
            _ = try await HeldStore(ledger.pool).keep(
                .sample("held", header: "header"), reason: "wrong_app", detail: "",
                draw: drawAnyNumber)
            for table in tables {
                for change in ImmutabilityTests.changes {
                    try await body(ledger, change.replacing("%@", with: table))
                    #expect(try await ledger.number("select count(*) from ledger.\(table)") == 1)
                }
            }
        }
    }

    @Test("is closed to changes by the daemon's role, which lacks the privilege")
    func daemon() async throws {
        try await withEveryChange { ledger, change in
            try await ledger.superuser.execute(script: "set role subledger_daemon")
            let refusal = await error(change, ledger.superuser)
            try await ledger.superuser.execute(script: "reset role")
            #expect(refusal?.sqlstate == "42501", "\(change)")
            #expect(refusal?.message.hasPrefix("permission denied") == true, "\(change)")
        }
    }

    @Test(
        "is closed to changes by its owner and by a superuser, even one who replicates",
        arguments: [
            "set role subledger_owner", "reset role", "set session_replication_role = replica",
        ])
    func everybody(_ preparation: String) async throws {
        try await withEveryChange { ledger, change in
            try await ledger.superuser.execute(script: preparation)
            let refusal = await error(change, ledger.superuser)
            try await ledger.superuser.execute(
                script: "reset role; reset session_replication_role")
            #expect(refusal?.sqlstate == "42501", "\(change)")
            #expect(refusal?.message.hasPrefix("the record is append-only") == true, "\(change)")
        }
    }

    private func error(_ sql: String, _ session: BlockingConnection) async -> ServerError? {
        do throws(PostgresError) {
            try await session.query(sql)
            return nil
        } catch .server(let error) {
            return error
        } catch {
            return nil
        }
    }
}
