import Crypto
public import Postgres

/// What the holder of an API key may do.
public enum Role: String, Sendable, Hashable, CaseIterable {
    /// Hand in evidence and commands.
    case ingest
    /// Ask about customers, lines and entries.
    case read
    /// Ask for metrics.
    case analyst
    /// Operate the daemon.
    case operate
}

/// An API key without its secret.
public struct APIKey: Sendable, Hashable {
    /// What it is called in `keys list` and `keys revoke`.
    public var id: String
    /// What it is for, for people.
    public var name: String
    /// What it allows.
    public var roles: Set<Role>
    /// When it was made. Units: milliseconds since 1970.
    public var createdAt: Int64
    /// When it was ended; `nil` while it holds.
    public var revokedAt: Int64?
}

/// The API keys of a ledger: only their digests are stored.
public struct APIKeys: Sendable {
    private let pool: ConnectionPool

    /// The keys that a pool's database stores.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// The digest under which a key is stored and looked up. Shape: 64 hex digits.
    public static func digest(of secret: String) -> String {
        SHA256.digest(of: secret).description
    }

    /// Makes a key and returns its secret, which nothing can tell again.
    public func create(name: String, roles: Set<Role>, now: Int64)
        async throws(PostgresError) -> (key: APIKey, secret: String)
    {
        let secret = "slk_" + Hex.encode(randomBytes(24))
        let key = APIKey(
            id: "key_" + Hex.encode(randomBytes(6)), name: name, roles: roles, createdAt: now,
            revokedAt: nil)
        try await pool.query(
            """
            insert into operation.api_key (id, name, digest, roles, created_at) \
            values ($1, $2, $3, $4, $5)
            """,
            [
                .text(key.id), .text(name), .bytes(SHA256.digest(of: secret).bytes),
                .texts(roles.map(\.rawValue).sorted()), .int8(now),
            ])
        return (key, secret)
    }

    /// All keys, the ended ones too, the newest last.
    public func list() async throws(PostgresError) -> [APIKey] {
        let rows = try await pool.query(
            """
            select id, name, roles, created_at, revoked_at from operation.api_key \
            order by created_at, id
            """)
        var keys: [APIKey] = []
        for row in rows { keys.append(try APIKeys.key(row)) }
        return keys
    }

    /// Ends a key.
    ///
    /// - Returns: false when there is no such key, or it had ended before.
    public func revoke(_ id: String, now: Int64) async throws(PostgresError) -> Bool {
        let rows = try await pool.query(
            """
            update operation.api_key set revoked_at = $2 where id = $1 and revoked_at is null \
            returning id
            """, [.text(id), .int8(now)])
        return !rows.isEmpty
    }

    /// The keys that hold, by the digest of their secret.
    public func valid() async throws(PostgresError) -> [String: APIKey] {
        let rows = try await pool.query(
            """
            select id, name, roles, created_at, revoked_at, encode(digest, 'hex') \
            from operation.api_key where revoked_at is null
            """)
        var keys: [String: APIKey] = [:]
        for row in rows { keys[try row.text(5)] = try APIKeys.key(row) }
        return keys
    }

    private static func key(_ row: Row) throws(PostgresError) -> APIKey {
        APIKey(
            id: try row.text(0), name: try row.text(1),
            roles: Set(try row.texts(2).compactMap { $0.flatMap(Role.init(rawValue:)) }),
            createdAt: try row.int8(3), revokedAt: try row.int8IfAny(4))
    }
}
