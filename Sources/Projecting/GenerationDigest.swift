import Crypto
import Postgres

/// What two generations are compared by: the sum of the hashes of all rows, in whatever order.
enum GenerationDigest {
    /// The digest of a generation's rows as a session sees them. Shape: SHA-256 in hex.
    static func of(
        _ generation: Int64, _ projection: any Projection, _ session: BlockingConnection
    ) async throws(PostgresError) -> String {
        var text = ""
        for table in projection.tables {
            let row = try await session.query(table.digest(generation: "\(generation)")).only()
            text += "\(try row.text(0)) \(try row.int8(1)) \(try row.text(2)) \(try row.text(3))\n"
        }
        return SHA256.digest(of: text).description
    }
}
