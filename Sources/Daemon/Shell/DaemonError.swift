import AppStore
import Crypto
import HTTP
import Ledger
import Postgres
import Projecting

/// Why a command ended early.
enum DaemonError: Error, CustomStringConvertible {
    /// The record does not hold the settings of the configuration.
    case settingsDiffer([String])
    /// A file that the configuration names cannot be used.
    case fileUnusable(String, why: String)
    /// The address cannot be listened at.
    case notListening(ListenError)
    /// A line of input is not what is imported; nothing after it was read.
    case badLine(file: String, line: Int, why: String)
    /// The ledger could not be opened or read.
    case ledger(LedgerError)
    /// The embedded database could not be run.
    case cluster(ClusterError)
    /// The database could not be reached.
    case database(PostgresError)
    /// What was asked about cannot be understood.
    case badQuestion(String)
    /// Apple does not say now what a receipt holds; running the import again goes on there.
    case appleUnavailable(file: String, line: Int, why: String)
    /// What was asked about is no question, or has no answer.
    case refused(Problem)
    /// Something could not be appended.
    case append(AppendError)
    /// Apple's server API gave no answer that can be used.
    case store(ServerAPIError)
    /// An app has no key for the server API, or one that cannot be used.
    case serverAPIUnusable(app: String, why: String)
    /// A generation of a projection was not built or made live.
    case projecting(ProjectingError)
    /// What Apple answered is not believed, and no more of that can be kept.
    case quarantineFull(reason: String)
    /// A webhook cannot be signed for, or told from another.
    case webhookUnusable(String, why: String)

    /// Stable across releases; each has a section in the runbook.
    var code: String {
        switch self {
        case .settingsDiffer: "SL030"
        case .fileUnusable: "SL031"
        case .notListening: "SL032"
        case .badLine: "SL033"
        case .ledger(let error): error.code
        case .cluster: "SL034"
        case .database: "SL035"
        case .badQuestion: "SL036"
        case .appleUnavailable: "SL130"
        case .refused(let problem): problem.code
        case .append(let error): error.code
        case .store(let error): error.code
        case .projecting(let error): error.code
        case .serverAPIUnusable: "SL079"
        case .quarantineFull: "SL080"
        case .webhookUnusable: "SL093"
        }
    }

    /// The error in words.
    var description: String {
        switch self {
        case .settingsDiffer(let differences):
            "the configuration differs from the settings on the record; `serve --adopt-settings` "
                + "records it, valid from now:\n  " + differences.joined(separator: "\n  ")
        case .fileUnusable(let path, let why): "\(path): \(why)"
        case .notListening(let error): "cannot listen: \(error)"
        case .badLine(let file, let line, let why): "\(file):\(line): \(why)"
        case .ledger(let error): "\(error)"
        case .cluster(let error): "the embedded database: \(error)"
        case .database(let error): "\(error)"
        case .badQuestion(let why): why
        case .appleUnavailable(let file, let line, let why): "\(file):\(line): \(why)"
        case .refused(let problem): problem.detail
        case .append(let error): "\(error)"
        case .store(let error): "\(error)"
        case .projecting(let error): "\(error)"
        case .serverAPIUnusable(let app, let why): "the server API key of \(app): \(why)"
        case .webhookUnusable(let path, let why): "\(path): \(why)"
        case .quarantineFull(let reason): "too much is held for the reason \(reason)"
        }
    }
}
