import Analytics
import Domain
import Ledger

/// `import rates`: exchange rates as the European Central Bank publishes them.
///
/// Running it again after an interruption appends only what is not known yet.
struct ImportingRates {
    let invocation: Invocation
    let configuration: Configuration

    /// The longest line. Units: bytes.
    private static let longest = 16 << 10
    /// The most days of a file: more than a century of them.
    private static let mostDays = 40_000
    /// How many days are in work at once.
    private static let width = 256

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    private struct Tally {
        var appended = 0
        var known = 0
        var corrected = 0
    }

    private enum Fate { case appended, known, corrected }

    func run() async throws(DaemonError) -> ExitCode {
        // What cannot be read is refused before anything of it is recorded.
        var sets: [RatesSet] = []
        for file in invocation.arguments { sets += try read(file) }
        let ground = try await Ground.open(configuration, migrate: true)
        let writer = ground.writer()
        var tally = Tally()
        do throws(DaemonError) {
            try await SettingsRecorder(configuration: configuration).settle(writer, adopt: false)
            try await record(sets, writer, &tally)
        } catch {
            await writer.close()
            await ground.close()
            throw error
        }
        await writer.close()
        await ground.close()
        report(tally)
        return .done
    }

    /// The days of a file, the oldest first.
    private func read(_ file: String) throws(DaemonError) -> [RatesSet] {
        let lines = try LineReader(file, longest: ImportingRates.longest)
        var table: RateTable?
        var sets: [RatesSet] = []
        var number = 0
        while let bytes = try lines.next() {
            number += 1
            do throws(RateTable.Refusal) {
                let line = String(decoding: bytes, as: UTF8.self)
                if let table {
                    if let set = try table.rates(line) { sets.append(set) }
                } else {
                    table = try RateTable(header: line)
                }
            } catch {
                throw .badLine(file: file, line: number, why: error.why)
            }
            guard sets.count <= ImportingRates.mostDays else {
                throw .fileUnusable(file, why: "it has more than \(ImportingRates.mostDays) days")
            }
        }
        guard table != nil else { throw .fileUnusable(file, why: "it is empty") }
        guard Set(sets.map(\.day)).count == sets.count else {
            throw .fileUnusable(file, why: "it has a day twice")
        }
        return sets.sorted { $0.day < $1.day }
    }

    private func record(_ sets: [RatesSet], _ writer: Writer, _ tally: inout Tally)
        async throws(DaemonError)
    {
        let progress = Progress("import", of: Int64(sets.count), unit: "days")
        let now = SystemClock.now
        for start in stride(from: 0, to: sets.count, by: ImportingRates.width) {
            let page = sets[start..<min(start + ImportingRates.width, sets.count)]
            let fates = await withTaskGroup(of: Result<Fate, AppendError>.self) { group in
                for set in page {
                    group.addTask {
                        do throws(AppendError) {
                            return .success(try await ImportingRates.take(set, writer, now))
                        } catch {
                            return .failure(error)
                        }
                    }
                }
                var fates: [Result<Fate, AppendError>] = []
                for await fate in group { fates.append(fate) }
                return fates
            }
            for fate in fates {
                do throws(AppendError) {
                    switch try fate.get() {
                    case .appended: tally.appended += 1
                    case .known: tally.known += 1
                    case .corrected: tally.corrected += 1
                    }
                } catch {
                    throw .append(error)
                }
            }
            progress.advance(by: Int64(page.count))
        }
        progress.finish()
    }

    private static func take(_ set: RatesSet, _ writer: Writer, _ now: Instant)
        async throws(AppendError) -> Fate
    {
        let done = try await writer.append(RatesCommand.record(set, now: now))
        guard done.count > 0 else { return .known }
        let edition = RatesCommand.edition(of: set, done.known.subscription(set.stream))
        return edition > 1 ? .corrected : .appended
    }

    private func report(_ tally: Tally) {
        let appended = tally.appended + tally.corrected
        if invocation.has("json") {
            Commands.write(
                JSON(members: [
                    "appended": .integer(Int64(appended)), "known": .integer(Int64(tally.known)),
                    "corrected": .integer(Int64(tally.corrected)),
                ]))
            return
        }
        print(
            "appended \(appended) days (\(tally.corrected) of them corrections), "
                + "already known \(tally.known)")
    }
}
