import Domain
import Ledger

/// Puts the configuration's settings on the record, or refuses those that differ from it.
struct SettingsRecorder: Sendable {
    let configuration: Configuration

    /// Records settings on an empty record; afterwards only when they are to be adopted.
    ///
    /// - Throws: `settingsDiffer`, naming each difference.
    func settle(_ writer: Writer, adopt: Bool) async throws(DaemonError) {
        let now = SystemClock.now
        let known: Known
        do throws(AppendError) {
            known = try await writer.append(proposal(adopt: adopt, now: now)).known
        } catch {
            throw .append(error)
        }
        let differences = differences(known.settings)
        guard differences.isEmpty else { throw .settingsDiffer(differences) }
    }

    private func proposal(adopt: Bool, now: Instant) -> Proposal {
        Proposal(streams: { _ in [.settings] }) { known in
            var events: [Event] = []
            let isFirst = known.settings.latest == nil
            guard isFirst || adopt else { return .append([]) }
            var settings = configuration.settings(validFrom: known.settings.latest?.validFrom)
            if known.settings.latest != settings {
                settings.validFrom = isFirst ? nil : now
                events.append(event(.settingsChanged, .settings(settings), known, 1, now))
            }
            var catalog = configuration.catalog(
                validFrom: known.settings.latestCatalog?.validFrom)
            catalog.alwaysFor = known.settings.latestCatalog?.alwaysFor ?? []
            if known.settings.latestCatalog != catalog {
                catalog.validFrom = isFirst ? nil : now
                catalog.alwaysFor =
                    isFirst
                    ? [] : catalog.products.keys.filter { !known.settings.hasNamed($0) }.sorted()
                let place = Int64(events.count) + 1
                events.append(event(.catalogChanged, .catalog(catalog), known, place, now))
            }
            return .append(events)
        }
    }

    private func event(
        _ kind: Kind, _ content: Event.Content, _ known: Known, _ place: Int64, _ now: Instant
    ) -> Event {
        Event(
            kind: kind, stream: .settings,
            key: "\(kind.name)/\(known.settings.revision + place)", occurredAt: now,
            observedAt: now, source: .command, content: content)
    }

    private func differences(_ known: Settings) -> [String] {
        var found: [String] = []
        let (file, record) = (configuration.settings(validFrom: nil), known.latest)
        if file.ownership != record?.ownership {
            found.append(
                "ownership: \(file.ownership.rawValue) in the file, "
                    + "\(record?.ownership.rawValue ?? "none") on the record")
        }
        if file.stackPasses != record?.stackPasses {
            found.append("stackPasses: \(file.stackPasses) in the file")
        }
        let days = record?.graceDays ?? [:]
        for bundle in Set(file.graceDays.keys).union(days.keys).sorted()
        where file.graceDays[bundle] != days[bundle] {
            found.append(
                "gracePeriodDays of \(bundle): \(text(file.graceDays[bundle])) in the file, "
                    + "\(text(days[bundle])) on the record")
        }
        // A catalogue set over HTTP is an event like any other: the file is its first one only.
        guard known.catalogIsFromConfiguration else { return found }
        let (products, recorded) = (
            configuration.catalog(validFrom: nil).products, known.latestCatalog?.products ?? [:]
        )
        for id in Set(products.keys).union(recorded.keys).sorted()
        where products[id] != recorded[id] {
            let how =
                recorded[id] == nil
                ? "is not on the record" : products[id] == nil ? "is not in the file" : "differs"
            found.append("catalog.products[\(id)] \(how)")
        }
        return found
    }

    private func text(_ days: Int64?) -> String { days.map(String.init) ?? "none" }
}
