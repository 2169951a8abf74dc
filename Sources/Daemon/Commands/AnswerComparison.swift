import Domain
import Entitlements
import Ledger

/// Asks about every customer in two ways and prints those whose answers differ, one a line.
struct AnswerComparison {
    let ground: Ground
    let asksAt: Instant
    var knownAt: Position?

    private static let pageSize = 200
    private static let worlds = [Environment.production, .sandbox]

    /// How many customers were asked about, and how many of them have differing answers.
    struct Count {
        var asked: Int64 = 0
        var differing: Int64 = 0
    }

    /// Compares the live generations with what the record makes of itself now.
    func withRecord() async throws(DaemonError) -> Count {
        try await run { question throws(LedgerError) in
            let (live, recorded) = try await ground.answers.views(question)
            return (live.verdicts(at: question.at), recorded.verdicts(at: question.at))
        }
    }

    /// Compares the recorded settings with others, as if those had always held.
    func with(_ catalog: [String: Product]?, _ ownership: OwnershipPolicy?)
        async throws(DaemonError) -> Count
    {
        try await run { question throws(LedgerError) in
            var view = try await ground.answers.view(question)
            let before = view.verdicts(at: question.at)
            view.holdings.settings = view.holdings.settings.supposing(catalog, ownership)
            return (before, view.verdicts(at: question.at))
        }
    }

    /// Compares what `answers` gives for each customer and world.
    private func run(
        _ answers: (Question) async throws(LedgerError) -> (before: Verdicts, after: Verdicts)
    ) async throws(DaemonError) -> Count {
        var count = Count()
        let progress = Progress("compare", unit: "customers")
        do throws(LedgerError) {
            for amongTokens in [false, true] {
                var last = ""
                while true {
                    let page = try await ground.answers.customers(
                        after: last, amongTokens: amongTokens, atMost: AnswerComparison.pageSize)
                    guard let end = page.last else { break }
                    last = end
                    for customer in page {
                        count.asked += 1
                        if try await differs(customer, answers) { count.differing += 1 }
                    }
                    progress.advance(by: Int64(page.count))
                }
            }
        } catch {
            throw .ledger(error)
        }
        progress.finish()
        return count
    }

    private func differs(
        _ customer: String,
        _ answers: (Question) async throws(LedgerError) -> (before: Verdicts, after: Verdicts)
    ) async throws(LedgerError) -> Bool {
        var differs = false
        for world in AnswerComparison.worlds {
            let question = Question(
                customer: customer, environment: world, at: asksAt, knownAt: knownAt)
            let (before, after) = try await answers(question)
            let changes = AnswerComparison.changes(before, after)
            guard !changes.isEmpty else { continue }
            differs = true
            Commands.write(
                JSON(members: [
                    "customer": .string(customer), "environment": .string(world.name),
                    "at": .moment(asksAt), "entitlements": .object(changes),
                ]))
        }
        return differs
    }

    /// Entitlements that differ, each before and after; null where there is none.
    private static func changes(_ before: Verdicts, _ after: Verdicts) -> [JSON.Member] {
        func byName(_ verdicts: Verdicts) -> [String: Entitlement] {
            Dictionary(verdicts.entitlements.map { ($0.name, $0) }) { first, _ in first }
        }
        let (old, new) = (byName(before), byName(after))
        return Set(old.keys).union(new.keys).sorted().filter { old[$0] != new[$0] }.map { name in
            JSON.Member(
                name,
                .object([
                    .init("before", old[name]?.rendered ?? .null),
                    .init("after", new[name]?.rendered ?? .null),
                ]))
        }
    }
}
