import Domain
import Entitlements
import Foundation
import Postgres
import Projecting

/// Rebuilding projections against reading the same entries with COPY, in turns.
struct Rebuilding {
    let ground: Ground
    let binary: String?
    let count: Int

    private static let periodsOfALine = 12

    /// Runs it, with one worker and with two.
    func figures() async throws -> [Figure] {
        let address = try await ground.database("rebuild")
        try await fill(address)
        let figures = try await Filling.withPool(address) { try await rebuilds(address, $0) }
        return figures + (try memory())
    }

    private func rebuilds(_ address: String, _ pool: ConnectionPool) async throws -> [Figure] {
        let copying = try await BlockingConnection.open(address)
        var figures: [Figure] = []
        for projection in [LinesProjection(), HoldingsProjection()] as [any Projection] {
            for workers in [1, 2] {
                let start = ContinuousClock.now
                _ = try await copying.copyOut("copy ledger.entry to stdout", into: 0) {
                    $0 += $1.count
                }
                let copied = start.secondsSince
                let before = (Processes.own, Processes.ended(childrenOf: ground.postmaster))
                let (entries, rebuilt) = try await Filling.rebuild(
                    projection, at: Int64(count), workers: workers, address, pool)
                guard entries == Int64(count) else {
                    throw BenchError.unexpected("\(entries) entries were folded")
                }
                // Until the server has taken note of the end of its sessions.
                try await Task.sleep(for: .milliseconds(100))
                let name = "rebuild \(projection.name), \(workers) workers"
                figures.append(Figure(name, "\((Double(count) / rebuilt).whole) entries/s"))
                let ours = (Processes.own - before.0) / Double(count) * 1e6
                let server = Processes.ended(childrenOf: ground.postmaster) - before.1
                figures.append(
                    Figure(
                        "\(name): processor time of an entry",
                        "\(ours.short) + \((server / Double(count) * 1e6).short) µs"))
                figures.append(
                    Figure(
                        "\(name) ÷ COPY", "COPY \((Double(count) / copied).whole)/s",
                        copied / rebuilt, .atLeast(workers == 1 ? 0.50 : 0.70)))
            }
        }
        // So that the command need not follow the whole record before it rebuilds.
        try await Filling.stand(LinesProjection(), at: Int64(count), pool)
        await copying.close()
        return figures
    }

    /// What the command takes beyond one that does nothing.
    private func memory() throws -> [Figure] {
        guard let binary else { return [] }
        let file = ground.directory + "/rebuild.json5"
        func peak(_ words: [String], memory: Int) throws -> Double {
            let configuration = """
                {dataDirectory: "\(ground.directory)/rebuilding", database: "\(ground.url("rebuild"))",
                  apps: [], projections: {memoryMiB: \(memory)}}
                """
            try Data(configuration.utf8).write(to: URL(fileURLWithPath: file))
            return try Processes.peak(binary, words + ["--config", file])
        }
        let idle = try peak(["projections", "list"], memory: 16)
        return try [16, 64, 256].map { limit in
            let most = try peak(["projections", "rebuild", "subscriptions"], memory: limit) - idle
            return Figure(
                "rebuild of \(count) entries, memory beyond idle, \(limit) MiB allowed",
                "\(most.short) MiB", most, .atMost(Double(limit)))
        }
    }

    /// Fills the record with lines of purchases. Entries of one line are far apart, as they are where
    /// many lines renew month by month.
    private func fill(_ address: String) async throws {
        var filling = try await Filling(address)
        let lines = Int64(max(1, count / Rebuilding.periodsOfALine))
        for number in 0..<Int64(count) {
            let (line, period) = (number % lines, number / lines)
            let instant = Instant(milliseconds: 1_700_000_000_000 + period * 30 * 86_400_000)
            var statement = TransactionStatement(
                transaction: "\(line)-\(period)", original: "\(line)", bundle: "com.example.app",
                product: "pro.monthly", purchasedAt: instant, signedAt: instant,
                environment: .production)
            statement.expiresAt = instant.adding(milliseconds: 30 * 86_400_000)
            statement.type = "Auto-Renewable Subscription"
            try await filling.add(
                .transaction(statement), .renewed, at: instant, subject: line + 1,
                revision: period + 1)
        }
        try await filling.end()
    }
}
