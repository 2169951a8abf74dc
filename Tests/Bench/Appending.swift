import Crypto
import Domain
import EventLoop
import Foundation
import Ledger

/// Appends through the writer against the bare loop, in turns.
struct Appending {
    static let callers = 256
    private static let rounds = 4

    let ground: Ground
    let forge: Forge
    let count: Int

    /// Runs it.
    func figures() async throws -> [Figure] {
        let ours = try await ground.database("append_ours")
        let bare = try await ground.database("append_bare")
        let inProcess = InProcess(ours)
        var loop = try await BareLoop(from: ours, to: bare)
        var figures: [Figure] = []
        for (period, name) in [(0, "new lines"), (1, "known lines")] {
            let interpreter = forge.interpreter
            let proposals = try await made(count) { [forge] in
                try forge.proposal(line: $0, period: period, interpreter)
            }
            var (ourSeconds, bareSeconds, entries) = (0.0, 0.0, 0)
            var ratios: [Double] = []
            for round in 0..<Appending.rounds {
                let size = count / Appending.rounds
                let part = Array(proposals[round * size..<(round + 1) * size])
                let mine = try await inProcess.append(part, callers: Appending.callers)
                let other = try await loop.repeatNews()
                ourSeconds += mine
                bareSeconds += other.seconds
                entries += other.entries
                ratios.append(other.seconds / mine)
            }
            let spread = "\(ratios.min()?.short ?? "")–\(ratios.max()?.short ?? "")"
            figures += [
                Figure(
                    "append, \(name): writer, \(Appending.callers) callers",
                    "\((Double(entries) / ourSeconds).whole) entries/s"),
                Figure(
                    "append, \(name): bare loop of 1,000 rows",
                    "\((Double(entries) / bareSeconds).whole) entries/s"),
                Figure(
                    "append, \(name): writer ÷ bare loop", "rounds \(spread)",
                    bareSeconds / ourSeconds, .atLeast(0.85)),
            ]
            if period == 1 { figures.append(try hashing(entries, ourSeconds)) }
            figures.append(
                Figure("append, \(name): entries a batch", try await loop.entriesPerBatch().short))
        }
        await inProcess.writer.close()
        await loop.close()
        inProcess.loop.stop()
        return figures
    }

    /// What SHA-256 of as many entries and tree nodes costs, of the time that appending took.
    private func hashing(_ entries: Int, _ seconds: Double) throws -> Figure {
        let entry = [UInt8](repeating: 0x61, count: 900)
        let node = [UInt8](repeating: 1, count: 65)
        let start = ContinuousClock.now
        var sum: UInt64 = 0
        for _ in 0..<entries {
            sum &+= SHA256.digest(of: entry).prefix
            sum &+= SHA256.digest(of: node).prefix
            sum &+= SHA256.digest(of: node).prefix
        }
        let share = start.secondsSince / seconds
        return Figure(
            "append: hashing alone, of the writer's time", sum == 0 ? "" : "CPU",
            share, .atMost(0.10))
    }
}
