public import Ledger
import Postgres

/// Why a generation was not built or made live. The live one is as it was.
public enum ProjectingError: Error, Equatable, Sendable {
    /// The record or the tables could not be read or written.
    case ledger(LedgerError)
    /// Another process builds it now.
    case busy(generation: Int64)
    /// It was cancelled, or another process has taken it over.
    case overtaken
    /// The live generation belongs to a newer program.
    case newerLive(edition: Int64)
    /// The live generation does not come level, so that nothing can be compared with it.
    case notLevel
    /// There is no generation to go back to.
    case noPrevious
    /// The generation before belongs to another program, which alone can go back to it.
    case previousIsForeign(edition: Int64)

    /// Stable across releases; each has a section in the runbook.
    public var code: String {
        switch self {
        case .ledger(let error): error.code
        case .busy: "SL100"
        case .overtaken: "SL101"
        case .newerLive: "SL102"
        case .notLevel: "SL103"
        case .noPrevious: "SL104"
        case .previousIsForeign: "SL105"
        }
    }
}

extension ProjectingError: CustomStringConvertible {
    /// The error in words.
    public var description: String {
        switch self {
        case .ledger(let error): "\(error)"
        case .busy(let generation): "another process builds generation \(generation) now"
        case .overtaken: "it was cancelled, or another process has taken it over"
        case .newerLive(let edition):
            "the live generation is of edition \(edition), which only a newer program folds"
        case .notLevel: "the live generation does not come level with the record"
        case .noPrevious: "there is no previous generation to go back to"
        case .previousIsForeign(let edition):
            "the previous generation is of edition \(edition): the program that made it goes back"
        }
    }
}

/// Runs statements whose errors are the projection's; a division by zero is a lost pen.
func penned<T>(_ body: () async throws(PostgresError) -> T) async throws(ProjectingError) -> T {
    do throws(PostgresError) {
        return try await body()
    } catch let error where error.sqlstate == "22012" {
        throw .overtaken
    } catch {
        throw .ledger(.database(error))
    }
}

/// Runs readings of the ledger, whose errors are the projection's.
func recorded<T>(_ body: () async throws(LedgerError) -> T) async throws(ProjectingError) -> T {
    do throws(LedgerError) {
        return try await body()
    } catch {
        throw .ledger(error)
    }
}
