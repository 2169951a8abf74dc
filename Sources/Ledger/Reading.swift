public import Postgres

extension ConnectionPool {
    /// Runs one statement for a reader of the ledger, whose errors are the ledger's.
    public nonisolated func read(_ sql: String, _ parameters: [Parameter] = [])
        async throws(LedgerError) -> Rows
    {
        do throws(PostgresError) {
            return try await query(sql, parameters)
        } catch {
            throw .database(error)
        }
    }
}
