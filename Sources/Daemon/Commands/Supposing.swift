import Domain
import Entitlements
import Foundation
import Ledger

/// `replay --compare`: what customers may use under the recorded settings and under others.
struct Supposing {
    let invocation: Invocation
    let configuration: Configuration

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    /// Prints every customer whose answers differ; writes nothing to the ledger.
    func run(knownAt instant: Instant?) async throws(DaemonError) -> ExitCode {
        let catalog = try invocation.value("catalog").map { name throws(DaemonError) in
            try products(name)
        }
        let ownership = invocation.value("ownership").flatMap(OwnershipPolicy.init(rawValue:))
        let asksAt = try at()
        return try await Commands.withGround(configuration) { ground throws(DaemonError) in
            var comparison = AnswerComparison(ground: ground, asksAt: asksAt)
            comparison.knownAt = try await position(ground, instant)
            let count = try await comparison.with(catalog, ownership)
            Program.complain(
                "\(count.differing) of \(count.asked) customers' answers would differ")
            return .done
        }
    }

    private func position(_ ground: Ground, _ instant: Instant?)
        async throws(DaemonError) -> Position?
    {
        if let number = invocation.position("as-known-position") { return Position(number) }
        guard let instant else { return nil }
        do throws(LedgerError) {
            return try await ground.reader.position(knownAt: instant).position
        } catch {
            throw .ledger(error)
        }
    }

    private func at() throws(DaemonError) -> Instant {
        guard let text = invocation.value("at") else { return SystemClock.now }
        do throws(Problem) {
            return try Reading.instant(text, "--at")
        } catch {
            throw .badQuestion(error.detail)
        }
    }

    private func products(_ name: String) throws(DaemonError) -> [String: Product] {
        guard let data = FileManager.default.contents(atPath: name) else {
            throw .fileUnusable(name, why: "there is no such file, or it may not be read")
        }
        do throws(Problem) {
            return try CatalogReading.products(text: String(decoding: data, as: UTF8.self))
        } catch {
            throw .fileUnusable(name, why: error.detail)
        }
    }
}

extension Settings {
    /// The settings as if these had always held.
    func supposing(_ catalog: [String: Product]?, _ ownership: OwnershipPolicy?)
        -> Settings
    {
        var supposed = self
        if let catalog {
            supposed = supposed.evolved(by: .catalog(CatalogChange(products: catalog)))
        }
        if let ownership {
            var rules = latest ?? SettingsChange()
            (rules.ownership, rules.validFrom) = (ownership, nil)
            supposed = supposed.evolved(by: .settings(rules))
        }
        return supposed
    }

    private func evolved(by content: Event.Content) -> Settings {
        let event = Event(
            kind: .settingsChanged, stream: .settings, key: "supposed", occurredAt: .distantPast,
            observedAt: .distantPast, source: .command, content: content)
        return evolved(
            by: Entry(
                position: position, revision: revision + 1, recordedAt: .distantPast, event: event))
    }
}
