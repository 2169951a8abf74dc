import AppStore
import Domain
import Ledger
import Operation
import Postgres

/// Brings customers' histories onto the record, each from where it was left.
struct Histories: Sendable {
    let intake: Intake
    let cursors: HistoryCursors

    /// What a history came to.
    struct Tally: Sendable {
        var texts = 0
        var appended = 0
        /// How many entries were added.
        var entries = 0
        /// The last position that was added.
        var position = Position.start
        var known = 0
        var quarantined: [String: Int] = [:]
        /// The lines that the history is of.
        var lines: Set<StreamID> = []

        mutating func add(_ fate: Intake.Fate) {
            texts += 1
            switch fate {
            case .appended(let observation, let added):
                appended += 1
                entries += added.count
                position = max(position, added.position)
                if let stream = observation.stream { lines.insert(stream) }
            case .known(let observation):
                known += 1
                if let stream = observation.stream { lines.insert(stream) }
            case .quarantined(let reason): quarantined[reason, default: 0] += 1
            }
        }

        mutating func add(_ other: Tally) {
            texts += other.texts
            appended += other.appended
            entries += other.entries
            position = max(position, other.position)
            known += other.known
            quarantined.merge(other.quarantined) { $0 + $1 }
            lines.formUnion(other.lines)
        }
    }

    /// Apple's word that a revision is not one of its own.
    private static let badRevision: Int64 = 4_000_005

    /// Brings over the history of a customer from whichever environment knows the transaction:
    /// an app without a release is unauthorized in Production, which says nothing of its key.
    func bring(
        _ id: String, of app: StoreApps.App, page: @Sendable (Int) -> Void
    ) async throws(DaemonError) -> Tally {
        var errors: [ServerAPIError] = []
        for place in app.places {
            do throws(DaemonError) {
                return try await bring(id, from: place, page: page)
            } catch .store(let error) {
                switch error {
                case .unknown, .unauthorized: errors.append(error)
                default: throw .store(error)
                }
            } catch {
                throw error
            }
        }
        throw .store(errors.first { $0 != .unauthorized } ?? .unauthorized)
    }

    /// Brings over the history of a customer in one environment.
    ///
    /// A page's revision is kept only when all that is on the page is durable, so whatever ends
    /// this, the next one goes on with that page, and what it repeats appends nothing.
    ///
    /// - Parameters:
    ///   - anew: from the first page on, as somebody new speaks for all of it.
    ///   - page: told how many texts each page had, once they are durable.
    func bring(
        _ id: String, from place: ServerAPI, anew: Bool = false,
        page told: @Sendable (Int) -> Void
    ) async throws(DaemonError) -> Tally {
        let key = HistoryCursors.Key(
            bundle: place.place.bundleID, environment: place.place.environment.name, asked: id)
        let revision =
            anew
            ? nil
            : try await stored { () throws(PostgresError) in try await cursors.revision(key) }
        do throws(DaemonError) {
            return try await bring(key, after: revision, from: place, told)
        } catch .store(.refused(_, Histories.badRevision)) where revision != nil {
            // Apple does not say how long it knows a revision.
            try await stored { () throws(PostgresError) in try await cursors.forget(key) }
            return try await bring(key, after: nil, from: place, told)
        } catch {
            throw error
        }
    }

    private func bring(
        _ key: HistoryCursors.Key, after revision: String?, from place: ServerAPI,
        _ told: @Sendable (Int) -> Void
    ) async throws(DaemonError) -> Tally {
        var tally = Tally()
        var pages = place.history(of: key.asked, after: revision)
        while let page = try await asked({ () throws(ServerAPIError) in try await pages.next() }) {
            let environment = page.environment ?? place.place.environment
            let fates = try await intake.take(page.items.map { .transaction($0, environment) })
            if let cursor = page.cursor {
                try await stored { () throws(PostgresError) in
                    try await cursors.keep(cursor, of: key, now: SystemClock.now.milliseconds)
                }
            }
            for fate in fates { tally.add(fate) }
            told(fates.count)
        }
        return tally
    }
}

/// Runs what asks Apple, so that its errors become the daemon's.
func asked<T>(
    _ body: () async throws(ServerAPIError) -> T
) async throws(DaemonError) -> T {
    do throws(ServerAPIError) {
        return try await body()
    } catch {
        throw .store(error)
    }
}

/// Runs what asks the database, so that its errors become the daemon's.
func stored<T>(
    _ body: () async throws(PostgresError) -> T
) async throws(DaemonError) -> T {
    do throws(PostgresError) {
        return try await body()
    } catch {
        throw .database(error)
    }
}
