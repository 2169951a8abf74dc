public import Postgres

/// Where the histories that were asked for go on: behind the last page that is on the record.
public struct HistoryCursors: Sendable {
    private let pool: ConnectionPool

    /// The cursors that a pool's database stores.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// Whose history: all three together.
    public struct Key: Sendable, Hashable {
        /// The app.
        public var bundle: String
        /// The environment's name.
        public var environment: String
        /// The transaction id that is asked with.
        public var asked: String

        /// The history of a customer, by one of the transactions.
        public init(bundle: String, environment: String, asked: String) {
            self.bundle = bundle
            self.environment = environment
            self.asked = asked
        }

        fileprivate var parameters: [Parameter] {
            [.text(bundle), .text(environment), .text(asked)]
        }
    }

    /// The revision to go on from; `nil` when the history was never asked for.
    public func revision(_ key: Key) async throws(PostgresError) -> String? {
        try await pool.query(
            """
            select revision from operation.history_cursor \
            where bundle = $1 and environment = $2 and asked = $3
            """, key.parameters
        ).first?.text(0)
    }

    /// Says that all up to this revision is on the record; durable when it returns.
    public func keep(_ revision: String, of key: Key, now: Int64) async throws(PostgresError) {
        try await pool.query(
            """
            insert into operation.history_cursor \
            (bundle, environment, asked, revision, updated_at) values ($1, $2, $3, $4, $5) \
            on conflict (bundle, environment, asked) do update set \
            revision = excluded.revision, updated_at = excluded.updated_at
            """, key.parameters + [.text(revision), .int8(now)])
    }

    /// Begins a history anew the next time it is asked for.
    public func forget(_ key: Key) async throws(PostgresError) {
        try await pool.query(
            """
            delete from operation.history_cursor \
            where bundle = $1 and environment = $2 and asked = $3
            """, key.parameters)
    }
}
