import Domain
import EventLoop
import Ledger
import Postgres

/// Verifying the chain against reading the same entries with COPY, in turns.
struct Verification {
    let address: String

    /// Runs it.
    func figures() async throws -> [Figure] {
        let loop = EventLoop(name: "reading")
        let pool = ConnectionPool(
            ConnectionPool.Settings(
                connectionString: address, access: .readOnly, options: Migrator.sessionOptions,
                size: 1, limit: .seconds(60)), on: loop)
        await pool.start()
        try await pool.waitUntilAvailable(within: .seconds(10))
        let copying = try await BlockingConnection.open(address)
        var (verifySeconds, copySeconds, entries) = (0.0, 0.0, 0.0)
        for _ in 0..<3 {
            var start = ContinuousClock.now
            let verified = try await ChainVerifier(pool).verify()
            verifySeconds += start.secondsSince
            guard verified.faults.isEmpty else {
                throw BenchError.unexpected("the chain has faults: \(verified.faults[0])")
            }
            entries += Double(verified.head.number)
            start = .now
            _ = try await copying.copyOut("copy ledger.entry to stdout", into: 0) { $0 += $1.count }
            copySeconds += start.secondsSince
        }
        await pool.close()
        await copying.close()
        loop.stop()
        return [
            Figure("verify the chain", "\((entries / verifySeconds).whole) entries/s"),
            Figure("COPY ledger.entry TO", "\((entries / copySeconds).whole) entries/s"),
            Figure("verify ÷ COPY", "", copySeconds / verifySeconds, .atLeast(0.50)),
        ]
    }
}
